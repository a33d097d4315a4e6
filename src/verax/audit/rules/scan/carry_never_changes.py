"""A scan that hands its carry on as it came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.events import Loop
from ...source.queries.loops.bodies import behind, body_frame, paired_leaves, returned_at
from ...source.queries.loops.carries import handed_on_at
from ...source.queries.loops.next_versions import next_versions
from ...source.queries.loops.stale import successors
from ...source.queries.loops.stuck_counters import stuck_counters
from ...source.values import Data, leaves
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.values import Value as SourceValue
    from ...trace.facts import Facts
    from ...trace.program import Body, Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops that compute a new state and return the old one."""
    from ...trace.counters import stride
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if step.kind not in ("scan", "while") or step.detail.length == 1:
            continue
        if not facts.is_users(step):
            continue
        loop = step.detail
        stale = [
            carry
            for carry, carried in zip(loop.carry, loop.carried, strict=True)
            # A key may stay where a number is folded into it; whether it repeats is told by itself.
            if carry is carried and carry.consumers and facts.keys.of(carry) is None
        ]
        dropped = _dropped_updates(facts, step, stale)
        moving = [
            carry
            for carry, carried in zip(loop.carry, loop.carried, strict=True)
            if carry is not carried and stride(carry, carried) is None
        ]
        standing = step.kind == "scan" and not moving and step.bodies[0].place is not None
        if stale and (dropped or standing):
            place = step.bodies[-1].place or facts.place(step)
            types = ", ".join(str(tensor_of(facts, it)) for it in stale)
            yield RULE.finding(
                facts.sources.returned(place) or place,
                current=f"the body returns a carry that it was given ({types}), so every "
                "iteration starts from its initial value",
                expected="an iteration hands on the state that it computed",
                fix="return the updated state as the body's carry; pass what is constant by "
                "closure",
                confidence=Confidence.CERTAIN if dropped and not moving else Confidence.LIKELY,
                evidence=dropped,
            )


def _dropped_updates(facts: Facts, step: Step, stale: list[Value]) -> tuple[Evidence, ...]:
    """Values that a body makes from a part of the carry, of its type, and that nobody uses.

    Only what lines of the body itself compute: functions that it calls leave much unused.
    """
    from ...trace.describe import assigned_name
    from ...trace.recurrence import reached_from

    body = step.bodies[-1]
    found: list[Evidence] = []
    for carry in stale if body.place is not None else ():
        for value in reached_from(facts.variation, step, carry):
            producer = value.producer
            if producer is None or not _is_line_of(body, producer) or value in facts.live:
                continue
            alike = value.shape == carry.shape and value.dtype == carry.dtype
            name = assigned_name(facts, value) if alike and not value.consumers else ""
            if name:
                found.append(Evidence(f"{name} is computed and dropped", producer.place))
    return tuple(dict.fromkeys(found))[:4]


def _is_line_of(body: Body, step: Step) -> bool:
    inside = step.place is not None and step.place.function.split(".")[-1] == body.function
    return step.within is body and inside


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Bodies that compute a new carry, or a part of it, and return the old one."""
    for loop in facts.events(Loop):
        frame = body_frame(facts, loop) if loop.carry_in is not None else None
        if frame is None or len(frame.returns) != 1:
            continue
        leaves = list(paired_leaves(loop.carry_in, loop.carry_out))
        if loop.kind == "while_loop" and _is_endless(loop, leaves):
            yield _endless(facts, loop)
            continue
        stale = [one for one, other in leaves if one.node is other.node and not one.node.is_key]
        dropped = _updates(facts, loop, frame, stale)
        if not dropped:
            continue
        names = ", ".join(name for name, _, _ in dropped)
        kept_at = handed_on_at(loop, dropped[0][2])
        yield RULE.finding(
            kept_at or returned_at(facts, loop) or loop.place,
            current=f"the body computes {names} from its carry and returns the carry that it was "
            "given, so every iteration starts from the initial value",
            expected="an iteration hands on the state that it computed",
            fix="return the updated state as the body's carry; pass what is constant by closure",
            confidence=Confidence.LIKELY,
            evidence=tuple(evidence for _, evidence, _ in dropped[:4]),
            engine=Engine.SOURCE,
        )


def _is_endless(loop: Loop, leaves: list[tuple[Data, Data]]) -> bool:
    """Whether all that a condition reads of the carry stays as it is."""
    read = behind(loop.options["condition"]).intersection(it.node for it in _leaves(loop.carry_in))
    unchanged = {one.node for one, other in leaves if one.node is other.node}
    return bool(read) and read <= unchanged


def _endless(facts: SourceFacts, loop: Loop) -> Verdict:
    return RULE.finding(
        returned_at(facts, loop) or loop.place,
        current="the condition of the while_loop reads only parts of the carry that the body hands "
        "on as they came: it never starts, or never ends",
        expected="an iteration changes what the condition reads",
        fix="return the updated state as the body's carry",
        evidence=(Evidence("the loop is here", loop.place),),
        engine=Engine.SOURCE,
    )


def _updates(
    facts: SourceFacts, loop: Loop, frame: Frame, stale: list[Data]
) -> list[tuple[str, Evidence, Data]]:
    """What a body makes of parts of the carry that stay, and looks like their next value.

    Each in words, with where it is made, and the part that it should have replaced.
    """
    found: dict[str, tuple[Evidence, Data]] = {}
    for place, name, before in next_versions(facts, loop, frame, stale):
        evidence = Evidence(f"`{name}` is computed here", place)
        found.setdefault(f"`{name}`", (evidence, before))
    if not found:
        for words, node, before in stuck_counters(loop, stale):
            evidence = Evidence(f"{words} is computed here", node.place)
            found.setdefault(words, (evidence, before))
    if not found:
        for words, node in successors(facts, loop, frame, stale):
            sources = behind(Data(node))
            before = [it for it in stale if it.node in sources] or stale
            evidence = Evidence(f"{words} is computed here", node.place)
            found.setdefault(words, (evidence, before[0]))
    return [(words, *rest) for words, rest in found.items()]


def _leaves(value: SourceValue | None) -> list[Data]:
    return [] if value is None else leaves(value)


RULE = Rule(
    code="SC002",
    name="carry-never-changes",
    title="The carry of a scan never changes",
    family="scan",
    severity=Severity.CRITICAL,
    exact="the trace shows that the carry goes round unchanged, and that its update is dropped",
    by_absence=True,
    explanation="""\
The body of a scan returns the carry that it was given. Whatever it computed in the meantime is
lost, and every iteration starts from the initial state again: a filter that does not advance, a
simulation that stands still.

Reported when nothing in the carry changes although the body reads it, or when the body computes an
update of the part that stays and drops it, also the number after a counter that starts at a
number. Constant parts of a carry are common otherwise, and not reported.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(start, measured):
    def step(pos, seen):
        new = pos + 0.5 * (seen - pos)
        return pos, new

    return jax.lax.scan(step, start, measured)


def inputs():
    return jnp.zeros(2), jnp.ones((6, 2))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(start, measured):
    def step(pos, seen):
        new = pos + 0.5 * (seen - pos)
        return new, new

    return jax.lax.scan(step, start, measured)


def inputs():
    return jnp.zeros(2), jnp.ones((6, 2))
""",
    trace=check,
    source=check_source,
)
