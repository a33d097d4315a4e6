"""Axes that a reshape has merged, as they were before it."""

from __future__ import annotations

from ...graph import Node
from ...library.layers import keeps_examples
from ...operations import CONTRACTIONS, REDUCTIONS, bare
from ...shapes import Shape, Size
from ...shapes.dims import Dim
from ...shapes.reshaping import regroup
from ...shapes.semantics import ELEMENTWISE

MERGING = frozenset(("reshape", "ravel", "flatten"))
# They leave elements of the axes that they keep in order.
_KEEPING = frozenset("field join turn carry last primal copy item".split())
_PRODUCTS = bare(CONTRACTIONS)
_FUNCTIONS = (
    _PRODUCTS | REDUCTIONS | frozenset("astype squeeze softmax log_softmax layer_norm".split())
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
    """Whether a size may be that of several axes: of a number, only the way to it can tell."""
    if not isinstance(dim, Size):
        return dim is not None and dim > 1
    monomial, factor = dim.terms[0]
    return len(dim.terms) == 1 and (len(monomial) > 1 or factor > 1)


def _parts(node: Node, dim: Dim) -> tuple[Dim, ...]:
    """The sizes that were merged into one, where nothing has changed the order since."""
    current: Node | None = node
    for _ in range(_MOST):
        if current is None:
            break
        if current.operation.rpartition(".")[2] in MERGING and current.inputs:
            source = current.inputs[0]
            at = current.shape.index(dim)
            groups = regroup(source.shape, current.shape) or ()
            olds = next((it.old_axes for it in groups if it.new_axes == (at,)), ())
            if len(olds) > 1:
                return tuple(source.shape[axis] for axis in olds)
        elif not keeps_order(current):
            break
        current = _brought_by(current, dim)
    return (dim,)


def _brought_by(node: Node, dim: Dim) -> Node | None:
    """The operand that an axis comes from: a product sums one of two that are alike away."""
    holding = [it for it in node.inputs if isinstance(it.shape, tuple) and dim in it.shape]
    if len(holding) > 1 and node.operation.rpartition(".")[2] in _PRODUCTS:
        return None
    return next((it for it in holding if it.shape.count(dim) == 1), None)


def keeps_order(node: Node) -> bool:
    """Whether elements along the axes that are kept are where they were."""
    operation = node.operation
    if operation == "item":
        return len(node.inputs) == 1  # A second one is an array of indices.
    if operation in _KEEPING or operation in ELEMENTWISE or operation.startswith("jax.nn."):
        return True
    if keeps_examples(operation):
        return True
    name = operation.rpartition(".")[2]
    return name in _FUNCTIONS or not name.isidentifier()
