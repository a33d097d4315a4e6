"""Floats that are written into an array of integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Severity
from ...source.queries.nodes import nodes_by
from ...source.values import Constant, Data, Sequence
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Updates `x.at[i].set(y)` and the like, of integers with numbers that are not whole."""
    from ...trace.phrases import phrase

    for step in facts.steps:
        found = _written(facts, step)
        if found is None:
            continue
        array, written = found
        made = array.producer.place if array.producer else None
        yield RULE.finding(
            facts.place(step),
            current=f"{phrase(facts, written)} ({written.dtype}) is written into "
            f"{phrase(facts, array)} ({array.dtype}), which cuts it towards zero",
            expected="an array holds the dtype of what is written into it",
            fix=f"make the array with `dtype=jnp.{written.dtype}`, or round the update explicitly",
            evidence=(Evidence(f"the array of {array.dtype} is made here", made),) if made else (),
        )


def _written(facts: Facts, cast: Step) -> tuple[Value, Value] | None:
    """The integer array and the floats of an update whose result is cast back to integers."""
    from ...trace.ranges.interval import kind_of

    if cast.primitive != "convert_element_type" or not kind_of(cast.outputs[0].dtype).is_integer:
        return None
    update = cast.inputs[0].producer
    if update is None or not update.primitive.startswith("scatter"):
        return None
    widened = update.inputs[0].producer
    if widened is None or widened.primitive != "convert_element_type":
        return None
    array, written = widened.inputs[0], update.inputs[2]
    if array.dtype != cast.outputs[0].dtype or facts.ranges[written].integral:
        return None
    return (array, written) if cast.place == update.place == widened.place else None


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Updates of arrays that visibly hold integers, with what visibly does not."""
    for node in nodes_by(facts, ("at.set", "at.add")):
        found = _cut(node)
        place = node.place if found is not None else None
        if found is None or place is None:
            continue
        array, dtype = found
        yield RULE.finding(
            place,
            current=f"{dtype} is written into an array of {array.dtype}, which cuts it towards "
            "zero",
            expected="an array holds the dtype of what is written into it",
            fix="make the array with the dtype of the update, or round the update explicitly",
            evidence=(
                (Evidence(f"the array of {array.dtype} is made here", array.place),)
                if array.place is not None
                else ()
            ),
            engine=Engine.SOURCE,
        )


def _cut(node: Node) -> tuple[Node, str] | None:
    """The integer array and the dtype of the floats that an update writes into it."""
    target, *written = node.operands
    base = target.items[0] if isinstance(target, Sequence) and target.items else None
    if not isinstance(base, Data) or not written:
        return None
    dtype = base.node.dtype or ""
    if not dtype.startswith(("int", "uint")) or dtype.endswith("*"):
        return None
    value = written[0]
    if isinstance(value, Constant):
        number = value.value
        cut = isinstance(number, float) and not number.is_integer()
        return (base.node, repr(number)) if cut else None
    if isinstance(value, Data) and (value.node.dtype or "").startswith(("float", "bfloat")):
        return base.node, str(value.node.dtype).rstrip("*")
    return None


RULE = Rule(
    code="DF204",
    name="cut-to-integers",
    title="Floats are written into integers",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
`x.at[i].set(y)` and `x.at[i].add(y)` keep the dtype of `x`. When `x` holds integers (zeros made
like an array of indices, `jnp.arange`) and `y` does not, every update is cut towards zero. JAX
gives a warning at most.

Not reported when the update is known to be whole.""",
    wrong="""\
import warnings

import jax.numpy as jnp

warnings.simplefilter("ignore", FutureWarning)


def entry(counts, bins, weights):
    total = jnp.zeros_like(counts)
    return total.at[bins].add(weights)


def inputs():
    return jnp.zeros(4, jnp.int32), jnp.array([0, 1, 1]), jnp.array([0.5, 0.25, 0.25])
""",
    right="""\
import jax.numpy as jnp


def entry(counts, bins, weights):
    total = jnp.zeros(counts.shape, weights.dtype)
    return total.at[bins].add(weights)


def inputs():
    return jnp.zeros(4, jnp.int32), jnp.array([0, 1, 1]), jnp.array([0.5, 0.25, 0.25])
""",
    trace=check,
    source=check_source,
)
