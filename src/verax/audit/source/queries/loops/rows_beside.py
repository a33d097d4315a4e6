"""Fixed rows of what is scanned that a body takes for its slice, while it reads the slice, too.

Much of that is meant: a distance from the first row, the step between two of them, a start. Such a
row meets the slice, another row, or is subtracted from something as it is. One that has been taken
for the slice meets the carry first: `h @ u + xs[0] @ w`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Loop
from ...frame import Frame, Region
from ...graph import Node, sources
from ...operations import COMPARISONS
from ...remember import walked
from ...values import Data, Value, nodes_of
from ..structures.structure import held
from .bodies import behind, body_frame, paired_leaves
from .fixed_rows import FixedRow

if TYPE_CHECKING:
    from ...facts import SourceFacts

_RELATIVE = COMPARISONS | {"-", "/"}
_CHOICES = ("where", "select", "cond", "switch", "concatenate", "stack", "join")


def rows_beside_slices(facts: SourceFacts, loop: Loop) -> Iterator[FixedRow]:
    """Rows that the body of a scan takes by number, and that meet its carry before its slice."""
    body = body_frame(facts, loop) if loop.kind == "scan" and loop.carry_in is not None else None
    if body is None or loop.returned is None or loop.slices is None:
        return
    used = behind(loop.returned)
    wholes = [it.node for it, part in paired_leaves(loop.xs, loop.slices) if part.node in used]
    written = [(it, row) for whole in wholes for it, row in _written_rows(body, whole)]
    if not written:
        return
    readers = _readers(used, loop.region)
    shares = set(nodes_of(loop.slices))
    for syntax, row in written:
        others = {it for _, it in written if it is not row} | shares
        if row in used and _meets_carry(row, readers, loop.region, others):
            yield FixedRow(body.place(syntax), row.inputs[0])


def _written_rows(body: Frame, whole: Node) -> Iterator[tuple[ast.Subscript, Node]]:
    """The elements of an array from outside that a function takes by their numbers.

    One that was taken before is the same value: only the syntax says that it is taken here again.
    """
    rows = whole.children or {}
    for node in walked(body.function) if body.function is not None and rows else ():
        number = ast.unparse(node.slice) if isinstance(node, ast.Subscript) else ""
        row = rows.get(("item", ("constant", int(number)))) if number.isdigit() else None
        if row is None or not isinstance(node, ast.Subscript):
            continue
        array = _known(body, node.value)
        if isinstance(array, Data) and array.node is whole:
            yield node, row


def _known(body: Frame, written: ast.expr) -> Value | None:
    """What a function, or one around it, has under a name or as a part of that."""
    scope: Frame | None = body
    while scope is not None:
        value = held(scope, written)
        if value is not None:
            return value
        scope = scope.outer
    return None


def _readers(used: set[Node], region: Region) -> dict[Node, list[Node]]:
    """What a loop makes of each value."""
    found: dict[Node, list[Node]] = {}
    for node in used:
        for source in dict.fromkeys(node.inputs) if node.is_made_in(region) else ():
            found.setdefault(source, []).append(node)
    return found


def _meets_carry(
    row: Node, readers: dict[Node, list[Node]], region: Region, others: set[Node]
) -> bool:
    """Whether a row, or what is made of it alone, meets nothing but what the carry brings."""
    met: list[bool] = []
    pending = [row]
    for node in pending:
        for reader in readers.get(node, ()):
            if reader.operation == "static" or reader.operation.endswith("_like"):
                continue
            beside = sources(it for it in reader.inputs if it is not node)
            if not beside.isdisjoint(others):
                return False
            if region not in reader.varies:
                pending += [reader] if reader not in pending else []
                continue
            is_compared = node is row and reader.operation in _RELATIVE
            is_chosen = reader.operation.rpartition(".")[2] in _CHOICES
            met.append(not is_compared and not is_chosen)
    return bool(met) and all(met)
