"""An integer carry that is updated with broken numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Place, Severity
from ...source.events import Loop
from ...source.queries.loops.bodies import paired_leaves
from ...source.queries.loops.carries import begun_at
from ...source.queries.loops.cut_carries import cut_at
from ...source.shapes.dtypes import is_float, is_integer
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops in which a float that depends on the carry is cast to the carry's integers."""
    from ...trace.describe import tensor_of
    from ...trace.phrases import phrase

    for step in facts.steps:
        if step.kind not in ("scan", "while"):
            continue
        loop = step.detail
        for carry, carried, initial in zip(loop.carry, loop.carried, loop.initial, strict=True):
            cast = _truncation(facts, carry, carried)
            if cast is None:
                continue
            here = facts.place(cast)
            kind = tensor_of(facts, carry)
            yield RULE.finding(
                _start(facts, initial) or here,
                current=f"the carry starts as {kind}, so that each iteration cuts "
                f"{phrase(facts, cast.inputs[0])} ({cast.inputs[0].dtype}) towards zero",
                expected="a carry of the dtype that its update has",
                fix=f"start the carry with `dtype=jnp.{cast.inputs[0].dtype}`, and drop the cast; "
                "round explicitly if whole numbers are meant",
                evidence=(Evidence(f"cast to {carry.dtype} in each iteration", here),),
            )


def _truncation(facts: Facts, carry: Value, carried: Value) -> Step | None:
    """The cast of a broken number that depends on the carry, on the way to the next carry."""
    from ...trace.ranges.interval import kind_of

    if not kind_of(carry.dtype).is_integer:
        return None
    pending, seen = [carried], set[int]()
    while pending:
        value = pending.pop()
        step = value.producer
        if step is None or value is carry or id(value) in seen or step.kind != "operation":
            continue
        seen.add(id(value))
        if step.primitive == "convert_element_type":
            before = step.inputs[0]
            is_broken = kind_of(before.dtype).is_float and not facts.ranges[before].integral
            if is_broken and _depends(before, carry):
                return step
        if step.primitive in _CHOOSE:
            pending += [it for it in step.inputs if kind_of(it.dtype).is_integer]
    return None


_CHOOSE = frozenset("select_n convert_element_type max min clamp reshape broadcast_in_dim".split())


def _depends(value: Value, carry: Value) -> bool:
    """Whether a value is made from the carry of the same iteration."""
    from ...trace.liveness import sources

    pending, seen = [value], set[int]()
    while pending:
        current = pending.pop()
        if current is carry:
            return True
        if id(current) in seen or current.producer is None:
            continue
        seen.add(id(current))
        if carry.producer is not current.producer:
            pending += sources(current.producer, current)
    return False


def _start(facts: Facts, initial: Value) -> Place | None:
    """Where the initial value is made, if the program makes it."""
    step = initial.producer
    return step.place if step is not None and step.kind == "operation" else None


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Loops in which a float that is made from an integer carry is cast back to it."""
    for loop in facts.events(Loop):
        for before, after in paired_leaves(loop.carry_in, loop.carry_out):
            cut = cut_at(after.node, before.node) if is_integer(before.node.dtype) else None
            if cut is None:
                continue
            here = cut.place or loop.place
            dtype = next((it.dtype for it in cut.inputs if is_float(it.dtype)), "float32")
            yield RULE.finding(
                begun_at(loop, before) or here,
                current=f"the carry starts as {before.node.dtype}, so that each iteration cuts "
                f"its {dtype} update towards zero",
                expected="a carry of the dtype that its update has",
                fix="start the carry with the dtype of its update, and drop the cast; round "
                "explicitly if whole numbers are meant",
                evidence=(Evidence(f"cast to {before.node.dtype} in each iteration", here),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="SC301",
    name="carry-truncated",
    title="An integer carry cuts its float updates",
    family="scan",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A scan's carry keeps its dtype. When it starts as integers (zeros made like an array of counts, or a
Python `0`) and the update is a float, a cast back to the carry's dtype makes the types agree, and
cuts the fraction in every iteration: a decayed sum never leaves the whole numbers.

Reported where the float that is cast depends on the carry and is not known to be whole, or is added
to the carry in whichever type that has (`acc + x.astype(acc.dtype)`). An explicit `round` or
`floor` says that cutting is meant.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(hits):
    def step(level, hit):
        level = (0.8 * level + hit).astype(level.dtype)
        return level, level

    return jax.lax.scan(step, jnp.zeros_like(hits[0]), hits)


def inputs():
    return (jnp.ones((6, 3), jnp.int32),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(hits):
    def step(level, hit):
        level = 0.8 * level + hit
        return level, level

    return jax.lax.scan(step, jnp.zeros(hits.shape[1], jnp.float32), hits)


def inputs():
    return (jnp.ones((6, 3), jnp.int32),)
""",
    trace=check,
    source=check_source,
)
