"""Weights that add up to one along an axis, and the axes that they are then summed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...library.layers import is_linear
from ...shapes.shape import rank, size_of
from ...values import Constant, Data, Value
from ..arrays import argument, calls_of
from ..gradients.infinite_slopes import new_axis
from ..nodes import nodes_by
from .logarithms import mask_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_MATMULS = frozenset(("@", "jax.numpy.dot"))
_PRODUCTS = _MATMULS | {"jax.numpy.einsum"}
# They keep the axes that they are given.
_KEEPING = frozenset(
    (
        "ndarray.astype",
        "jax.numpy.asarray",
        *(f"{it}.Dropout" for it in ("flax.linen", "equinox.nn")),
    )
)
_ELEMENTWISE = frozenset(("*", "/", "+", "-", "jax.numpy.where", "ndarray.astype"))


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A sum with the weights of a softmax, that does not go along the axis of that alone.

    `axis` is that of the softmax, `over` the one that is summed over together with other arrays, if
    there is one; both are counted from the end.
    """

    weights: Node
    sum: Node
    axis: int
    over: int | None


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
            elif (
                len(together) == 1
                and axis not in together
                and _is_attention(given, axis, *together)
            ):
                yield WeightedSum(given, node, axis, *together)


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
    if axes is None and product.operation not in _MATMULS:
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
    if node.operation in _MATMULS:
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


def _compares_computed(scores: Node) -> bool:
    pending, seen = [scores], {scores}
    while pending and len(seen) < 30:
        node = pending.pop()
        operands = [it for it in node.operands if isinstance(it, Data)]
        if node.operation in _PRODUCTS or _is_of_all_pairs(node):
            return len(operands) == 2 and all(map(_is_computed, operands))
        if node.operation in _ELEMENTWISE or node.operation.startswith("jax.nn."):
            new = [it for it in node.inputs if it not in seen]
            seen.update(new)
            pending.extend(new)
    return False


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
