"""One finished environment resets all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from math import isnan, prod
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.operations import REDUCTIONS
from ...source.queries.episodes.joined_flags import choices, joined_flags
from ...source.queries.episodes.resets import is_drawn_anew, is_fresh, is_zero, whole_of
from ...source.queries.handing import handed_in_at, is_key
from ...source.queries.loops.bodies import made_from, paired_leaves
from ...source.queries.names import names_of
from ...source.queries.nodes import names_axis, stacked_over
from ...source.values import Constant, Data, leaves
from ...words import is_episode_end, may_be_episode_end, may_compete, words_of
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.events import Event
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.episodes.joined_flags import Joined
    from ...source.values import Value as SourceValue
    from ...trace.axes.axis import Axis
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Choices for a whole batch that hang on a flag of any of its elements."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        joined = _joined(step.inputs[0]) if _chooses(step) and facts.is_users(step) else None
        if joined is None:
            continue
        reduction, is_turned = joined
        flags = reduction.inputs[0]
        axes = [facts.axes[flags][index] for index in reduction.params["axes"]]
        # What is kept while all go on; what comes when all are through is fine.
        ways = (is_turned,) if reduction.primitive in _ALL else (False, True)
        replaced = next(_replaced(facts, step, flags, axes, ways), None)
        if replaced is None:
            continue
        value, axis = replaced
        name = axis.label or f"of size {flags.shape[reduction.params['axes'][0]]}"
        yield RULE.finding(
            facts.place(step),
            current=f"as soon as any flag along axis {name} is set, all of "
            f"{tensor_of(facts, value)} is replaced, also elements whose own flag is not set",
            expected=f"each element of axis {name} is replaced by its own flag",
            fix="choose with `jnp.where` and each element's own flag, its axes lined up with the "
            "state's, or use `jax.vmap` of a function that decides for one element",
            evidence=(Evidence(f"{tensor_of(facts, flags)} becomes one flag", reduction.place),),
        )


def _joined(choice: Value) -> tuple[Step, bool] | None:
    """The reduction of several flags to one that a choice hangs on, and whether it is turned."""
    from ...trace.meaning.copies import number_of

    is_turned = False
    for _ in range(12):
        step = choice.producer
        if step is None or step.kind != "operation":
            return None
        name, inputs = step.primitive, step.inputs
        if name in _JOINING | _ALL and inputs[0].shape:
            is_one = prod(step.outputs[0].shape) == 1
            return (step, is_turned) if is_one and _are_flags(inputs[0]) else None
        if name == "clamp":
            choice = inputs[1]
            continue
        if name == "sub" and number_of(inputs[0]) == 1:
            choice, is_turned = inputs[1], not is_turned
            continue
        asked = (name, number_of(inputs[1])) if len(inputs) == 2 else (name, None)
        is_opposite = name == "not" or asked in _NONE
        if not is_opposite and name not in _SAME and asked not in _SOME:
            return None
        choice, is_turned = inputs[0], is_turned is not is_opposite
    return None


_SAME = {"convert_element_type", "squeeze", "reshape", "copy", "broadcast_in_dim", "expand_dims"}
_SOME = {("ne", 0), ("gt", 0), ("ge", 1)}
_NONE = {("eq", 0), ("le", 0), ("lt", 1)}
_ALL = {"reduce_and", "reduce_min"}
_JOINING = {"reduce_or", "reduce_max", "reduce_sum"}


def _are_flags(value: Value) -> bool:
    """Whether a value is boolean, or was before it became a number; not whether it is finite."""
    producer = value.producer
    if producer is not None and producer.primitive == "convert_element_type":
        value = producer.inputs[0]
    return str(value.dtype) == "bool" and not _asks_for_nan(value)


def _asks_for_nan(value: Value) -> bool:
    """Whether flags say where a computation has failed: then all of its result is void."""
    step = value.producer
    while step is not None and step.primitive in ("not", "reduce_or", "reduce_and"):
        step = step.inputs[0].producer
    if step is None:
        return False
    return step.primitive == "is_finite" or (
        step.primitive == "ne" and step.inputs[0] is step.inputs[1]
    )


def _chooses(step: Step) -> bool:
    return step.kind == "cond" or step.primitive == "select_n"


def _replaced(
    facts: Facts, step: Step, flags: Value, axes: list[Axis], ways: tuple[bool, ...]
) -> Iterator[tuple[Value, Axis]]:
    """Values with the axis of the flags that one side keeps and the other replaces.

    `ways` are whether what is kept may be what is taken where the choice is not true.
    """
    from ...trace.liveness import needed_for

    for index, out in enumerate(step.outputs):
        if step.kind == "cond":
            sides = [branch.outputs[index] for branch in step.bodies]
            given = set(step.inputs)
        else:
            sides = list(step.inputs[1:])
            given = set(sides)
        shared = [axis for axis in facts.axes[out] if axis in axes]
        # A size alone does not say that two axes are the same.
        if len(sides) != 2 or not shared:
            continue
        judged = _varying(needed_for([step.inputs[0]]))
        for is_turned in ways:
            fresh, kept = sides[::-1] if is_turned else sides
            if _is_nan(fresh):
                continue  # The flags say whether the result means anything.
            # The flags look at what is kept; what replaces it has nothing to do with either.
            # Flags that give way where none of them is set are no state.
            is_state = kept in given and kept is not flags
            replaced = is_state and not judged.isdisjoint(needed_for([kept]))
            if replaced and judged.isdisjoint(needed_for([fresh])):
                yield out, shared[0]
                return


def _is_nan(value: Value) -> bool:
    from ...trace.meaning.copies import number_of

    number = number_of(value)
    return number is not None and isnan(number)


def _varying(values: Iterable[Value]) -> set[Value]:
    return {value for value in values if not value.is_constant}


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Choices by "any" of several flags between what these judge and something else."""
    for choice in choices(facts):
        joined, event = joined_flags(facts, choice.by), choice.event
        if joined is None or (_is_mapped(facts, event) and not joined.is_across):
            continue
        ways = [(choice.taken, choice.otherwise), (choice.otherwise, choice.taken)]
        if joined.is_all:  # What is kept while all go on; what comes when all are through is fine.
            ways = ways[joined.is_turned :][:1]
        flags = joined.flags
        # Flags that give way where none of them is set are no state, but what is chosen from.
        ways = [it for it in ways if not any(leaf.node is flags for leaf in leaves(it[0]))]
        kept = [it[0] for it in ways if _replaces(facts, event, joined, *it)]
        if not kept or not _are_of_elements(facts, event, joined, kept[0]):
            continue
        name = facts.name_of(Data(flags))
        which = "the first" if joined.is_first else "any"
        state = "not set" if joined.is_all else "set"
        yield RULE.finding(
            (joined.flag.place if joined.is_across else None)
            or handed_in_at(event, is_key(joined.flag, choice.by)),
            current=f"as soon as {which} flag of `{name}` is {state}, everything is replaced, also "
            "elements of which the own flag says otherwise",
            expected="each element is replaced by its own flag",
            fix="choose with `jnp.where` and each element's own flag, its axes lined up with the "
            "state's, or use `jax.vmap` of a function that decides for one element",
            engine=Engine.SOURCE,
        )


