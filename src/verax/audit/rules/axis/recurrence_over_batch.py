"""A loop that carries state from one independent example to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.axes import names_of
from ...source.events import Event, Fact, Loop
from ...source.graph import Node
from ...source.queries.arrays import array_in_words
from ...source.queries.blame import given_together_at, knowingly_given_at
from ...source.queries.loops.bodies import paired_leaves
from ...source.queries.loops.collected import is_collected, is_filled
from ...source.queries.loops.lanes import lanes_of_time, lanes_over
from ...source.queries.nodes import stacked_over
from ...source.queries.placing import map_at
from ...source.queries.written import decided_at
from ...source.shapes.names import name_of_most
from ...source.values import Constant, Data, Value, leaves, nodes_of
from ...words import is_separate, is_sequence, may_compete
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...trace.facts import Facts
    from ...trace.program import Step


def check(facts: Facts) -> Iterator[Verdict]:
    """Scans over an axis of independent elements whose carry still has the axis of time."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if step.kind != "scan":
            continue
        over = facts.axes.over[step].label
        time = _sequence_in_recurrent_carry(facts, step)
        around = None if time or not _may_only_step(over) else _map_over_time(facts, step)
        if around is not None:
            yield RULE.finding(
                facts.place(around),
                current=_MAPPED.format(time=facts.axes.over[around].label, over=over),
                expected=_MAP_EXPECTED.format(over=over),
                fix=_MAP_FIX.format(over=over),
                evidence=(Evidence(f"the scan over {over}", facts.place(step)),),
            )
        elif over and time and is_separate(over):
            scanned = step.detail.scanned[0]
            yield RULE.finding(
                facts.place(step),
                current=f"the scan runs over {over}, the leading axis of "
                f"{tensor_of(facts, scanned)}, and hands its state from one element of {over} to "
                "the next",
                expected=f"the scan runs over {time}, and every element of {over} has a state of "
                "its own",
                fix=_FIX.format(time=time, over=over),
                evidence=tuple(
                    Evidence(f"carry {tensor_of(facts, carry)}: axis {time} survives in it")
                    for carry in step.detail.carry
                    if time in facts.axes.names(carry)
                ),
            )


def _sequence_in_recurrent_carry(facts: Facts, step: Step) -> str | None:
    """The name of a time axis in a part of the carry that is fed back."""
    from ...trace.recurrence import Feedback, feedback

    for index, carry in enumerate(step.detail.carry):
        names = [name for name in facts.axes.names(carry) if is_sequence(name)]
        if names and feedback(facts.variation, step, index) is Feedback.RECURRENT:
            return names[0]
    return None


def _map_over_time(facts: Facts, step: Step) -> Step | None:
    """A map over time around a scan whose state is fed back."""
    from ...trace.recurrence import Feedback, feedback

    carries = range(len(step.detail.carry))
    if all(feedback(facts.variation, step, it) is not Feedback.RECURRENT for it in carries):
        return None
    for around in step.ancestors():
        if around.kind == "map" and is_sequence(facts.axes.over[around].label):
            mapped = {inner for _, inner, _ in around.detail.mapped}
            return around if mapped.issuperset(step.detail.scanned) else None
    return None


def _may_only_step(over: str) -> bool:
    """Whether nothing goes from one element along an axis to the next, nor weighs one by others."""
    return is_separate(over) and not may_compete(over)


