"""Vectors that hold all numbers of a tree, and the pieces that a program cuts out of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...events import Call, Fact
from ...facts import SourceFacts
from ...graph import Node, sources
from ...library.flattening import leaves_in_order
from ...operations import ARITHMETIC, CASTS, CLIPS, SELECTIONS
from ...remember import remembered
from ...shapes.dims import Dim, add, differ, product, sub
from ...shaping import described
from ...values import Constant, Data, Sequence, Value
from ..names import named_parts
from .placing import Path, is_name_of, paths_of

# They leave each number of a vector where it is.
_KEEPS_PLACES = (
    CASTS
    | SELECTIONS
    | CLIPS
    | ARITHMETIC
    | frozenset("turn carry primal join last copy element jax.lax.stop_gradient".split())
)
_LARGEST = 64


class Piece(NamedTuple):
    """Numbers of a vector, from one position up to another, and what they are cut from."""

    start: Dim
    stop: Dim
    of: Node
    made: Node


class WrongPiece(NamedTuple):
    """A piece of a vector that is taken for a leaf, whose numbers are elsewhere."""

    piece: Piece
    leaf: Path
    start: Dim
    stop: Dim
    call: Call


class _Layout(NamedTuple):
    """Where the leaves of a tree are in the vector of all its numbers."""

    call: Call
    leaves: dict[Path, tuple[Dim, Dim]]

    @property
    def size(self) -> Dim:
        return list(self.leaves.values())[-1][1]


def wrong_pieces(facts: SourceFacts) -> Iterator[WrongPiece]:
    """Pieces of a vector made by `ravel_pytree` that are not the leaves they are taken for.

    What a piece is taken for tells its name, or its size, where all pieces together are as large as
    the leaves are, but come in another order.
    """
    layouts = {
        call.result.items[0].node: layout
        for call in facts.calls(("jax.flatten_util.ravel_pytree",))
        if isinstance(call.result, Sequence) and call.result.items and call.args
        if isinstance(call.result.items[0], Data)
        if (layout := _layout(call)) is not None
    }
    told: set[ast.AST | None] = set()
    for whole, pieces in _pieces_by_vector(facts, layouts).items() if layouts else ():
        layout = _layout_of(whole, layouts)
        found = layout and (_misnamed(facts, pieces, layout) or _permuted(pieces, layout))
        if found and found.piece.made.syntax not in told:
            told.add(found.piece.made.syntax)
            yield found


def _layout(call: Call) -> _Layout | None:
    leaves, paths = leaves_in_order(call.args[0]), list(paths_of(call.args[0]))
    if leaves is None or not 1 < len(leaves) == len(paths) <= _LARGEST:
        return None
    found: dict[Path, tuple[Dim, Dim]] = {}
    start: Dim = 0
    for path, leaf in zip(paths, leaves, strict=True):
        shape = described(leaf).shape
        stop = add(start, product(shape)) if isinstance(shape, tuple) else None
        if stop is None:
            return None
        found[path] = start, stop
        start = stop
    return _Layout(call, found)


def _layout_of(vector: Node, layouts: dict[Node, _Layout]) -> _Layout | None:
    """The layout of what a vector is computed from number by number, if there is only one."""
    reached = sources([vector], lambda it: it.operation in _KEEPS_PLACES and it not in layouts)
    found = [layouts[it] for it in reached if it in layouts]
    same = found and all(it.leaves == found[0].leaves for it in found)
    return found[0] if same else None


def _pieces_by_vector(facts: SourceFacts, layouts: dict[Node, _Layout]) -> dict[Node, list[Piece]]:
    """The pieces with fixed bounds that are cut out of each vector of a tree's numbers."""
    found: dict[Node, list[Piece]] = {}
    for base, made, index in _cuts(facts):
        layout = _layout_of(base, layouts)
        bounds = layout and _bounds(index, layout.size)
        if bounds:
            found.setdefault(base, []).append(Piece(*bounds, base, made))
    for vector, pieces in found.items():
        for number, node in _items(vector):
            pieces.append(Piece(number, number + 1, vector, node))
    return found


def _cuts(facts: SourceFacts) -> Iterator[tuple[Node, Node, list[Value]]]:
    """What is cut, what comes of it, and the bounds between which that is."""
    for fact in facts.events(Fact):
        index = fact.data["index"] if fact.kind == "indexed" else None
        if isinstance(index, Sequence) and index.kind == "slice":
            yield fact.data["base"].node, fact.data["result"].node, index.items or []
    for call in facts.calls(("jax.numpy.split",)):
        base, at = [*call.args, None, None][:2]
        if isinstance(base, Data) and isinstance(at, Sequence) and isinstance(call.result, Data):
            bounds = [Constant(None), *(at.items or ()), Constant(None)]
            for number, node in _items(call.result.node):
                if number + 1 < len(bounds):
                    yield base.node, node, [*bounds[number : number + 2], Constant(None)]


