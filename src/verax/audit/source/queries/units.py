"""Axes of size one: whether someone wrote them, or they came with the data."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..graph import Node
from ..operations import CASTS, MATMULS, MEANS, REDUCTIONS, SUMS, bare
from ..shapes.shape import rank, size_of
from .indices import index_parts, is_new_axis

if TYPE_CHECKING:
    from ..frame import Frame

_WRITTEN = frozenset("reshape expand_dims atleast_2d atleast_3d broadcast_to at newaxis".split())
# They give as many axes as they get: of what is taken along an axis, the axis of size one is left.
_KEPT = frozenset(("take_along_axis", "dynamic_slice_in_dim", "reduce_window"))
_PRODUCTS = bare(MATMULS) | frozenset("solve cho_solve solve_triangular triangular_solve".split())


def unit_origin(node: Node, axis: int) -> str:
    """Where an axis of size one, counted from the end, comes from.

    "written" if it was put there on purpose, "kept" by a reduction with `keepdims=True`, by what
    takes one element of an axis, or by a product for which it was put there, or empty: it came with
    the data.
    """
    return _origin(node, axis)[0]


def is_written_in(node: Node, axis: int, frame: Frame) -> bool:
    """Whether a function itself has put an axis of size one where it is: it sees the table."""
    return _origin(node, axis)[1].frame is frame


def kept_by_a_call(
    node: Node, axis: int, frame: Frame, users: dict[Node, list[Node]]
) -> Node | None:
    """The reduction that keeps an axis in a function which `frame` calls for nothing but this.

    A column that is taken elsewhere too is what the function is for.
    """
    origin, maker = _origin(node, axis)
    if origin != "kept" or maker.frame is None or maker.operation.rpartition(".")[2] in _KEPT:
        return None
    is_called = maker.frame is not frame and frame in maker.frame.callers()
    alike = (it.frame for it in users if it.syntax is maker.syntax)
    calls = {it.called_at for it in alike if it is not None and it.called_at is not None}
    is_alone = len(users.get(maker, ())) == 1 == len(calls)
    return maker if is_called and is_alone else None


def _origin(node: Node, axis: int) -> tuple[str, Node]:
    """Where an axis of size one comes from, in words, and what has made it."""
    written = "written"
    for _ in range(32):
        name = node.operation.rpartition(".")[2]
        is_indexed = node.operation == "item" and _is_put_there(node.syntax)
        # A slice along another axis leaves this one as it was.
        is_new = is_indexed and _with_unit(node, axis, node.inputs[:1]) is None
        if name in _WRITTEN or is_new or _is_literal(node.syntax):
            return written, node
        if name in _PRODUCTS:
            written = "kept"  # A vector was made a matrix for this, and for nothing after it.
        is_kept = name in REDUCTIONS or name in _KEPT
        # What is reduced or taken from comes first; indices say nothing of its other axes.
        before = _with_unit(node, axis, node.inputs[:1] if is_kept else node.inputs)
        if before is None:
            return ("kept" if is_kept else ""), node
        node = before
    return "", node


def one_by_chance(node: Node) -> int | None:
    """An axis of size one that data has brought, before one that was kept to be dropped."""
    shape = node.shape
    if not isinstance(shape, tuple) or all(size == 1 for size in shape):
        return None
    units = [at for at, size in enumerate(shape) if size == 1]
    origins = {at: unit_origin(node, at - len(shape)) for at in units}
    last = max((at for at in units if origins[at] == "kept"), default=0)
    return next((at for at in units if not origins[at] and at < last), None)


def is_only_averaged(
    node: Node,
    users: dict[Node, list[Node]],
    goes_on: Callable[[Node], bool] = lambda user: True,
) -> bool:
    """Whether a table of all pairs only ever is summed over all of its axes."""
    seen, reduced = {node}, False
    pending = [node]
    while pending and len(seen) < 64:
        for user in users.get(pending.pop(), ()):
            name = user.operation.rpartition(".")[2]
            if not goes_on(user):
                return False
            if name in REDUCTIONS and user.shape == ():
                reduced = True
            elif user.shape != node.shape:
                return False
            elif user not in seen:
                seen.add(user)
                pending.append(user)
    return reduced and not pending


def falls_apart(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether a table is summed that has no need to be one: the sum is one of sums along each axis.

    Who wants pairs does something with each before they are added up: takes a square, a mask.
    """
    return node.operation in ("*", "+", "-", "/") and is_only_averaged(node, users, _keeps_sums)


def _keeps_sums(user: Node) -> bool:
    """Whether an operation lets terms of a sum be added up apart."""
    if user.operation in ("*", "/"):
        return [it.shape for it in user.inputs].count(()) == len(user.inputs) - 1
    return user.operation in SUMS | MEANS | CASTS | {"+", "-", "-x"}


def _with_unit(node: Node, axis: int, sources: tuple[Node, ...]) -> Node | None:
    """The operand from which a result has its axis of size one, if it is of the same rank."""
    for source in sources:
        if rank(source.shape) == rank(node.shape) and size_of(source.shape, axis) == 1:
            return source
    return None


def _is_literal(syntax: ast.AST | None) -> bool:
    """Whether an array is written down with its brackets: `jnp.array([[0], [1]])`."""
    first = syntax.args[0] if isinstance(syntax, ast.Call) and syntax.args else None
    return isinstance(first, ast.List) and any(isinstance(it, ast.List) for it in first.elts)


def _is_put_there(syntax: ast.AST | None) -> bool:
    """Whether an index makes such an axis: `x[:, None]`, `x[:1]`."""
    return any(is_new_axis(it) or isinstance(it, ast.Slice) for it in index_parts(syntax))