def _is_mapped(facts: SourceFacts, event: Event) -> bool:
    """Whether the choice is made for each element of a map on its own, here or elsewhere."""
    frames = [event.frame]
    for frame in event.frame.callers():
        frames += facts.record.runs.get(frame.function, []) if frame.function is not None else []
    regions = [frame.region for frame in frames if frame.region is not None]
    return any(it.kind in ("vmap", "pmap") for region in regions for it in region.chain())


def _are_of_elements(facts: SourceFacts, event: Event, joined: Joined, kept: SourceValue) -> bool:
    """Whether flags are one for each of several environments, not for the parts of one.

    They are called so, a map has made one for each of its lanes, or what they judge was reduced
    along an axis of its own, and holds nothing but what is kept: a comparison with others has
    their axes.
    """
    flags, names = joined.flags, _names(facts, event, joined)
    if joined.is_across:
        return any(map(may_be_episode_end, names)) and _joins_environments(joined)
    if any(map(is_episode_end, names)):
        return True
    if any(it.operation.rpartition(".")[2] in _FAILURES for it in flags.ancestors()):
        return False  # Where a computation has failed, all of its result is void.
    if _is_of_lanes(flags) and all(_is_of_lanes(leaf.node) for leaf in leaves(kept)):
        return True
    reduced = [it for it in flags.ancestors() if it.operation.rpartition(".")[2] in REDUCTIONS]
    own = _starts(*(leaf.node for leaf in leaves(kept)))
    return any(
        names_axis(it) and all(_is_part_of(one, own) for one in _starts(it)) for it in reduced
    )


def _joins_environments(joined: Joined) -> bool:
    """Whether a collective joins lanes that go on by themselves, not those who play together."""
    over = joined.flag.inputs[0].varies - joined.flag.varies
    return bool(over) and not any(may_compete(it.axis_name) for it in over)


