"""A size that depends on values which are not known while tracing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Call, Event, Fact
from ...source.values import NONE, Value, leaves
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "mask" and "size"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("mask", "size"):
        return
    text = failure.statement.text if failure.statement else ""
    operands = failure.operands_in_words()
    details = failure.details
    function = details.get("function", details.get("other", ""))
    if function:
        how = f"`{function}` in `{text}` returns as many elements as the values of its argument say"
        fix = f"Give `{function}` the `size` that is enough in all cases, and a `fill_value`."
    elif failure.kind == "mask":
        how = f"`{text}` picks by a {details['type']} whose true elements nobody can count"
        fix = (
            "Keep the shape: choose a neutral value with `jnp.where`, then reduce; for a bounded "
            "number of elements use `jnp.nonzero` with a `size`."
        )
    else:
        how = f"`{text}` makes an array whose size is a traced value"
        fix = (
            "Make the size a static argument, take it from a shape, or cut a part of fixed size "
            "by `jax.lax.dynamic_slice`."
        )
    yield RULE.finding(
        failure.place,
        current=how + (f"; {operands}" if operands else ""),
        expected="every shape is known while tracing",
        fix=fix,
        evidence=failure.calls(),
    )


# Where functions take sizes: positions and names of these arguments.
_SHAPE = ((0,), ("shape",))
# Where functions that draw take the shape of what they draw.
_DRAWS = {
    1: "normal uniform randint gumbel exponential laplace cauchy logistic rademacher bits maxwell",
    2: "bernoulli choice poisson gamma loggamma dirichlet pareto geometric rayleigh t chisquare",
    3: "truncated_normal beta categorical multivariate_normal binomial double_sided_maxwell",
}
_SIZES: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "jax.numpy.zeros": _SHAPE,
    "jax.numpy.ones": _SHAPE,
    "jax.numpy.empty": _SHAPE,
    "jax.numpy.full": _SHAPE,
    "jax.numpy.eye": ((0, 1), ("N", "M")),
    "jax.numpy.identity": ((0,), ("n",)),
    "jax.numpy.tri": ((0, 1), ("N", "M")),
    "jax.numpy.arange": ((0, 1, 2), ("start", "stop", "step")),
    "jax.numpy.linspace": ((2,), ("num",)),
    "jax.numpy.logspace": ((2,), ("num",)),
    "jax.numpy.broadcast_to": ((1,), ("shape",)),
    "jax.numpy.reshape": ((1,), ("shape",)),
    "jax.numpy.tile": ((1,), ("reps",)),
    "jax.nn.one_hot": ((1,), ("num_classes",)),
    "jax.random.split": ((1,), ("num",)),
    "jax.lax.top_k": ((1,), ("k",)),
    "jax.lax.dynamic_slice": ((2,), ("slice_sizes",)),
    "jax.lax.dynamic_slice_in_dim": ((2,), ("slice_size",)),
    "jax.lax.slice_in_dim": ((1, 2), ("start_index", "limit_index")),
    "jax.lax.iota": ((1,), ("size",)),
    "jax.lax.scan": ((3,), ("length",)),
    "jax.numpy.pad": ((1,), ("pad_width",)),
    "jax.numpy.split": ((1,), ("indices_or_sections",)),
    "jax.numpy.array_split": ((1,), ("indices_or_sections",)),
    "ndarray.reshape": ((1, 2, 3, 4), ()),
    **{
        f"jax.random.{name}": ((position,), ("shape",))
        for position, names in _DRAWS.items()
        for name in names.split()
    },
}
# Functions that give as many elements as the values of their argument say, and what bounds them.
_COUNTED = {
    "jax.numpy.nonzero": "size",
    "jax.numpy.flatnonzero": "size",
    "jax.numpy.argwhere": "size",
    "jax.numpy.where": "size",
    "jax.numpy.unique": "size",
    "jax.numpy.union1d": "size",
    "jax.numpy.intersect1d": "size",
    "jax.numpy.setdiff1d": "size",
    "jax.numpy.compress": "size",
    "jax.numpy.extract": "size",
    "jax.numpy.bincount": "length",
    "jax.numpy.repeat": "total_repeat_length",
    "jax.numpy.delete": "assume_unique_indices",
    "jax.ops.segment_sum": "num_segments",
    "jax.ops.segment_max": "num_segments",
    "jax.ops.segment_min": "num_segments",
    "jax.ops.segment_prod": "num_segments",
    "ndarray.nonzero": "size",
}
_FIXED = (
    "Make the size a static argument, take it from a shape, or cut a part of fixed size by "
    "`jax.lax.dynamic_slice`."
)
_UNIQUE = "If no index comes twice, say so by `assume_unique_indices=True`; or " + _FIXED
_KEPT = (
    "Keep the shape: choose a neutral value with `jnp.where`, then reduce; for a bounded number of "
    "elements use `jnp.nonzero` with a `size`."
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Masks and slices by tracers, sizes that are tracers, functions that count elements."""
    for fact in facts.events(Fact):
        if fact.kind == "mask":
            mask = facts.name_of(fact.data["mask"])
            yield _found(facts, fact, f"picks by the traced mask `{mask}`", _KEPT)
        elif fact.kind == "slice" and any(map(_is_traced, fact.data["bounds"])):
            yield _found(facts, fact, "cuts a slice whose bounds are traced", _FIXED)
    for call in facts.calls(sorted(_SIZES.keys() | _COUNTED)):
        positions, names = _SIZES.get(call.name, ((), ()))
        sizes = [call.args[it] for it in positions if it < len(call.args)]
        sizes += [call.keywords[it] for it in names if it in call.keywords]
        if any(map(_is_traced, sizes)):
            yield _found(facts, call, "makes an array whose size is a traced value", _FIXED)
        elif _is_traced(call.keywords.get(_COUNTED.get(call.name, ""), NONE)):
            yield _found(facts, call, "has a bound that is a traced value", _FIXED)
        elif call.name in _COUNTED and _counts(call):
            bound = _COUNTED[call.name]
            is_bound = bound != "assume_unique_indices"
            yield _found(
                facts,
                call,
                "gives as many elements as the values of its argument say",
                f"Say how many there are at most, as `{bound}`." if is_bound else _UNIQUE,
            )


