"""Probabilities where logits are meant: a softmax on top of a softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Evidence, Finding, Place, Severity
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...trace.meaning import Meaning
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Finding]:
    """Softmaxes, log-softmaxes and logsumexps of probabilities; sigmoids of sigmoids."""
    from ...trace.describe import name_of

    seen: set[Place] = set()
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
gradients.
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
)