_MAPPED = "the map takes {time} away, and a recursion inside of it runs over {over}"
_MAP_EXPECTED = "the map runs over {over}, and the recursion over the steps of each"
_MAP_FIX = "map over {over} instead, with another `in_axes`"
_FIX = (
    "bring {time} to the front before the scan with `jnp.swapaxes`, or map over {over} with "
    "`jax.vmap` and scan inside"
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Scans along an axis of independent elements, whose carry comes to have the axis of time."""
    for loop in facts.events(Loop):
        if loop.kind != "scan" or loop.xs is None or loop.carry_in is None:
            continue
        for scanned in leaves(loop.xs):
            shape = scanned.node.shape
            over = name_of_most(shape[0]) if isinstance(shape, tuple) and shape else ""
            time = next(filter(is_sequence, names_of(shape)[1:]), None)
            around = lanes_of_time(scanned.node) if time is None else None
            if around is not None and _may_only_step(over) and _is_recurrent(loop):
                yield _mapped_over_time(loop, around, over)
                break
            if time is None or not is_separate(over):
                continue
            if not _carries(facts, loop, time) and not _has_one_for_each(loop, over):
                continue
            for place in filter(None, (loop.place, _given_at(loop, over))):
                yield RULE.finding(
                    place,
                    current=f"the scan runs over {over}, the leading axis of "
                    f"{array_in_words(facts, scanned)}, and hands its state from one element of "
                    f"{over} to the next",
                    expected=f"the scan runs over {time}, and every element of {over} has a state "
                    "of its own",
                    fix=_FIX.format(time=time, over=over),
                    evidence=() if place == loop.place else (Evidence("it scans", loop.place),),
                    engine=Engine.SOURCE,
                )
            break
        else:
            yield from _backwards_over_lanes(facts, loop)
    yield from _loops_of_python(facts)
    yield from _in_parallel(facts)


def _is_recurrent(loop: Loop) -> bool:
    return any(
        after.node.depends_on(before.node) and not is_collected(before.node, after.node)
        for before, after in paired_leaves(loop.carry_in, loop.carry_out)
    )


def _mapped_over_time(event: Event, around: Region, over: str) -> Finding:
    return RULE.finding(
        map_at(around, "in_axes") or event.place,
        current=_MAPPED.format(time=lanes_over(around), over=over),
        expected=_MAP_EXPECTED.format(over=over),
        fix=_MAP_FIX.format(over=over),
        evidence=(Evidence(f"the recursion over {over}", event.place),),
        engine=Engine.SOURCE,
    )


def _in_parallel(facts: SourceFacts) -> Iterator[Finding]:
    """The same in parallel scans: they walk along an axis, too."""
    for fact in facts.events(Fact):
        axis = fact.data["axis"] if fact.kind == "associative scan" else None
        if not isinstance(axis, Constant) or not isinstance(axis.value, int):
            continue
        for scanned in leaves(fact.data["elements"]):
            names = names_of(scanned.node.shape)
            over = names[axis.value] if -len(names) <= axis.value < len(names) else ""
            time = next(filter(is_sequence, names), None)
            around = lanes_of_time(scanned.node) if time is None else None
            if around is not None and _may_only_step(over):
                yield _mapped_over_time(fact, around, over)
                break
            if time is None or not is_separate(over):
                continue
            yield RULE.finding(
                decided_at(fact, axis),
                current=f"the scan runs over {over} of {array_in_words(facts, scanned)}, from one "
                "element to the next",
                expected=f"the scan runs over {time}, for every element of {over} apart",
                fix=f"scan along axis {names.index(time)}: `axis={names.index(time)}`",
                engine=Engine.SOURCE,
            )
            break


def _given_at(loop: Loop, over: str) -> Place | None:
    """Where a helper that scans what it is given gets it, from who has more of these elements."""
    # What a state starts with tells a helper for any recursion nothing of what it goes through.
    handed = (it for it in (loop.xs, loop.initial) if it is not None)
    things = {node for value in handed for node in nodes_of(value)}

    def knows(value: Value) -> bool:
        others = (node for node in nodes_of(value) if node not in things)
        return any(over in names_of(node.shape) for node in others)

    return knowingly_given_at(loop, loop.xs, knows)


def _backwards_over_lanes(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    """Recursions from the last to the first lane of a map, in each of which a scan has run.

    Lanes have no order, so that nobody means to go through them backwards.
    """
    reverse = loop.options.get("reverse")
    if loop.xs is None or not isinstance(reverse, Constant) or not reverse.value:
        return
    carried = paired_leaves(loop.carry_in, loop.carry_out)
    is_recursion = any(after.node.depends_on(before.node) for before, after in carried)
    scanned = next((it for it in leaves(loop.xs) if _is_lanes_of_turns(it.node)), None)
    if is_recursion and scanned is not None:
        # The place of the call comes second: what is scanned there is not what the helper is for.
        for place in dict.fromkeys((loop.place, given_together_at(loop, [loop.xs]))):
            yield RULE.finding(
                place,
                current=f"the leading axis of {array_in_words(facts, scanned)} are the lanes of a "
                "map, in each of which a scan has run: this one hands its state from lane to lane",
                expected="the scan runs over the steps, and every lane has a state of its own",
                fix=_FIX.format(time="the axis of the steps", over="the lanes"),
                engine=Engine.SOURCE,
            )


def _is_lanes_of_turns(node: Node) -> bool:
    """Whether the first axis of an array are the lanes of a map, and the second turns of a scan."""
    outer = stacked_over(node)
    if outer is None or outer.kind != "vmap" or node.label:
        return False
    inner = stacked_over(node.inputs[0])
    return inner is not None and inner.kind == "scan"


def _carries(facts: SourceFacts, loop: Loop, time: str) -> bool:
    """Whether a state with an axis of time is computed from the one before."""
    pairs = [
        (before.node, after.node)
        for before, after in paired_leaves(loop.carry_in, loop.carry_out)
        if not is_collected(before.node, after.node)
    ]
    for before, after in pairs:
        is_recurrent = after.depends_on(before)
        if is_recurrent and time in (*names_of(before.shape), *names_of(after.shape)):
            return True
    # Time meets another axis of what is made from the state.
    for fact in facts.events(Fact):
        if fact.kind == "clash" and time in fact.data["names"]:
            region = fact.frame.region
            made = fact.data["result"].node
            if region is not None and loop.region in region.chain():
                return any(made.depends_on(before) for before, _ in pairs)
    return False


def _has_one_for_each(loop: Loop, over: str) -> bool:
    """Whether each element that a scan goes through has a row of its own in the state."""
    return any(
        over in names_of(before.node.shape)
        and after.node.depends_on(before.node)
        and not is_collected(before.node, after.node)
        and not is_filled(before.node, after.node)
        for before, after in paired_leaves(loop.carry_in, loop.carry_out)
    )


def _loops_of_python(facts: SourceFacts) -> Iterator[Finding]:
    """The same in loops of Python's, over an array or its indices."""
    for fact in facts.events(Fact):
        for before, after in fact.data["carried"].values() if fact.kind == "loop" else ():
            for start, end in paired_leaves(before, after):
                share = _share_of_lanes(fact.data["region"], start.node, end.node)
                if share is None:
                    continue
                over, *rest = names_of(share.inputs[0].shape)
                time = next(filter(is_sequence, rest))
                yield RULE.finding(
                    fact.place,
                    current=f"the loop runs over {over}, the leading axis of "
                    f"{array_in_words(facts, Data(share.inputs[0]))}, and hands "
                    f"`{facts.name_of(Data(end.node))}` from one element of {over} to the next",
                    expected=f"the loop runs over {time}, and every element of {over} has a state "
                    "of its own",
                    fix=_FIX.format(time=time, over=over),
                    engine=Engine.SOURCE,
                )


def _share_of_lanes(region: Region, before: Node, after: Node) -> Node | None:
    """What a turn takes of an array of independent sequences, to make a state of the last one."""
    time = next(filter(is_sequence, names_of(after.shape)), None)
    if time is None or is_collected(before, after) or not after.depends_on(before):
        return None
    for node in after.ancestors():
        if node.operation not in ("element", "item") or not node.inputs:
            continue
        over, *rest = names_of(node.inputs[0].shape) or ("",)
        by_turn = node.operation == "element" or any(region in it.varies for it in node.inputs[1:])
        if by_turn and is_separate(over) and time in rest and names_of(node.shape) == tuple(rest):
            return node
    return None


RULE = Rule(
    code="AX005",
    name="recurrence-over-batch",
    title="State is carried along the batch instead of along time",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explains=("AX001",),
    explanation="""\
`jax.lax.scan` walks along the leading axis. Given batch-major data (`(batch, time, feat)`), a
recurrent network or an advantage recursion walks from one trajectory to the next, and treats time
as if it were the batch. When both have the same size, or the initial state is made from the same
shape, nothing fails.

Reported when the scanned axis is named as one of independent elements (batch, env, agent…) and a
part of the carry that is fed back has an axis of time, or a row for each of those elements, also in
a loop of Python's. Where a helper scans what it is given, one array or several, the call that gives
it is reported as well. Sums over a batch are not reported, nor tables that are filled row by
row.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"w": "feat hid", "x": "batch time feat"}


def entry(w, x):
    def step(h, x_t):
        return jnp.tanh(0.5 * h + x_t @ w), None

    h, _ = jax.lax.scan(step, jnp.zeros((x.shape[0], w.shape[1])), x)
    return h


def inputs():
    return jnp.ones((3, 8)), jnp.ones((5, 5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"w": "feat hid", "x": "batch time feat"}


def entry(w, x):
    def step(h, x_t):
        return jnp.tanh(0.5 * h + x_t @ w), None

    h, _ = jax.lax.scan(step, jnp.zeros((x.shape[0], w.shape[1])), jnp.swapaxes(x, 0, 1))
    return h


def inputs():
    return jnp.ones((3, 8)), jnp.ones((5, 5, 3))
""",
    trace=check,
    source=check_source,
)