def _is_traced(value: Value) -> bool:
    return any(leaf.traced for leaf in leaves(value))


def _counts(call: Call) -> bool:
    """Whether nothing bounds the number of elements that a call gives."""
    if _COUNTED[call.name] in call.keywords or not call.args:
        return False
    if call.name == "jax.numpy.where":
        return len(call.args) == 1 and not call.keywords and _is_traced(call.args[0])
    if call.name in ("jax.numpy.repeat", "jax.numpy.delete"):
        return len(call.args) > 1 and _is_traced(call.args[1])
    if call.name.startswith("jax.ops"):
        return len(call.args) == 2 and _is_traced(call.args[1])
    return any(map(_is_traced, call.args[:2]))


def _found(facts: SourceFacts, event: Event, how: str, fix: str) -> Finding:
    return RULE.finding(
        event.place,
        current=f"`{event.text}` {how}",
        expected="every shape is known while tracing",
        fix=fix,
        evidence=facts.why_traced(event.frame, NONE),
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT203",
    name="traced-size",
    title="Shape depends on a traced value",
    family="jit",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    preview=True,
    explanation="""\
XLA compiles for fixed shapes. A boolean mask as index, `jnp.nonzero`, `jnp.unique`, `x[:n]` and
`jnp.zeros(n)` with a traced `n` give arrays whose size is known only when the program runs.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(rewards, done):
    return rewards[done].mean()

def inputs():
    return jnp.ones(4), jnp.array([True, False, True, False])
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(rewards, done):
    return jnp.where(done, rewards, 0.0).sum() / jnp.maximum(done.sum(), 1)

def inputs():
    return jnp.ones(4), jnp.array([True, False, True, False])
""",
    trace=check,
    source=check_source,
)
