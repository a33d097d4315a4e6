"""Weights that add up to one along an axis, and the axes that they are then summed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...library.layers import is_linear
from ...operations import ARITHMETIC, CASTS, MATMULS, SELECTIONS
from ...shapes.shape import rank, size_of
from ...values import Constant, Data, Value
from ..arrays import argument, calls_of
from ..gradients.infinite_slopes import new_axis
from ..nodes import nodes_by
from .logarithms import mask_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_PRODUCTS = MATMULS | {"jax.numpy.einsum"}
# They keep the axes that they are given.
_KEEPING = CASTS | {"flax.linen.Dropout", "equinox.nn.Dropout"}
_ELEMENTWISE = CASTS | SELECTIONS | ARITHMETIC


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A sum with the weights of a softmax, that does not go along the axis of that alone.

    `axis` is that of the softmax, `over` the one that is summed over together with other arrays, if
    there is one; both are counted from the end. `is_apart` says that neither the weights are
    compared along `axis` nor the values summed: heads of attention, which are apart throughout.
    """

    weights: Node
    sum: Node
    axis: int
    over: int | None
    is_apart: bool = False


def summed_otherwise(facts: SourceFacts) -> Iterator[WeightedSum]:
    """Sums that are no means: the weights add up to one along another axis."""
    weights = dict(_softmaxes(facts))
    if not weights:
        return
    for node in nodes_by(facts, _PRODUCTS):
        for position, operand in enumerate(node.operands):
            given = _kept(operand.node) if isinstance(operand, Data) else None
            if given is None or given not in weights:
                continue
            axis = _from_end(weights[given], given, node, position)
            alone, together = _axes_summed(node, position)
            if axis is None:
                continue
            if axis in alone:
                yield WeightedSum(given, node, axis, None)
            elif len(together) == 1 and axis not in together:
                (over,) = together
                is_apart = _is_apart(given, axis, node, position)
                if is_apart or _is_attention(given, axis, over):
                    yield WeightedSum(given, node, axis, over, is_apart)


def _softmaxes(facts: SourceFacts) -> Iterator[tuple[Node, int]]:
    for call in calls_of(facts, "softmax"):
        result, axis = call.result, argument(call, 1, "axis")
        number = axis.value if isinstance(axis, Constant) else -1 if axis is None else None
        if isinstance(result, Data) and type(number) is int:
            yield result.node, number


def _from_end(axis: int, softmax: Node, product: Node, position: int) -> int | None:
    """An axis counted from the end; an einsum tells how many there are, if nothing else does."""
    if axis < 0:
        return axis
    axes = rank(softmax.shape)
    if axes is None and product.operation not in MATMULS:
        terms = _terms(product)
        term = terms[position - 1] if 0 < position <= len(terms) else "..."
        axes = None if "..." in term else len(term)
    return None if axes is None else axis - axes


def _terms(einsum: Node) -> list[str]:
    """The letters of each operand."""
    spec = einsum.operands[0]
    text = spec.value if isinstance(spec, Constant) else None
    if not isinstance(text, str) or "->" not in text:
        return []
    return text.replace(" ", "").partition("->")[0].split(",")


def _kept(node: Node) -> Node:
    while node.operation in _KEEPING and node.inputs:
        at = 1 if node.operation.endswith(".Dropout") else 0
        node = node.inputs[min(at, len(node.inputs) - 1)]
    return node


def _axes_summed(node: Node, position: int) -> tuple[set[int], set[int]]:
    """The axes of an operand that are summed over alone, and those together with other operands."""
    if node.operation in MATMULS:
        return set(), {-1 if position == 0 else -2}
    terms = _terms(node)
    if len(terms) < 2 or not 0 < position <= len(terms):
        return set(), set()
    spec = node.operands[0]
    assert isinstance(spec, Constant)
    output = spec.value.partition("->")[2]
    term = terms.pop(position - 1)
    letters = term.rpartition("...")[2]
    gone = {at - len(letters): it for at, it in enumerate(letters) if it not in output}
    alone = {at for at, it in gone.items() if not any(it in other for other in terms)}
    return alone, gone.keys() - alone


def _is_attention(softmax: Node, axis: int, over: int) -> bool:
    """Whether weights are of queries and keys, and not of nodes and clusters, or states and states.

    Both are computed and compared; and they are as many as each other, or some are masked out.
    """
    scores = softmax.operands[0]
    if not isinstance(scores, Data) or not _compares_computed(scores.node):
        return False
    shape = scores.node.shape
    one, other = size_of(shape, axis), size_of(shape, over)
    return (one is not None and one == other) or mask_of(softmax) is not None


def _is_apart(softmax: Node, axis: int, total: Node, position: int) -> bool:
    """Whether an axis goes through the comparison and the sum alike, in all that takes part."""
    scores = softmax.operands[0]
    product = _product(scores.node) if isinstance(scores, Data) else None
    if product is None or product.operation not in _PRODUCTS:
        return False
    operands = [it for it in product.operands if isinstance(it, Data)]
    if len(operands) != 2 or not all(map(_is_computed, operands)):
        return False
    return _goes_through(product, axis, 0) and _goes_through(total, axis, position)


def _goes_through(product: Node, axis: int, position: int) -> bool:
    """Whether an axis of an operand, or of the result at 0, is one of all of them."""
    if product.operation in MATMULS:
        return axis < -2
    spec, terms = product.operands[0], _terms(product)
    if not isinstance(spec, Constant) or len(terms) != 2 or "..." in spec.value:
        return False
    every = [spec.value.replace(" ", "").partition("->")[2], *terms]
    own = every[position]
    return len(own) >= -axis and all(own[axis] in it for it in every)


def _compares_computed(scores: Node) -> bool:
    node = _product(scores)
    operands = [it for it in node.operands if isinstance(it, Data)] if node is not None else []
    return len(operands) == 2 and all(map(_is_computed, operands))


def _product(scores: Node) -> Node | None:
    """The product, or the sum of all pairs, that scores are made of."""
    pending, seen = [scores], {scores}
    while pending and len(seen) < 30:
        node = pending.pop()
        if node.operation in _PRODUCTS or _is_of_all_pairs(node):
            return node
        if node.operation in _ELEMENTWISE or node.operation.startswith("jax.nn."):
            new = [it for it in node.inputs if it not in seen]
            seen.update(new)
            pending.extend(new)
    return None


def _is_of_all_pairs(node: Node) -> bool:
    """`a[:, None] + b[None, :]`."""
    if node.operation != "+" or len(node.operands) != 2:
        return False
    axes = [new_axis(it.node) if isinstance(it, Data) else None for it in node.operands]
    return None not in axes and axes[0] != axes[1]


def _is_computed(value: Value) -> bool:
    """Whether something is made by a layer or a product, and is no parameter itself."""
    if not isinstance(value, Data):
        return False
    return any(
        node.operation in _PRODUCTS or is_linear(node.operation) for node in value.node.ancestors()
    )
