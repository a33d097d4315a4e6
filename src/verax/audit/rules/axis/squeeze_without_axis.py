"""A squeeze without an axis drops whatever happens to have size one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Place, Severity
from ...source.axes import names_of
from ...source.queries.arrays import array_in_words, calls_of
from ...source.queries.loops.maps import is_called_for_real
from ...source.queries.nodes import users_of
from ...source.queries.units import one_by_chance
from ...source.shapes.names import is_declared, name_of
from ...source.values import Data
from ...words import is_batch
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.shapes import Dim
    from ...trace.facts import Facts
    from ...trace.program import Step


def check(facts: Facts) -> Iterator[Verdict]:
    """Squeezes that were given no axis, and drop one that has a meaning."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if step.primitive != "squeeze" or step.place is None:
            continue
        value = step.inputs[0]
        names = facts.axes.names(value)
        dropped = [names[index] for index in step.params["dimensions"]]
        lost = [name for name in dropped if name]
        # A single one at the end, with the others in place, is what was meant.
        only_last = step.params["dimensions"] == (len(names) - 1,)
        by_chance = [] if lost else _one_by_chance(facts, step)
        if not (lost or by_chance) or only_last or not _squeezes_all(facts, step.place):
            continue
        if by_chance:
            yield RULE.finding(
                step.place,
                current=_BY_CHANCE.format(array=tensor_of(facts, value), axis=by_chance[0]),
                expected=_STAYS.format(axis=by_chance[0]),
                fix=_FIX,
                confidence=Confidence.LIKELY,
            )
            continue
        yield RULE.finding(
            step.place,
            current=f"squeeze() of {tensor_of(facts, value)} drops every axis of size one, among "
            f"them {' and '.join(lost)}",
            expected=f"{lost[0]} stays an axis, also when its size is one",
            fix=_FIX,
        )


def _one_by_chance(facts: Facts, step: Step) -> list[int]:
    """Axes of size one that data has brought, before one that was kept in order to be dropped.

    The latter is what a reduction with `keepdims` leaves, or a slice of one element.
    """
    value, dropped = step.inputs[0], step.params["dimensions"]
    units = [axis.unit for axis in facts.axes[value]]
    kept = [index for index in dropped if units[index] in ("reduced", "indexed")]
    is_all = len(dropped) == len(value.shape)
    return [it for it in dropped if kept and not is_all and not units[it] and it < kept[-1]]


