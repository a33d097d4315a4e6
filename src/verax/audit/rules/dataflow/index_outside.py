"""Indices that leave the array: JAX reads another element, or writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.queries.loops.accesses import indexed_axes
from ...source.queries.numbers.integers import Integers
from ...source.queries.numbers.outside import outside
from ...source.shapes.shape import size_of
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value
    from ...trace.facts import Facts
    from ...trace.indices import Access
    from ...trace.ranges import Point


def check(facts: Facts) -> Iterator[Verdict]:
    """Accesses at an index that is known to be outside; and those that are proved inside."""
    from ...trace.hazards import gets_away
    from ...trace.indices import accesses
    from ...trace.phrases import phrase
    from ...trace.ranges.interval import shown

    for access in accesses(facts):
        if access.is_inside:
            continue
        point = access.outside
        if point is None or point.when or _is_meant(facts, access):
            # Behind a condition, an index outside is the usual way to write nothing.
            continue
        if not gets_away(facts, access.step, access.index, point):
            continue
        yield RULE.finding(
            facts.place(access.step),
            current=f"the index into {phrase(facts, access.array)} can be {shown(point.value)}, "
            f"but axis {access.axis} ends at {access.last}: JAX {access.outcome}, without an error",
            expected=f"an index between 0 and {access.last}",
            fix="correct the range of the index (an offset of one?), or say what is meant: `mode` "
            'of the indexed `at` property or of `jnp.take`, as in `mode="fill"` or `mode="clip"`',
            confidence=Confidence.LIKELY,
            evidence=_origin(facts, point),
        )
    yield from _verified(facts)


def _verified(facts: Facts) -> Iterator[Verdict]:
    """Lines at which every index stays inside."""
    from ...trace.indices import proved_inside
    from ...trace.phrases import line_phrase
    from ...trace.ranges.interval import shown

    for found in proved_inside(facts):
        step = found[0].step
        arrays = line_phrase(facts, step, "into", [it.array for it in found])
        bounds = dict.fromkeys(
            f"from {shown(it.interval.low)} to {shown(it.interval.high)}, where axis {it.axis} "
            f"has size {it.size}"
            for it in found
        )
        yield RULE.verified(
            f"every index {arrays} stays inside",
            f"it is {', and '.join(bounds)}",
            facts.place(step),
        )


def _origin(facts: Facts, point: Point) -> tuple[Evidence, ...]:
    from ...trace.phrases import phrase

    if point.origin is None or not point.origin.outputs:
        return ()
    made = phrase(facts, point.origin.outputs[0])
    return (Evidence(f"the index takes its range from {made}", facts.place(point.origin)),)


def _is_meant(facts: Facts, access: Access) -> bool:
    """Whether the author says what is to happen outside."""
    statement = facts.sources.statement(facts.place(access.step))
    return statement is not None and ("mode=" in statement.text or "clip" in statement.text)


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Accesses at a counter plus something, where the counter alone goes to the end."""
    for it in outside(facts):
        name = facts.name_of(it.array)
        outcome = "the write is dropped" if it.is_write else "the last element is read again"
        yield RULE.finding(
            it.event.place,
            current=f"the counter goes up to the last index of axis {it.axis} of {name}, and "
            f"{it.beyond} more is outside: {outcome}, without an error",
            expected="every index is inside of the array",
            fix=f"let the loop end {it.beyond} earlier, or give {name} room for {it.beyond} more",
            confidence=Confidence.LIKELY,
            evidence=(Evidence("the loop counts here", it.counted.place),),
            engine=Engine.SOURCE,
        )
    yield from _choices(facts)


def _choices(facts: SourceFacts) -> Iterator[Finding]:
    """Numbers that choose among branches, or elements, and can be beyond the last of them."""
    chosen: list[tuple[Fact, Value | None, int, str]] = []
    for fact in facts.events(Fact):
        if fact.kind == "switch":
            count = len(fact.data["branches"])
            chosen.append((fact, fact.data["predicate"], count, "switch takes the nearest branch"))
        elif fact.kind == "indexed":
            shape = fact.data["base"].node.shape
            for axis, node in indexed_axes(fact.data["index"]):
                size = size_of(shape, axis)
                if isinstance(size, int):
                    chosen.append((fact, Data(node), size, "JAX takes the nearest element"))
    integers = Integers(facts) if chosen else None
    for fact, index, count, outcome in chosen:
        outside = integers.outside(index, count) if integers is not None else None
        if outside is not None and isinstance(index, Data):
            yield RULE.finding(
                index.node.place or fact.place,
                current=f"the index `{facts.name_of(index)}` can be {outside}, of {count} that "
                f"there are: {outcome}, without an error",
                expected=f"an index between 0 and {count - 1}",
                fix="correct the range of the index (an offset of one?)",
                evidence=(Evidence("it is used here", fact.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF203",
    name="index-outside",
    title="An index can leave the array",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
Inside of JAX an index outside of the array raises nothing. A read gives the last element (or nan),
a write is dropped or moved, `lax.switch` takes its last branch: an offset of one goes unnoticed.

Reported where the index is known to take such a number: from `arange`, a loop's counter, `argmax`
over a longer axis, `randint`, a declared range. Not reported when the line says what is meant with
`mode=`, when a `where` drops the element afterwards, or when the index was sent outside by a
`where`, which is the usual way to write nothing.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(heights):
    def climb(i, total):
        return total + jnp.abs(heights[i + 1] - heights[i])

    return jax.lax.fori_loop(0, heights.shape[0], climb, 0.0)


def inputs():
    return (jnp.linspace(0.0, 3.0, 8),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(heights):
    def climb(i, total):
        return total + jnp.abs(heights[i + 1] - heights[i])

    return jax.lax.fori_loop(0, heights.shape[0] - 1, climb, 0.0)


def inputs():
    return (jnp.linspace(0.0, 3.0, 8),)
""",
    trace=check,
    source=check_source,
)
