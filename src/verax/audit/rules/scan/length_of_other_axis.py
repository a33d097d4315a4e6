"""A loop whose length is the size of another axis than the one it walks along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Place, Severity
from ...source.events import Fact
from ...source.queries.loops.accesses import Access, accesses
from ...source.queries.loops.bodies import shown_shape
from ...source.queries.loops.counters import Bound, bounds, sizes_of, turn_of
from ...source.queries.loops.cut_short import cut_short
from ...source.shapes import Size
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops that index an array by their counter and do not reach its end."""
    from ...trace.describe import name_of, tensor_of

    for step in facts.steps:
        length = step.detail.length if step.kind == "scan" else None
        if not length:
            continue
        for array, axis in _indexed_by_counter(step):
            size, names = array.shape[axis], facts.axes.names(array)
            others = [
                (names[i] or f"axis {i}")
                for i, n in enumerate(array.shape)
                if i != axis and n == length
            ]
            if size == length or not others or names[axis] is None:
                continue
            yield RULE.finding(
                facts.place(step),
                current=f"the loop runs {length} times, the size of {others[0]}, and its counter "
                f"indexes {names[axis]} of {name_of(facts, array)} ({tensor_of(facts, array)}), "
                f"which has {size}",
                expected=f"the loop runs {size} times, once for each element of {names[axis]}",
                fix=f"take the length of axis {axis}, which is indexed",
            )


def _indexed_by_counter(step: Step) -> Iterator[tuple[Value, int]]:
    """Arrays and axes that the body reads at the loop's counter."""
    for inner in step.bodies[0].walk():
        if inner.primitive == "dynamic_slice":
            array, *starts = inner.inputs
            for axis, start in enumerate(starts):
                window = inner.outputs[0].shape[axis]
                if array.shape[axis] - window + 1 != step.detail.length and _counts(step, start):
                    yield array, axis
        elif inner.primitive == "gather":
            array, indices = inner.inputs[:2]
            mapped = inner.params["dimension_numbers"].start_index_map
            if len(mapped) == 1 and _counts(step, indices):
                yield array, mapped[0]


def _counts(step: Step, index: Value) -> bool:
    """Whether an index is the number of a loop's iteration, counted from either end."""
    from ...trace.counters import counter_behind, last_of, mirrored

    last = step.detail.length - 1
    for way in (index, mirrored(index, last)):
        found = counter_behind(way) if way is not None else None
        if way is not None and found is not None and found[0] is step and last_of(way) == last:
            return True
    return False


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Counters that stop at the size of one axis of an array, and index another one of it."""
    known = bounds(facts)
    equal = {it.data["sizes"] for it in facts.events(Fact) if it.kind == "equal sizes"}
    for access in accesses(facts) if known else ():
        taken = {axis for axis, _ in access.positions}
        for axis, index in access.positions:
            bound = turn_of(index, known)
            other = _other_axis(access.array.node, axis, bound.limit, equal) if bound else None
            if bound is None or other is None or other in taken:
                continue  # `a[i, j]` of a square matrix: it has one size.
            name = facts.name_of(access.array)
            is_kept = any(_keeps(it, bound, known) for it in accesses(facts))
            yield RULE.finding(
                (None if is_kept else bound.chosen_at) or bound.length_at(facts),
                current=f"the loop runs {shown_shape((bound.limit,)).strip('(),')} times, the size "
                f"of axis {other} of {name}, and its counter indexes axis {axis} of it",
                expected=f"the loop runs once for each element of axis {axis}",
                fix=f"take the length of axis {axis}, which is indexed",
                evidence=(
                    Evidence("indexed here", access.event.place),
                    Evidence("the loop is here", bound.place),
                ),
                engine=Engine.SOURCE,
            )
    told: set[Place] = set()
    for it in cut_short(facts):
        place = it.bound.length_at(facts)
        if place in told:
            continue
        told.add(place)
        name = facts.name_of(it.access.array)
        yield RULE.finding(
            place,
            current=f"the loop runs {it.bound.limit} times, its counter indexes axis {it.axis} of "
            f"{name}, which has {it.size}, and what comes out is divided by that size",
            expected=f"the loop runs once for each element of axis {it.axis}, of which it is a "
            "share",
            fix=f"take the length of axis {it.axis}, which is indexed",
            evidence=(
                Evidence("indexed here", it.access.event.place),
                Evidence("divided here", it.quotient.place),
            ),
            engine=Engine.SOURCE,
        )


def _keeps(access: Access, bound: Bound, known: dict[Node, Bound]) -> bool:
    """Whether an array has a place for each turn of a loop, which its counter indexes."""
    sizes = sizes_of(access.array.node)
    return any(
        turn_of(index, known) is bound and axis < len(sizes) and sizes[axis] == bound.limit
        for axis, index in access.positions
    )


def _other_axis(array: Node, axis: int, limit: object, equal: set[frozenset[Size]]) -> int | None:
    """The axis whose size is the limit of a counter that indexes another one.

    Only a size that is taken from the array itself says so: numbers may be equal by chance.
    """
    if not isinstance(limit, Size):
        return None
    sizes = sizes_of(array)
    own = sizes[axis] if axis < len(sizes) else None
    if isinstance(own, Size) and not limit.symbols.isdisjoint(own.symbols):
        return None  # There is one more of them, or twice as many.
    if frozenset((own, limit)) in equal:
        return None  # The program has asked for that.
    return next((number for number, size in enumerate(sizes) if size == limit), None)


RULE = Rule(
    code="SC004",
    name="length-of-other-axis",
    title="The length of a loop is the size of another axis",
    family="scan",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A loop counts its iterations and uses the counter to index an array along an axis (time, say), but
its length is the size of another axis of that array (batch): it stops early, or reads past the
end, where JAX clamps the index silently.

Reported when the axis that is indexed has a name, its size differs from the length, and another
axis of the same array has exactly that size. Also when the loop has a fixed length and its results
are divided by the size of the axis that is indexed, which an example shows to be another number:
a mean over all steps of a plan of which only some were played.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"targets": "batch time"}


def entry(targets):
    def step(carry, _):
        s, t = carry
        return (s + 0.3 * (targets[:, t] - s), t + 1), None

    (s, _), _ = jax.lax.scan(step, (jnp.zeros(3), 0), None, length=targets.shape[0])
    return s


def inputs():
    return (jnp.ones((3, 8)),)
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"targets": "batch time"}


def entry(targets):
    def step(carry, _):
        s, t = carry
        return (s + 0.3 * (targets[:, t] - s), t + 1), None

    (s, _), _ = jax.lax.scan(step, (jnp.zeros(3), 0), None, length=targets.shape[1])
    return s


def inputs():
    return (jnp.ones((3, 8)),)
""",
    trace=check,
    source=check_source,
)
