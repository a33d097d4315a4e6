"""One finished environment resets all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.events import Fact
from ...source.queries.handing import handed_in_at, is_key
from ...source.queries.loops.bodies import made_from
from ...source.queries.names import names_of
from ...source.queries.nodes import is_flag, stacked_over
from ...source.values import Constant, Data, leaves
from ...words import is_episode_end, words_of
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.events import Event
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.values import Value as SourceValue
    from ...trace.axes.axis import Axis
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Choices for a whole batch that hang on a flag of any of its elements."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if (step.kind != "cond" and step.primitive != "select_n") or not facts.is_users(step):
            continue
        reduction = _any_of_flags(step.inputs[0])
        if reduction is None:
            continue
        flags = reduction.inputs[0]
        axes = [facts.axes[flags][index] for index in reduction.params["axes"]]
        replaced = next(_replaced(facts, step, axes), None)
        if replaced is None:
            continue
        value, axis = replaced
        name = axis.label or f"of size {flags.shape[reduction.params['axes'][0]]}"
        yield RULE.finding(
            facts.place(step),
            current=f"as soon as any flag along axis {name} is set, all of "
            f"{tensor_of(facts, value)} is replaced, also elements whose own flag is not set",
            expected=f"each element of axis {name} is replaced by its own flag",
            fix="`jnp.where(done[:, None], fresh, state)` with the flag's axes lined up, or "
            "`jax.vmap` of a function that decides for one element",
            evidence=(Evidence(f"{tensor_of(facts, flags)} becomes one flag", reduction.place),),
        )


def _any_of_flags(choice: Value) -> Step | None:
    """The reduction of several flags to one that a choice hangs on."""
    for _ in range(8):
        step = choice.producer
        if step is None or step.kind != "operation" or choice.shape != ():
            return None
        if step.primitive in _JOINING and step.inputs[0].shape:
            return step if _are_flags(step.inputs[0]) else None
        if step.primitive not in ("convert_element_type", "squeeze", "reshape", "copy", "ne", "gt"):
            return None
        choice = step.inputs[0]
    return None


_JOINING = ("reduce_or", "reduce_max", "reduce_sum")


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


def _replaced(facts: Facts, step: Step, axes: list[Axis]) -> Iterator[tuple[Value, Axis]]:
    """Values with the axis of the flags that one side keeps and the other replaces."""
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
        for kept, fresh in (sides, sides[::-1]):
            # The flags look at what is kept; what replaces it has nothing to do with either.
            replaced = kept in given and not judged.isdisjoint(needed_for([kept]))
            if replaced and judged.isdisjoint(needed_for([fresh])):
                yield out, shared[0]
                return


def _varying(values: Iterable[Value]) -> set[Value]:
    return {value for value in values if not value.is_constant}


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Choices by "any" of several flags between what these judge and something else."""
    for event, choice, sides in _choices(facts):
        joined = _without(_SAME, choice)
        flags = _joined_flags(joined) or _flags_of_one(joined)
        if flags is None or _is_mapped(facts, event):
            continue
        ways = (sides, sides[::-1])
        kept = [it[0] for it in ways if _replaces(facts, event, flags, *it)]
        if not kept or not _are_of_elements(facts, event, flags, kept[0]):
            continue
        name = facts.name_of(_data(flags))
        which = "the first" if joined.operation == "item" else "any"
        yield RULE.finding(
            handed_in_at(event, is_key(joined, choice)),
            current=f"as soon as {which} flag of `{name}` is set, everything is replaced, also "
            "elements whose own flag is not set",
            expected="each element is replaced by its own flag",
            fix="`jnp.where(done[:, None], fresh, state)` with the flag's axes lined up, or "
            "`jax.vmap` of a function that decides for one element",
            engine=Engine.SOURCE,
        )


def _data(node: Node) -> SourceValue:
    return Data(node)


def _choices(
    facts: SourceFacts,
) -> Iterator[tuple[Event, Node, tuple[SourceValue, SourceValue]]]:
    """Every choice between two values, with what decides it."""
    for fact in facts.events(Fact):
        if fact.kind == "cond" and isinstance(fact.data["predicate"], Data):
            results = fact.data["results"]
            if len(results) == 2:
                yield fact, fact.data["predicate"].node, (results[0], results[1])
    for call in facts.calls(("jax.numpy.where", "jax.lax.select")):
        if len(call.args) != 3:
            continue
        if isinstance(call.args[0], Data):
            yield call, call.args[0].node, (call.args[1], call.args[2])


