"""Operations that relate neighbours along an axis: running sums, differences."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Fact
from ...graph import Node
from ...shapes.shape import rank
from ...values import Constant, Data, leaves
from ..arrays import axis_argument, calls_of
from ..indices import index_parts
from ..nodes import all_nodes

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
            yield call.place, array, axes[0], f"a {name}"
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
                yield fact.place, leaf, number % count, "an associative scan"


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
