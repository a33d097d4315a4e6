"""Probabilities where logits are meant: a softmax on top of a softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.queries.blame import handed_wrongly_at, is_right_elsewhere, wrongly_called_at
from ...source.queries.handing import handed_in_at
from ...source.queries.nodes import nodes_by
from ...source.queries.numbers.meaning import (
    filled_as_logits,
    first_behind,
    is_arranged,
    is_log_probability,
    is_logarithm,
    is_probability,
    is_taken,
    is_tempered,
)
from ...source.queries.numbers.renormalised import softmax_behind
from ...source.values import Constant, Data
from ...source.values import Value as SourceValue
from .._rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.meaning import Meaning
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Finding]:
    """Softmaxes, log-softmaxes and logsumexps of probabilities; sigmoids of sigmoids."""
    from ...trace.describe import name_of
    from ...trace.meaning.logarithms import mixed

    seen: set[Place] = set()
    for step, chance, made in mixed(facts):
        place = facts.place(step)
        if place not in seen:
            seen.add(place)
            yield RULE.finding(
                place,
                current=f"`{name_of(facts, chance)}` holds probabilities, and a logarithm of "
                "probabilities is added to it, or taken from it",
                expected=_ALIKE,
                fix=_BOTH,
                evidence=(Evidence("it becomes probabilities here", made.step.place),),
            )
    for step, of, before in _twice(facts):
        place = facts.place(step)
        if place in seen:
            continue
        seen.add(place)
        yield RULE.finding(
            place,
            current=f"`{name_of(facts, of)}` holds probabilities already, and is "
            + (
                "drawn from as if it held logits"
                if step.primitive == "argmax"
                else f"put through another {_NAMES[before.kind]} here"
            ),
            expected="logits, which are unbounded and not normalised",
            fix=f"Pass what the first {_NAMES[before.kind]} was given (the logits)"
            + (", or the logarithm of the probabilities." if step.primitive == "argmax" else "."),
            evidence=(Evidence("it becomes probabilities here", before.step.place),),
        )


_NAMES = {"probabilities": "softmax", "squashed": "sigmoid"}


def _twice(facts: Facts) -> Iterator[tuple[Step, Value, Meaning]]:
    """Steps that turn logits into probabilities, what they are given, and what that is already."""
    meaning = facts.meaning
    for _, found in meaning.all("probabilities", "log-probabilities", "logsumexp"):
        before = meaning.behind(found.of, "probabilities")
        if before is not None:
            yield found.step, found.of, before
    for _, found in meaning.all("sampled"):
        before = meaning.behind(found.of, "probabilities")
        if before is not None and found.step.primitive == "argmax":
            yield found.step, found.of, before
    for step in facts.steps:
        is_sigmoid = step.primitive == "logistic" or (
            step.kind == "call" and step.bodies[0].function.lstrip("_") == "log_sigmoid"
        )
        if is_sigmoid:
            before = meaning.behind(step.inputs[0], "squashed")
            if before is not None and before.bounds == (0, 1):
                yield step, step.inputs[0], before


# What a function calls a parameter that it puts through a softmax of its own.
_LOGITS = frozenset("logit logits score scores energy energies unnormalized".split())
# Functions that take logits, and where: each with what it makes of them.
_TFP = "tensorflow_probability.substrates.jax.distributions"
_TAKES_LOGITS = {
    **dict.fromkeys(("jax.nn.softmax", "jax.nn.log_softmax"), (0, "x", "softmax")),
    "jax.nn.logsumexp": (0, "a", "softmax"),
    "jax.random.categorical": (1, "logits", "softmax"),
    **dict.fromkeys(
        (
            "optax.softmax_cross_entropy",
            "optax.softmax_cross_entropy_with_integer_labels",
            "optax.losses.softmax_cross_entropy",
            "optax.losses.softmax_cross_entropy_with_integer_labels",
            "optax.safe_softmax_cross_entropy",
            "distrax.Categorical",
        ),
        (0, "logits", "softmax"),
    ),
    "numpyro.distributions.Categorical": (9, "logits", "softmax"),
    "numpyro.distributions.Bernoulli": (9, "logits", "sigmoid"),
    "distrax.Bernoulli": (0, "logits", "sigmoid"),
    **dict.fromkeys(("jax.nn.sigmoid", "jax.nn.log_sigmoid"), (0, "x", "sigmoid")),
    "optax.sigmoid_binary_cross_entropy": (0, "logits", "sigmoid"),
    "optax.losses.sigmoid_binary_cross_entropy": (0, "logits", "sigmoid"),
    "optax.sigmoid_focal_loss": (0, "logits", "sigmoid"),
    **{f"{_TFP}.{it}": (0, "logits", "softmax") for it in ("Categorical", "OneHotCategorical")},
    f"{_TFP}.Bernoulli": (0, "logits", "sigmoid"),
    **dict.fromkeys(("rlax.policy_gradient_loss", "rlax.entropy_loss"), (0, "logits_t", "softmax")),
}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls of what takes logits, on what visibly holds probabilities."""
    for call in facts.calls(_TAKES_LOGITS):
        position, name, kind = _TAKES_LOGITS[call.name]
        given = call.args[position] if position < len(call.args) else call.keywords.get(name)
        if not isinstance(given, Data):
            continue
        before = _made_by(kind, given.node)
        if (
            before is None
            or _other_axis(call, before)
            or _weighs_the_best(call, given.node, before)
        ):
            continue

        def is_right(run: Frame, kind: str = kind) -> bool:
            values = [it for it in run.given.values() if isinstance(it, Data)]
            return not any(_made_by(kind, it.node) for it in values)

        filled = filled_as_logits(given.node, before)
        if filled is not None and is_right_elsewhere(facts, filled.frame, is_right):
            filled = None
        yield RULE.finding(
            (filled.place if filled is not None else None)
            or handed_wrongly_at(call, before, _LOGITS)
            or wrongly_called_at(facts, call, is_right),
            current=f"`{facts.name_of(given)}` holds probabilities already, and is "
            + (
                "drawn from as if it held logits"
                if call.name == "jax.random.categorical"
                else f"put through another {kind} here"
            ),
            expected="logits, which are unbounded and not normalised",
            fix=f"Pass what the first {kind} was given (the logits).",
            evidence=(Evidence("it becomes probabilities here", before.place),),
            engine=Engine.SOURCE,
        )
    yield from _of_logarithms(facts)
    yield from _mixed(facts)
    yield from _drawn_by_noise(facts)


