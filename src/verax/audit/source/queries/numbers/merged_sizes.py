"""Axes that a reshape has merged, as they were before it."""

from __future__ import annotations

from ...graph import Node
from ...shapes import Shape, Size
from ...shapes.dims import Dim
from ...shapes.reshaping import regroup
from ...shapes.semantics.pointwise import TABLE as POINTWISE

_MERGING = frozenset(("reshape", "ravel", "flatten"))
# They leave elements of the axes that they keep in order.
_KEEPING = frozenset("@ field join turn carry last primal copy item".split())
_FUNCTIONS = frozenset(
    "matmul dot einsum astype squeeze softmax log_softmax mean sum max min layer_norm".split()
)
_MOST = 200


def taken_apart(node: Node) -> Shape:
    """The shape of an array in which axes that were merged stand as the ones that they were."""
    if not isinstance(node.shape, tuple):
        return node.shape
    found: list[Dim] = []
    for dim in node.shape:
        found += _parts(node, dim) if _is_product(dim) and node.shape.count(dim) == 1 else (dim,)
    return tuple(found)


def _is_product(dim: Dim) -> bool:
    return isinstance(dim, Size) and len(dim.terms) == 1 and len(dim.terms[0][0]) > 1


def _parts(node: Node, dim: Dim) -> tuple[Dim, ...]:
    """The sizes that were merged into one, where nothing has changed the order since."""
    current: Node | None = node
    for _ in range(_MOST):
        if current is None:
            break
        if current.operation.rpartition(".")[2] in _MERGING and current.inputs:
            source = current.inputs[0]
            at = current.shape.index(dim)
            groups = regroup(source.shape, current.shape) or ()
            olds = next((it.old_axes for it in groups if it.new_axes == (at,)), ())
            if len(olds) > 1:
                return tuple(source.shape[axis] for axis in olds)
        elif not _keeps_order(current):
            break
        current = next((it for it in current.inputs if _has(it, dim)), None)
    return (dim,)


def _has(node: Node, dim: Dim) -> bool:
    return isinstance(node.shape, tuple) and node.shape.count(dim) == 1


def _keeps_order(node: Node) -> bool:
    """Whether elements along the axes that are kept are where they were."""
    operation = node.operation
    if operation == "item":
        return len(node.inputs) == 1  # A second one is an array of indices.
    if operation in _KEEPING or operation in POINTWISE or operation.startswith("jax.nn."):
        return True
    name = operation.rpartition(".")[2]
    return name in _FUNCTIONS or not name.isidentifier()