_ANY = frozenset(("jax.numpy.any", "ndarray.any"))
# Of flags, which are numbers then, they tell the same.
_MOST = frozenset(
    f"{owner}.{name}"
    for owner in ("jax.numpy", "ndarray")
    for name in ("sum", "max", "amax", "count_nonzero")
)
_CASTS = frozenset(
    "ndarray.astype jax.numpy.asarray jax.numpy.bool_ jax.numpy.float32 jax.numpy.int32".split()
)
_SAME = _CASTS | frozenset(
    "lane primal jax.numpy.broadcast_to jax.lax.broadcast jax.numpy.reshape ndarray.reshape "
    "jax.numpy.expand_dims".split()
)
# What asks whether a number of flags is at least one, and with which number.
_ASKING = {">": 0, "!=": 0, ">=": 1}


def _flags_of_one(choice: Node) -> Node | None:
    """The flags, where a choice hangs on the first of them."""
    if choice.operation != "item" or choice.label != "0":
        return None
    flags = _without(_CASTS, choice.inputs[0])
    # One of several results of a function is no element of an array.
    has_rows = isinstance(flags.shape, tuple) and len(flags.shape) == 1
    return flags if has_rows and is_flag(flags) else None


def _joined_flags(choice: Node) -> Node | None:
    """The flags, where a choice hangs on whether any of them is set."""
    if choice.inputs and _asks_for_one(choice):
        choice = choice.inputs[0]
    syntax = choice.syntax
    if not choice.inputs or not isinstance(syntax, ast.Call):
        return None
    flags = _without(_CASTS, choice.inputs[0])
    if choice.operation not in _ANY and not (choice.operation in _MOST and is_flag(flags)):
        return None
    # `any` along one axis leaves a flag for each element of the others.
    given = len(syntax.args) - choice.operation.startswith("jax.numpy.")
    is_all = given == 0 and not syntax.keywords and flags.shape != ()
    return flags if is_all else None


def _without(changes: frozenset[str], node: Node) -> Node:
    while node.operation in changes and node.inputs:
        node = node.inputs[0]
    return node


def _asks_for_one(node: Node) -> bool:
    least = node.operands[-1] if len(node.operands) == 2 else None
    if not isinstance(least, Constant) or node.operation not in _ASKING:
        return False
    return least.value == _ASKING[node.operation]


def _is_mapped(facts: SourceFacts, event: Event) -> bool:
    """Whether the choice is made for each element of a map on its own, here or elsewhere."""
    frames = [event.frame]
    for frame in event.frame.callers():
        frames += facts.record.runs.get(frame.function, []) if frame.function is not None else []
    regions = [frame.region for frame in frames if frame.region is not None]
    return any(it.kind in ("vmap", "pmap") for region in regions for it in region.chain())


_REDUCTIONS = frozenset("max min sum mean any all norm amax".split())


def _are_of_elements(facts: SourceFacts, event: Event, flags: Node, kept: SourceValue) -> bool:
    """Whether flags are one for each of several environments, not for the parts of one.

    They are called so, a map has made one for each of its lanes, or what they judge was reduced
    along an axis of its own, and holds nothing but what is kept: a comparison with others has
    their axes.
    """
    if any(map(is_episode_end, names_of(facts, flags, event.frame))):
        return True
    if any(it.operation.rpartition(".")[2] in _FAILURES for it in flags.ancestors()):
        return False  # Where a computation has failed, all of its result is void.
    if _is_of_lanes(flags) and all(_is_of_lanes(leaf.node) for leaf in leaves(kept)):
        return True
    reduced = [it for it in flags.ancestors() if it.operation.rpartition(".")[2] in _REDUCTIONS]
    own = _starts(*(leaf.node for leaf in leaves(kept)))
    return any(
        keyword.arg == "axis"
        for it in reduced
        if isinstance(it.syntax, ast.Call) and all(_is_part_of(one, own) for one in _starts(it))
        for keyword in it.syntax.keywords
    )


def _is_of_lanes(node: Node) -> bool:
    """Whether a map has put its lanes together to make a value."""
    region = stacked_over(node)
    return region is not None and region.kind in ("vmap", "pmap")


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
    facts: SourceFacts, event: Event, flags: Node, kept: SourceValue, fresh: SourceValue
) -> bool:
    """Whether the flags look at what is kept, and what replaces it has nothing to do with it."""
    own = {leaf.node for leaf in leaves(kept)}
    # What a map has put together for each lane is judged there.
    own |= {it for node in own if _is_of_lanes(node) for it in node.inputs}
    judged = made_from([flags])
    other = made_from([leaf.node for leaf in leaves(fresh)])
    if not own or own & other or flags in other:
        return False
    if not own.isdisjoint(judged):
        return True
    named = {name for leaf in leaves(fresh) for name in names_of(facts, leaf.node, event.frame)}
    words = {word for name in named for word in words_of(name)}
    is_flag = any(map(is_episode_end, names_of(facts, flags, event.frame)))
    return is_flag and not words.isdisjoint(_FRESH)


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
as soon as one environment is done, all of them start anew, in the middle of their episodes.

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