def _squeezes_all(facts: Facts, place: Place) -> bool:
    """Whether the source has a call of squeeze there that names no axis."""
    statement = facts.sources.statement(place)
    if statement is None:
        return False
    try:
        tree = ast.parse(statement.text.rstrip(":\\"))
    except SyntaxError:
        return False
    return any(_is_bare(node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _is_bare(call: ast.Call) -> bool:
    """`x.squeeze()` or `jnp.squeeze(x)`."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "squeeze") or call.keywords:
        return False
    of_module = isinstance(call.func.value, ast.Name) and call.func.value.id in _MODULES
    return len(call.args) == int(of_module)


_BY_CHANCE = "squeeze() of {array} drops axis {axis} as well, which only these inputs make one"
_STAYS = "axis {axis} stays, also when its size is one"
_FIX = "name the axis that is meant to go, as in `axis=-1`"


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Squeezes without an axis of arrays whose axes are named, where a run tells their sizes."""
    bare = [
        call
        for call in calls_of(facts, "squeeze")
        if len(call.args) == 1 and not call.keywords and isinstance(call.args[0], Data)
    ]
    sizes: dict[ast.AST, list[tuple[Dim, ...]]] = {}
    for call in bare:
        shape = call.args[0].node.shape  # type: ignore[attr-defined]
        if isinstance(shape, tuple):
            sizes.setdefault(call.syntax, []).append(shape)
    for call in bare:
        array = call.args[0]
        assert isinstance(array, Data)
        names = names_of(array.node.shape)
        is_named = any(name_of(dim) for it in sizes.get(call.syntax, ()) for dim in it)
        is_real = is_called_for_real(call.frame) and not is_named
        by_chance = one_by_chance(array.node) if is_real else None
        if is_real and _drops_both_ends(array.node.shape):
            yield _both_ends(facts, call, array)
        elif by_chance is not None:
            yield RULE.finding(
                call.place,
                current=_BY_CHANCE.format(array=array_in_words(facts, array), axis=by_chance),
                expected=_STAYS.format(axis=by_chance),
                fix=_FIX,
                confidence=Confidence.LIKELY,
                engine=Engine.SOURCE,
            )
            continue
        elif _drops_lanes(array.node) and is_called_for_real(call.frame):
            yield RULE.finding(
                call.place,
                current=f"squeeze() of {array_in_words(facts, array)} drops every axis of size "
                "one, among them the one that was mapped over",
                expected="the axis of the map stays, also when there is one lane",
                fix=_FIX,
                engine=Engine.SOURCE,
            )
            continue
        elif _maps_lanes_again(facts, call, array.node):
            yield RULE.finding(
                call.place,
                current=f"squeeze() of {array_in_words(facts, array)} drops the axis of the map "
                "that it comes from as well, where there is one lane; another map needs it",
                expected="the axis of the map stays, also when there is one lane",
                fix=_FIX,
                confidence=Confidence.LIKELY,
                engine=Engine.SOURCE,
            )
            continue
        dropped = [
            at
            for at, name in enumerate(names)
            if name and any(len(it) == len(names) and it[at] == 1 for it in sizes[call.syntax])
        ]
        if not dropped and not is_called_for_real(call.frame) and _may_drop(array.node.shape):
            yield _may_go(facts, call, array)
        if not dropped or dropped == [len(names) - 1]:
            continue
        lost = [names[at] for at in dropped]
        yield RULE.finding(
            call.place,
            current=f"squeeze() of {array_in_words(facts, array)} drops every axis of size one, "
            f"among them {' and '.join(lost)}",
            expected=f"{lost[0]} stays an axis, also when its size is one",
            fix=_FIX,
            engine=Engine.SOURCE,
        )


def _drops_lanes(node: Node) -> bool:
    """Whether the results of a map with one lane lose its axis, next to one of their own."""
    shape = node.shape
    if node.operation != "stack" or not isinstance(shape, tuple) or not node.inputs:
        return False
    over = node.inputs[0].varies - node.varies
    return shape[:1] == (1,) and 1 in shape[1:] and any(it.kind == "vmap" for it in over)


def _maps_lanes_again(facts: SourceFacts, call: Call, node: Node) -> bool:
    """Whether the results of a map, of any number of lanes, are squeezed and mapped over again."""
    if node.operation != "stack" or not node.inputs or not isinstance(call.result, Data):
        return False
    over = node.inputs[0].varies - node.varies
    size = node.shape[0] if isinstance(node.shape, tuple) and node.shape else None
    if isinstance(size, int) or not any(it.kind == "vmap" for it in over):
        return False
    return any(it.operation == "lane" for it in users_of(facts).get(call.result.node, ()))


def _may_drop(shape: object) -> bool:
    """Whether an axis of size one goes, beside a declared batch of any size."""
    if not isinstance(shape, tuple) or 1 not in shape:
        return False
    return any(is_declared(dim) and is_batch(name_of(dim)) for dim in shape)


def _may_go(facts: SourceFacts, call: Call, array: Data) -> Finding:
    batch = next(name for name in names_of(array.node.shape) if is_batch(name))
    return RULE.finding(
        call.place,
        current=f"squeeze() of {array_in_words(facts, array)} drops {batch} as well, where its "
        "size is one",
        expected=f"{batch} stays an axis, also when its size is one",
        fix=_FIX,
        confidence=Confidence.LIKELY,
        engine=Engine.SOURCE,
    )


def _drops_both_ends(shape: object) -> bool:
    """Whether a leading and a trailing axis of size one go, with others between them that stay."""
    if not isinstance(shape, tuple) or len(shape) < 3:
        return False
    return shape[0] == 1 and shape[-1] == 1 and any(it != 1 for it in shape[1:-1])


def _both_ends(facts: SourceFacts, call: Call, array: Data) -> Finding:
    return RULE.finding(
        call.place,
        current=f"squeeze() of {array_in_words(facts, array)} drops its leading axis, a batch of "
        "one, together with the last",
        expected="the batch stays an axis, also when its size is one",
        fix=_FIX,
        confidence=Confidence.LIKELY,
        engine=Engine.SOURCE,
    )


_MODULES = {"jnp", "np", "numpy", "jax", "lax"}

RULE = Rule(
    code="AX004",
    name="squeeze-without-axis",
    title="A squeeze without an axis drops an axis that has a meaning",
    family="axis",
    severity=Severity.CRITICAL,
    explanation="""\
`x.squeeze()` removes every axis of size one. Code that means to drop the last axis of a value head
also drops the batch when it is evaluated on a single example, and what follows reduces over the
wrong axis.

Reported where a declared axis is dropped that way, and where a declared batch would be if
its size were one.""",
    wrong="""\
import jax.numpy as jnp

AXES = {"w": "feat out", "obs": "batch time feat"}


def entry(w, obs):
    return (obs @ w).squeeze().mean(axis=0)


def inputs():
    return jnp.ones((3, 1)), jnp.ones((1, 6, 3))
""",
    right="""\
import jax.numpy as jnp

AXES = {"w": "feat out", "obs": "batch time feat"}


def entry(w, obs):
    return (obs @ w).squeeze(axis=-1).mean(axis=0)


def inputs():
    return jnp.ones((3, 1)), jnp.ones((1, 6, 3))
""",
    trace=check,
    source=check_source,
)
