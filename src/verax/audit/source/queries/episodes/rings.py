"""Buffers that are written in a circle: a position, and how much of the buffer is filled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...frame import Frame
from ...graph import Node
from ...operations import CLIPS, MINIMA
from ...remember import remembered
from ...values import Constant, Data, Value, nodes_of
from .updates import own_parts, records_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

_WRITES = frozenset(
    "at.set jax.lax.dynamic_update_slice jax.lax.dynamic_update_slice_in_dim "
    "jax.lax.dynamic_update_index_in_dim".split()
)
_ROUND = frozenset(("%", "jax.numpy.mod", "jax.numpy.remainder", "jax.lax.rem"))
_LEAST = MINIMA | CLIPS
_LIMITS = _ROUND | _LEAST


@dataclass(frozen=True, eq=False)
class Ring:
    """A new version of a buffer of which one part counts up to a limit, and stays there.

    So more is written than there is room for. `written` are the names of its arrays, `at` where
    these are written, `position` the part of the last version that this is made from.
    """

    frame: Frame
    syntax: ast.AST
    parts: dict[str, Node]
    filled: str
    written: dict[str, Node]
    at: Node
    position: Node
    position_name: str

    def counts_otherwise(self) -> bool:
        """Whether the position moves by another number than what counts the rows."""
        moved = self.parts.get(self.position_name)
        moves, counted = _step(moved), _step(self.parts[self.filled])
        if moves is None or counted is None:
            return False
        if isinstance(moves, Constant) and isinstance(counted, Constant):
            return bool(moves.value != counted.value)
        return isinstance(moves, Constant) is not isinstance(counted, Constant)


def _step(node: Node | None) -> Value | None:
    """What is added to a number before it starts anew, or is kept below a limit."""
    if node is None or node.operation not in _LIMITS:
        return None
    total = next((it for it in node.inputs if it.operation == "+"), None)
    if total is None or len(total.operands) != 2:
        return None
    steps = [it for it in total.operands if not (isinstance(it, Data) and _part_name(it.node))]
    return steps[0] if len(steps) == 1 else None


@remembered
def rings(facts: SourceFacts) -> list[Ring]:
    """All new versions of such buffers."""
    has_limit = any(name in _LEAST for name in facts.calls_by_name)
    return list(_rings(facts)) if has_limit else []


def _rings(facts: SourceFacts) -> Iterator[Ring]:
    for frame, syntax, parts in _versions(facts):
        filled = [name for name, node in parts.items() if _saturates(node, name)]
        at_rows = {name: _row_of(node) for name, node in parts.items()}
        written = {name: parts[name] for name, row in at_rows.items() if row is not None}
        places = {row for row in at_rows.values() if row is not None}
        if len(filled) != 1 or len(places) != 1:
            continue
        at = places.pop()
        found = [it for it in _counted_from(at) if _part_name(it) and not _is_size(it, parts)]
        if len(found) == 1 and _part_name(found[0]) != filled[0]:
            name = _part_name(found[0])
            yield Ring(frame, syntax, parts, filled[0], written, at, found[0], name)


def _counted_from(row: Node) -> set[Node]:
    """What a row is counted from; not the size after which counting begins anew."""
    found, pending = {row}, [row]
    while pending:
        node = pending.pop()
        new = node.inputs[:1] if node.operation in _ROUND else node.inputs
        pending += [it for it in new if it not in found]
        found.update(new)
    return found


def _row_of(node: Node) -> Node | None:
    """Where an array is written, if a value is an array with something written into it."""
    if node.operation in _WRITES:
        return node.inputs[1] if len(node.inputs) > 2 else None
    # Of something that may be a tree: `tree.at[i].set(x)`.
    row = node.inputs[0] if node.operation == ".set" and node.inputs else None
    if row is None or row.operation != "item" or len(row.inputs) != 2:
        return None
    return row.inputs[1] if row.inputs[0].label == "at" else None


def _versions(facts: SourceFacts) -> Iterator[tuple[Frame, ast.AST, dict[str, Node]]]:
    """The records that functions of the file make, be it by replacing parts of another one."""
    # With what is not known, so that parts have the names of their fields. A function within
    # another one may be run by a loop only.
    apart = {it.function for it in facts.own_frames if it.region is None}
    for frame in facts.own_frames:
        if frame.region is None or frame.function not in apart:
            for syntax, value in frame.returns:
                for state in records_in(value):
                    yield frame, syntax, _nodes(own_parts(state))
    names = [it for it in facts.calls_by_name if it.rpartition(".")[2] in ("replace", "_replace")]
    for call in facts.calls(names):
        is_apart = call.frame.region is None or call.frame.function not in apart
        if call.frame.module is facts.module and is_apart:
            yield call.frame, call.syntax, _nodes(call.keywords)


def _nodes(parts: dict[str, Value]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for name, value in parts.items():
        if isinstance(value, Data):
            found[name] = value.node
        else:
            found |= {f"{name}.{i}": node for i, node in enumerate(nodes_of(value))}
    return found


def _part_name(node: Node) -> str:
    """The name by which something is a part of an argument."""
    if node.operation == "field":
        return node.label
    is_key = node.operation == "item" and node.label.startswith(("'", '"'))
    if node.operation == "static" and node.label == "size":
        return node.label  # An attribute of arrays, and a good name for how many there are.
    return node.label.strip("'\"") if is_key else ""


_SIZES = frozenset("capacity size max_size buffer_size maxlen slots".split())


def _is_size(node: Node, parts: dict[str, Node]) -> bool:
    """Whether a part is one of the numbers that say how large a buffer is."""
    if parts.get(_part_name(node), node) is not node:
        return False  # The next version has another one in its place.
    owner = node.inputs[0] if node.inputs else None
    is_config = owner is not None and owner.label in ("config", "cfg", "self", "settings", "args")
    return is_config or _part_name(node) in _SIZES


def _saturates(node: Node, name: str) -> bool:
    """Whether a part is the last one of its name and something more, up to a limit."""
    if node.operation not in _LEAST:
        return False
    sums = [it for it in node.inputs if it.operation == "+"]
    return any(_part_name(it) == name for total in sums for it in total.inputs)