def _names(facts: SourceFacts, event: Event, joined: Joined) -> set[str]:
    """What flags are called, also as the numbers that they were made into, and by who calls."""
    nodes = {joined.flags, joined.flag.inputs[0], joined.flags.whole()}
    return {
        name
        for frame in event.frame.callers()
        for node in nodes
        for name in names_of(facts, node, frame)
    }


def _is_of_lanes(node: Node) -> bool:
    """Whether a map has put its lanes together to make a value."""
    while node.inputs and (_is_one_of_results(node) or node.operation.startswith(".")):
        node = node.inputs[0]
    region = stacked_over(node)
    return region is not None and region.kind in ("vmap", "pmap")


def _is_one_of_results(node: Node) -> bool:
    """Whether a value is one of several that a function returned, and no row of an array."""
    is_row = isinstance(node.syntax, ast.Subscript)
    return node.operation == "field" or (node.operation == "item" and not is_row)


_FAILURES = frozenset(("isnan", "isinf", "isfinite"))


def _is_part_of(node: Node, whole: set[Node]) -> bool:
    while node not in whole and node.operation in ("field", "item") and node.inputs:
        node = node.inputs[0]
    return node in whole


def _starts(*nodes: Node) -> set[Node]:
    """The values and fields that others are made from; a shape alone is none of them."""
    seen, pending = set(nodes), list(nodes)
    while pending:
        node = pending.pop()
        if node.operation == "field":
            continue
        new = [it for it in node.inputs if it not in seen and it.operation != "static"]
        seen.update(new)
        pending += new
    return {it for it in seen if not it.inputs or it.operation == "field"}


def _replaces(
    facts: SourceFacts, event: Event, joined: Joined, kept: SourceValue, fresh: SourceValue
) -> bool:
    """Whether the flags look at what is kept, and what replaces it has nothing to do with it."""
    flags = joined.flags
    own = {leaf.node for leaf in leaves(kept)}
    # What a map has put together for each lane is judged there.
    own |= {it for node in own if _is_of_lanes(node) for it in node.inputs}
    judged = made_from([flags])
    new = {leaf.node for leaf in leaves(fresh)}
    other = made_from(new)
    if not own or own & other or flags in other:
        return False
    if new & made_from(own):
        return False  # A step that is taken back leaves what it was made from.
    is_end = any(map(is_episode_end, _names(facts, event, joined)))
    if not own.isdisjoint(judged):
        return True
    if is_end and _is_of_lanes(flags) and whole_of(flags) in map(whole_of, own):
        # What lanes return beside their flags is what these judge.
        return bool(new) and all(map(is_fresh, new))
    pairs = list(paired_leaves(fresh, kept))
    named = {name for leaf in leaves(fresh) for name in names_of(facts, leaf.node, event.frame)}
    words = {word for name in named for word in words_of(name)}
    if is_end and is_drawn_anew([it.node for it, _ in pairs], [it.node for _, it in pairs], flags):
        return True  # Both are of one state, which the flags look at before it goes on.
    is_state = all(_has_rows_of(node, flags) for node in own)
    is_cleared = isinstance(fresh, Constant) or is_zero(fresh)
    return is_end and (not words.isdisjoint(_FRESH) or (is_cleared and is_state))


def _has_rows_of(node: Node, flags: Node) -> bool:
    """Whether something certainly has a row for each of some flags."""
    rows, shape = flags.shape, node.shape
    if not isinstance(rows, tuple) or not isinstance(shape, tuple) or not rows:
        return False
    return shape[: len(rows)] == rows


_FRESH = frozenset(("reset", "fresh", "init", "initial", "start"))


RULE = Rule(
    code="EN001",
    name="resets-all",
    title="One finished environment resets all of them",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`lax.cond(jnp.any(done), …)` (or a `jnp.where` on `jnp.any(done)`) decides once for the whole batch:
as soon as one environment is done, all of them start anew, in the middle of their episodes. So does
`lax.pmax(done, "envs")` in a map.

Reported when a choice hangs on "any" of the flags along an axis, one side keeps values that have
this axis, and the other replaces them by something that does not depend on them.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(pos):
    done = jnp.abs(pos).max(axis=-1) > 2.0
    return jax.lax.cond(jnp.any(done), lambda: jnp.zeros_like(pos), lambda: pos)


def inputs():
    return (jnp.ones((3, 2)),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(pos):
    done = jnp.abs(pos).max(axis=-1) > 2.0
    return jnp.where(done[:, None], jnp.zeros_like(pos), pos)


def inputs():
    return (jnp.ones((3, 2)),)
""",
    trace=check,
    source=check_source,
)