def _items(node: Node) -> Iterator[tuple[int, Node]]:
    """The single elements that are taken of something, by their numbers."""
    for key, child in (node.children or {}).items():
        match key:
            case ("item", ("constant", int(number))) if number >= 0:
                yield number, child
            case _:
                pass


def _bounds(index: list[Value], size: Dim) -> tuple[Dim, Dim] | None:
    """From where to where a slice without steps goes."""
    parts = [it.value for it in index if isinstance(it, Constant)]
    if len(parts) != 3 or parts[2] not in (None, 1):
        return None
    start, stop = parts[0] or 0, size if parts[1] is None else parts[1]
    return _from_the_front(start, size), _from_the_front(stop, size)


def _from_the_front(bound: Dim, size: Dim) -> Dim:
    return add(size, bound) if isinstance(bound, int) and bound < 0 else bound


def _misnamed(facts: SourceFacts, pieces: list[Piece], layout: _Layout) -> WrongPiece | None:
    """A piece that has the name of a leaf, or of no other, and is not where that leaf is."""
    keys = {path[-1]: path for path in layout.leaves if path}
    if len(keys) < len(layout.leaves):
        return None
    names = _names(facts)
    for piece in pieces:
        meant = {
            max((key for key in keys if is_name_of(name, key)), key=len, default="")
            for name in names.get(piece.made, ())
        } - {""}
        path = keys[meant.pop()] if len(meant) == 1 else None
        if path is not None and _is_elsewhere(piece, layout.leaves[path]):
            return WrongPiece(piece, path, *layout.leaves[path], layout.call)
    return None


def _is_elsewhere(piece: Piece, leaf: tuple[Dim, Dim]) -> bool:
    """Whether a piece is as long as a leaf, which may have parts as well, and not where that is."""
    start, stop = leaf
    is_as_long = sub(piece.stop, piece.start) == sub(stop, start)
    return is_as_long and differ(piece.start, start)


def _permuted(pieces: list[Piece], layout: _Layout) -> WrongPiece | None:
    """The first of the pieces that together are the vector, in the leaves' sizes but not order."""
    by_start = {it.start: it for it in pieces}
    ordered: list[Piece] = []
    position: Dim = 0
    while position in by_start and len(ordered) < len(layout.leaves):
        ordered.append(by_start[position])
        position = ordered[-1].stop
    sizes = [sub(it.stop, it.start) for it in ordered]
    wanted = [sub(stop, start) for start, stop in layout.leaves.values()]
    if position != layout.size or len(by_start) != len(ordered) or sizes == wanted:
        return None
    if sorted(map(repr, sizes)) != sorted(map(repr, wanted)):
        return None
    at = next(i for i, size in enumerate(sizes) if size != wanted[i])
    path = next(it for it, (a, b) in layout.leaves.items() if sub(b, a) == sizes[at])
    return WrongPiece(ordered[at], path, *layout.leaves[path], layout.call)


@remembered
def _names(facts: SourceFacts) -> dict[Node, set[str]]:
    """What values are called where they are assigned, put into a container, or handed on."""
    found: dict[Node, set[str]] = {}
    for frame in facts.frames:
        for name, value in frame.given.items():
            _name(found, name, value)
        for statement, value in (*frame.steps, *frame.returns):
            for target in statement.targets if isinstance(statement, ast.Assign) else ():
                _name_parts(found, target, value)
            for name, node in named_parts(value):
                found.setdefault(_piece_in(node), set()).add(name)
    return found


def _name(found: dict[Node, set[str]], name: str, value: Value) -> None:
    if isinstance(value, Data):
        found.setdefault(_piece_in(value.node), set()).add(name)


def _name_parts(found: dict[Node, set[str]], target: ast.expr, value: Value) -> None:
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, Sequence):
        for inner, item in zip(target.elts, value.items or (), strict=False):
            _name_parts(found, inner, item)
    elif isinstance(target, ast.Name):
        _name(found, target.id, value)


def _piece_in(node: Node) -> Node:
    """What something with one name is computed from alone: `jnp.exp(flat[:n])`."""
    while node.operation != "item" and len(node.inputs) == 1:
        node = node.inputs[0]
    return node
