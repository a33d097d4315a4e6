"""Operations that relate neighbours along an axis: running sums, differences."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Fact
from ...graph import Node
from ...shapes.shape import rank
from ...text import text_of
from ...values import Constant, Data, Sequence, leaves
from ..arrays import argument, axis_argument, calls_of
from ..indices import index_parts
from ..nodes import all_nodes
from ..written import decided_at

if TYPE_CHECKING:
    from ...facts import SourceFacts

_CUMULATIVE = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


def neighbour_relations(facts: SourceFacts) -> Iterator[tuple[Place, Data, int, str]]:
    """What is done along an axis that only makes sense in order: where, to what, which axis."""
    for call in calls_of(facts, *_CUMULATIVE, "diff"):
        name = call.name.rpartition(".")[2]
        array = call.args[0] if call.args else None
        position, default = (2, -1) if name == "diff" else (1, 0 if "lax" in call.name else None)
        axes = axis_argument(call, position, default)
        if isinstance(array, Data) and axes is not None and len(axes) == 1:
            along = argument(call, position, "axis")
            yield decided_at(call, along), array, axes[0], f"a {name}"
    yield from _associative_scans(facts)
    for node in all_nodes(facts):
        found = _difference(node)
        if found is not None and node.place is not None:
            array, axis = found
            yield node.place, Data(array), axis, "a difference of neighbours"


def _associative_scans(facts: SourceFacts) -> Iterator[tuple[Place, Data, int, str]]:
    for fact in facts.events(Fact):
        if fact.kind != "associative scan":
            continue
        axis = fact.data["axis"]
        number = axis.value if isinstance(axis, Constant) else None
        for leaf in leaves(fact.data["elements"]):
            count = rank(leaf.node.shape)
            if count and isinstance(number, int) and -count <= number < count:
                yield decided_at(fact, axis), leaf, number % count, "an associative scan"


def shifts(facts: SourceFacts) -> Iterator[tuple[Place, Data, int, str]]:
    """Where an array is moved on by one along an axis, with something put in front or behind."""
    for call in calls_of(facts, "concatenate", "append"):
        parts = call.args[0] if call.name.endswith("concatenate") and call.args else None
        items = (parts.items if isinstance(parts, Sequence) else call.args[:2]) or []
        given = argument(call, 1 if parts is not None else 2, "axis")
        along = 0 if given is None else getattr(given, "value", None)
        for item in items if len(items) == 2 else ():
            if not isinstance(item, Data):
                continue
            found = _shifted(item.node)
            count = rank(found[0].shape) if found is not None else None
            if found is None or count is None or type(along) is not int or -count > along:
                continue
            if found[1] == along % count and _is_by_one(item.node):
                yield decided_at(call, given), Data(found[0]), found[1], "a shift"
    for call in calls_of(facts, "roll"):
        by, axes = argument(call, 1, "shift"), axis_argument(call, 2, None)
        array = call.args[0] if call.args else None
        is_one = isinstance(by, Constant) and by.value in (1, -1)
        if isinstance(array, Data) and is_one and axes is not None and len(axes) == 1:
            along = argument(call, 2, "axis")
            yield decided_at(call, along), array, axes[0], "a roll"


def _is_by_one(part: Node) -> bool:
    """Whether a slice leaves out one element: `x[1:]`, `x[:-1]`."""
    cuts = [it for it in index_parts(part.syntax) if isinstance(it, ast.Slice)]
    bounds = [bound for it in cuts for bound in (it.lower, it.upper) if bound is not None]
    return [text_of(it) for it in bounds] in (["1"], ["-1"])


def _difference(node: Node) -> tuple[Node, int] | None:
    """The array and axis of `x[1:] - x[:-1]`."""
    if node.operation != "-" or len(node.inputs) != 2:
        return None
    first, second = (_shifted(it) for it in node.inputs)
    if first is None or second is None or first[:2] != second[:2] or first[2] == second[2]:
        return None
    count = rank(first[0].shape)
    return first[:2] if count is not None and first[1] < count else None


def _shifted(node: Node) -> tuple[Node, int, bool] | None:
    """The array, the axis, and whether its first element is left out and not its last."""
    if node.operation != "item" or not node.inputs:
        return None
    cut: list[tuple[int, bool]] = []
    for axis, part in enumerate(index_parts(node.syntax)):
        if not isinstance(part, ast.Slice) or part.step is not None:
            return None
        if part.lower is not None or part.upper is not None:
            cut.append((axis, part.lower is not None))
    return (node.inputs[0], *cut[0]) if len(cut) == 1 else None