_ALIKE = "both are logarithms, or both are not"
_BOTH = "Take `jax.nn.log_softmax` of the logits for both."


def _mixed(facts: SourceFacts) -> Iterator[Finding]:
    """Sums and differences of a probability and a logarithm of one."""
    for node in nodes_by(facts, ("+", "-")):
        sides = [it for it in node.operands if isinstance(it, Data)]
        if len(node.operands) != 2 or len(sides) != 2:
            continue
        if not any(is_logarithm(it.node) for it in sides):
            continue
        plain = [first_behind(it.node, is_probability, is_taken) for it in sides]
        made, place = plain[0] or plain[1], node.place
        if made is None or place is None:
            continue
        chance, other = sides if plain[0] is not None else sides[::-1]
        yield RULE.finding(
            place,
            current=f"`{facts.name_of(chance)}` holds probabilities, and "
            f"`{facts.name_of(other)}` logarithms of probabilities",
            expected=_ALIKE,
            fix=_BOTH,
            evidence=(Evidence("it becomes probabilities here", made.place),),
            engine=Engine.SOURCE,
        )


def _drawn_by_noise(facts: SourceFacts) -> Iterator[Finding]:
    """The same where one draws by hand: the largest of logits and Gumbel's noise."""
    noise = "jax.random.gumbel"
    for node in nodes_by(facts, ("+",)) if noise in facts.calls_by_name else ():
        if len(node.operands) != 2 or node.place is None:
            continue
        sides = [it.node for it in node.operands if isinstance(it, Data)]
        shaken = [first_behind(it, lambda of: of.operation == noise, is_tempered) for it in sides]
        made = [_made_by("softmax", it) for it in sides]
        before = next(filter(None, made), None)
        if before is None or not any(shaken):
            continue
        yield RULE.finding(
            node.place,
            current="Gumbel's noise is added to probabilities: what is largest is drawn as if they "
            "were logits",
            expected="logits, which are unbounded and not normalised",
            fix="Add it to the logits, or to the logarithm of the probabilities.",
            evidence=(Evidence("they become probabilities here", before.place),),
            engine=Engine.SOURCE,
        )


