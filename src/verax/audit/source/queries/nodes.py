"""All that a program computes, and what becomes of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ...finding import Place
from ..events import Fact
from ..graph import Node
from ..operations import FLAGS, VIEWS
from ..remember import remembered
from ..values import nodes_of

if TYPE_CHECKING:
    from ..facts import SourceFacts
    from ..frame import Frame, Region

_SCALED = frozenset(("*", "/", "-x", "+x"))


@remembered
def all_nodes(facts: SourceFacts) -> list[Node]:
    """Everything that statements and returns are made from, in this file and what it calls."""
    return list(_walk(facts))


def nodes_by(facts: SourceFacts, operations: Collection[str]) -> Iterator[Node]:
    """All that some operations make, in the order of all nodes."""
    nodes, places = all_nodes(facts), _by_operation(facts)
    for at in sorted(at for it in operations for at in places.get(it, ())):
        yield nodes[at]


@remembered
def _by_operation(facts: SourceFacts) -> dict[str, list[int]]:
    """Where among all nodes those of each operation are."""
    found: dict[str, list[int]] = {}
    for at, node in enumerate(all_nodes(facts)):
        found.setdefault(node.operation, []).append(at)
    return found


def _walk(facts: SourceFacts) -> Iterator[Node]:
    seen: set[Node] = set()
    pending: list[Node] = []
    for frame in facts.frames:
        for _, value in (*frame.steps, *frame.returns):
            pending.extend(nodes_of(value))
        yield from _sources(pending, seen)
    yield from _sources(list(facts.record.open_ends), seen)


def _sources(pending: list[Node], seen: set[Node]) -> Iterator[Node]:
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending.extend(node.inputs)


@remembered
def users_of(facts: SourceFacts) -> dict[Node, list[Node]]:
    """What is made from what, directly."""
    users: dict[Node, list[Node]] = {}
    for node in all_nodes(facts):
        for source in node.inputs:
            users.setdefault(source, []).append(node)
    return users


def without_scale(node: Node) -> Node:
    """A value without the numbers that multiply it."""
    while node.operation in _SCALED and len(node.inputs) == 1:
        node = node.inputs[0]
    return node


def names_axis(node: Node) -> bool | None:
    """Whether a call that reduces names an axis; `None` if that cannot be seen."""
    call = node.syntax
    if not isinstance(call, ast.Call) or any(it.arg is None for it in call.keywords):
        return None
    is_method = node.operation.startswith("ndarray.")
    given = call.args[0 if is_method else 1 :]
    if any(isinstance(it, ast.Starred) for it in call.args):
        return None
    axis = next((it.value for it in call.keywords if it.arg == "axis"), given[0] if given else None)
    return axis is not None and not (isinstance(axis, ast.Constant) and axis.value is None)


# They leave a flag a flag, or turn it round.
_AS_FLAGS = VIEWS | {"-", "~x", "stack", "lane", "slice", "primal", "item", "jax.lax.stop_gradient"}


def is_flag(node: Node) -> bool:
    """Whether a value is the outcome of a comparison, also as a number, in lanes or negated."""
    node = turned_flag(node)
    return node.dtype == "bool" or node.operation in FLAGS


def turned_flag(node: Node) -> Node:
    """What a value is if it is a flag, without changes of its type and shape, and not negated."""
    for _ in range(12):
        if node.operation not in _AS_FLAGS or len(node.inputs) != 1:
            break
        node = node.inputs[0]
    return node


def stacked_over(node: Node) -> Region | None:
    """The loop or the map whose turns or lanes an array was put together from."""
    inside = node.inputs[0] if node.operation == "stack" and len(node.inputs) == 1 else None
    if inside is None:
        return None
    own = inside.varies - node.varies
    if len(own) == 1:
        return next(iter(own))
    around = set(node.region.chain()) if node.region is not None else set()
    regions = [it for it in inside.region.chain() if it not in around] if inside.region else []
    return regions[-1] if regions else None


def stacked_axis(node: Node) -> int:
    """The axis along which the lanes of a map lie in what they give together."""
    return int(node.label.removeprefix("axis ") or 0) if node.operation == "stack" else 0


def of_lane(node: Node) -> Node:
    """What one lane of a map has made of something that all lanes were put together to."""
    while (region := stacked_over(node)) is not None and region.kind in ("vmap", "pmap"):
        node = node.inputs[0]
    return node


def of_all_lanes(node: Node) -> Node:
    """What the lanes of a map have a share of; often the value itself."""
    node = of_lane(node)
    while node.operation == "lane" and node.inputs:
        node = node.inputs[0]
    return node


def position_in(frame: Frame, node: Node) -> ast.expr | ast.stmt | None:
    """Where in a frame's own function a node is made, be it by a call there."""
    inner, syntax = node.frame, node.syntax
    while inner is not None and inner is not frame:
        inner, syntax = inner.caller, inner.called_at
    return syntax if inner is frame and isinstance(syntax, (ast.expr, ast.stmt)) else None


def nodes_apart(facts: SourceFacts, one: Node, other: Node) -> tuple[Place, Place]:
    """Where two values are made, in the innermost call that holds them both."""
    events = [
        Fact(node.syntax, node.frame, "made", {})
        for node in (one, other)
        if node.syntax is not None and node.frame is not None
    ]
    if len(events) < 2:
        return Place("", 0), Place("", 0)
    return facts.places_apart(events[0], events[1])


def calls_around(node: Node) -> list[tuple[Frame, ast.AST]]:
    """The calls that a value is made in, innermost first, each with where in it."""
    if node.syntax is None or node.frame is None:
        return []
    return list(node.frame.calls_to(node.syntax))
