"""Rows that a loop reads in each turn at one place, while it ignores which turn it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Loop
from ...graph import Node, sources
from ...operations import ARITHMETIC
from ...remember import each
from ...shapes import Size
from ...shapes.semantics import ELEMENTWISE
from ...values import Constant, Data, nodes_of
from .bodies import behind, body_frame, named_at, paired_leaves
from .called import names_in
from .counters import bounds, sizes_of

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...frame import Frame

# Functions that take one element along an axis: the axis that they take if none is told.
_TAKES = {"jax.numpy.take": None, "ndarray.take": None, "jax.lax.dynamic_index_in_dim": 0}
_SAME = frozenset(("field", "lane", "primal"))


@dataclass(frozen=True, eq=False)
class FixedRow:
    """Where a body reads an element, and of which array."""

    place: Place
    array: Node


def fixed_rows(facts: SourceFacts, loop: Loop) -> Iterator[FixedRow]:
    """Elements at fixed positions of what the loop goes through, by slices or by a counter.

    The body has a name for its slice, or for the number of its turn, and reads neither. What is
    scanned may have been made row by row of the array that the element is of.
    """
    body = body_frame(facts, loop)
    if body is None or loop.returned is None:
        return
    used = behind(loop.returned)
    unread = [it for it in paired_leaves(loop.xs, loop.slices) if it[1].node not in used]
    wholes = _wholes([it for it, part in unread if _has_name(body, part.node)])
    fields = _wholes([it for it, part in unread if _is_field(body, part.node)])
    counted = list(_limits(facts, loop, body))
    if not wholes and not fields and not counted:
        return
    inside = {it for node in used if node.is_made_in(loop.region) for it in (node, *node.inputs)}
    for node in used & inside:
        axis = _fixed_axis(node) if loop.region not in node.varies else None
        array = node.inputs[0] if node.inputs else None
        if axis is None or array is None:
            continue
        is_first = not axis and (
            owner(array) in wholes or (owner(array) in fields and _is_taken_in(body, node))
        )
        if is_first or any(_counts(it, array, axis) for it in counted):
            is_own = node.frame is body
            place = None if is_own else named_at(body, node) or named_at(body, array)
            place = place or node.place
            if place is not None:
                yield FixedRow(place, array)


def _wholes(scanned: list[Data]) -> set[Node]:
    """What a loop goes through, and what that was made from row by row."""
    return {
        array
        for whole in scanned
        for array in sources([whole.node], _is_row_by_row)
        if array is whole.node or _is_as_large(array, whole.node)
    }


def _is_row_by_row(node: Node) -> bool:
    """Whether each row of a value is made of the rows with its number: `xs - origin`."""
    return node.operation in ELEMENTWISE or node.operation in ARITHMETIC


def _is_as_large(array: Node, whole: Node) -> bool:
    return isinstance(array.shape, tuple) and array.shape == whole.shape


def _has_name(body: Frame, part: Node) -> bool:
    """Whether a body calls something by a name that does not say that it is not needed."""
    return _are_meant(names_in(body, {part}).get(part, set()))


def _is_field(body: Frame, part: Node) -> bool:
    """Whether a body has something in a record that it is given."""
    return _are_meant({name for name, value in body.given.items() if part in nodes_of(value)})


def _are_meant(names: set[str]) -> bool:
    return bool(names) and not any(it.startswith("_") for it in names)


def _is_taken_in(body: Frame, row: Node) -> bool:
    """Whether a body itself takes an element, be it that somebody has taken the same before.

    What was taken outside, of a record of which the body needs other fields, was taken on purpose.
    """
    taken = ast.unparse(row.syntax) if isinstance(row.syntax, ast.Subscript) else None
    subscripts = each(body.function, ast.Subscript) if body.function is not None else ()
    return any(ast.unparse(it) == taken for it in subscripts)


def _limits(facts: SourceFacts, loop: Loop, body: Frame) -> Iterator[Size]:
    """The sizes up to which counters of a loop go that nothing is made from."""
    known = bounds(facts)
    shares = nodes_of(loop.slices) if loop.slices is not None else []
    carried = nodes_of(loop.carry_in) if loop.carry_in is not None else []
    returned = nodes_of(loop.returned) if loop.returned is not None else []
    for counter in (it for it in (*shares, *carried) if it in known):
        others = [it for it in returned if it.inputs != (counter,) or it.operation != "+"]
        limit = known[counter].limit
        if isinstance(limit, Size) and counter not in sources(others) and _has_name(body, counter):
            yield limit


def _counts(limit: Size, array: Node, axis: int) -> bool:
    """Whether a counter goes along an axis: only a size that is taken from there says so."""
    sizes = sizes_of(array)
    size = sizes[axis] if axis < len(sizes) else None
    return isinstance(size, Size) and not limit.symbols.isdisjoint(size.symbols)


def owner(node: Node) -> Node:
    """What a value is a part or the share of a lane of."""
    while node.operation in _SAME and node.inputs:
        node = node.inputs[0]
    return node


def _fixed_axis(node: Node) -> int | None:
    """The axis along which a value is an element whose number is written down."""
    syntax = node.syntax
    if node.operation == "item" and isinstance(syntax, ast.Subscript):
        index = syntax.slice
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        numbers = [at for at, it in enumerate(items) if _is_number(it)]
        plain = all(isinstance(it, ast.Slice) for at, it in enumerate(items) if at not in numbers)
        return numbers[0] if len(numbers) == 1 and plain else None
    if node.operation not in _TAKES or not isinstance(syntax, ast.Call):
        return None
    told = [it.value for it in syntax.keywords if it.arg == "axis"]
    axis = told[0].value if told and isinstance(told[0], ast.Constant) else _TAKES[node.operation]
    position = node.operands[1] if len(node.operands) > 1 else None
    is_fixed = isinstance(position, Constant) and type(position.value) is int
    return axis if is_fixed and type(axis) is int else None


def _is_number(index: ast.expr) -> bool:
    return ast.unparse(index).lstrip("-").isdigit()