def _of_logarithms(facts: SourceFacts) -> Iterator[Finding]:
    """Calls of what takes probabilities on their logarithms, and the other way round."""
    takes = [(it, False, call) for it in (_TAKES_PROBABILITIES,) for call in facts.calls(it)]
    takes += [(it, True, call) for it in (_TAKES_LOGARITHMS,) for call in facts.calls(it)]
    for table, is_log, call in takes:
        position, name = table[call.name]
        given = call.args[position] if position < len(call.args) else call.keywords.get(name)
        wrong = is_probability if is_log else is_log_probability
        before = first_behind(given.node, wrong) if isinstance(given, Data) else None
        if before is None or not isinstance(given, Data):
            continue

        def holds_them(
            value: SourceValue, before: Node = before, wrong: Callable[[Node], bool] = wrong
        ) -> bool:
            found = first_behind(value.node, wrong) if isinstance(value, Data) else None
            return found is before

        has, wants = _FORMS if is_log else _FORMS[::-1]
        yield RULE.finding(
            handed_in_at(call, holds_them),
            current=f"`{facts.name_of(given)}` holds {has}, and `{name}` of "
            f"`{call.name.rpartition('.')[2]}` takes {wants}",
            expected=wants,
            fix="Pass `jax.nn.log_softmax` of the logits."
            if is_log
            else "Pass `jnp.exp` of them, or a function that takes logits.",
            evidence=(Evidence(f"they become {has} here", before.place),),
            engine=Engine.SOURCE,
        )


_FORMS = ("probabilities", "logarithms of probabilities")
_TAKES_PROBABILITIES = {
    "jax.random.choice": (4, "p"),
    "jax.random.bernoulli": (1, "p"),
    "jax.random.multinomial": (2, "p"),
    "numpyro.distributions.Categorical": (0, "probs"),
    "numpyro.distributions.Bernoulli": (0, "probs"),
    "distrax.Categorical": (1, "probs"),
    "distrax.Bernoulli": (1, "probs"),
    **{f"{_TFP}.{it}": (1, "probs") for it in ("Categorical", "OneHotCategorical", "Bernoulli")},
    "optax.kl_divergence": (1, "targets"),
    "optax.losses.kl_divergence": (1, "targets"),
    "jax.numpy.log": (0, "x"),
}
_TAKES_LOGARITHMS = {
    "optax.kl_divergence": (0, "log_predictions"),
    "optax.losses.kl_divergence": (0, "log_predictions"),
    "optax.kl_divergence_with_log_targets": (0, "log_predictions"),
    "optax.losses.kl_divergence_with_log_targets": (0, "log_predictions"),
}


def _made_by(kind: str, node: Node) -> Node | None:
    if kind == "softmax":
        return softmax_behind(node, _is_still_one)
    return first_behind(node, lambda it: it.operation == "jax.nn.sigmoid", through_choices=True)


def _is_still_one(node: Node) -> bool:
    return is_tempered(node) or is_arranged(node)


def _weighs_the_best(call: Call, given: Node, before: Node) -> bool:
    """Whether the best of some probabilities are made weights, as experts are mixed."""
    is_softmax_again = call.name.startswith("jax.nn.")
    picked = (it for it in given.ancestors() if it.operation == "jax.lax.top_k")
    return is_softmax_again and any(it.depends_on(before) for it in picked)


def _other_axis(call: Call, before: Node) -> bool:
    """Whether two softmaxes are visibly over different axes, one after the other."""
    if not call.name.startswith("jax.nn."):
        return False
    axis = call.args[1] if len(call.args) > 1 else call.keywords.get("axis", Constant(-1))
    first = before.operands[1] if len(before.operands) > 1 else Constant(-1)
    if isinstance(axis, Constant) and isinstance(first, Constant):
        return bool(axis.value != first.value)
    return True


RULE = Rule(
    code="DF102",
    name="softmax-twice",
    title="Softmax of probabilities",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A loss that applies softmax itself wants logits. Given probabilities it still runs, and even
learns a little: a softmax of numbers between zero and one is nearly uniform, and so are the
gradients. The same goes for logarithms of probabilities where these themselves are asked for
(`jax.random.choice`), and the other way round (`optax.kl_divergence`), and for a difference of the
two.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(w, x, labels):
    probs = jax.nn.softmax(x @ w)
    log_probs = jax.nn.log_softmax(probs)
    return -jnp.mean(jnp.sum(log_probs * jax.nn.one_hot(labels, 3), axis=-1))

def inputs():
    return jnp.ones((4, 3)), jnp.ones((5, 4)), jnp.zeros(5, int)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(w, x, labels):
    log_probs = jax.nn.log_softmax(x @ w)
    return -jnp.mean(jnp.sum(log_probs * jax.nn.one_hot(labels, 3), axis=-1))

def inputs():
    return jnp.ones((4, 3)), jnp.ones((5, 4)), jnp.zeros(5, int)
""",
    trace=check,
    source=check_source,
)
