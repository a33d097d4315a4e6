"""Arithmetic, in whatever way it is written."""

from __future__ import annotations

from ..graph import Node
from ..values import Data

_RANGES = frozenset(("jax.numpy.arange", "jax.lax.iota", "jax.lax.broadcasted_iota"))
_UNITS = frozenset(("jax.numpy.eye", "jax.numpy.identity", "numpy.eye", "numpy.identity"))
# They change how an array is laid out or stored, and nothing of what it says.
_VIEWS = frozenset(
    "ndarray.astype ndarray.reshape jax.numpy.asarray jax.numpy.float32 jax.numpy.expand_dims "
    "jax.lax.convert_element_type".split()
)


def difference_of(node: Node) -> tuple[Node, Node] | None:
    """What a value is the difference of, be it written `a - b`, `a + -b` or `-b + a`."""
    data = [it.node for it in node.operands if isinstance(it, Data)]
    if len(data) != 2 or len(node.operands) != 2:
        return None
    one, other = data
    if node.operation == "-":
        return one, other
    for first, second in ((one, other), (other, one)) if node.operation == "+" else ():
        if second.operation == "-x" and second.inputs:
            return first, second.inputs[0]
    return None


def is_one_hot(node: Node) -> bool:
    """Whether a value is one in one place and zero elsewhere: what it multiplies, it chooses from.

    It is called so, a comparison with all places, or a row of the unit matrix.
    """
    node = _seen_through(node)
    if node.operation.rpartition(".")[2] == "one_hot":
        return True
    if node.operation == "==":
        return any(_seen_through(it).operation in _RANGES for it in node.inputs)
    is_row = node.operation == "item" or node.operation.rpartition(".")[2] == "take"
    return is_row and bool(node.inputs) and _seen_through(node.inputs[0]).operation in _UNITS


def _seen_through(node: Node) -> Node:
    while node.inputs and (node.operation in _VIEWS or _is_widened(node)):
        node = node.inputs[0]
    return node


def _is_widened(node: Node) -> bool:
    """Whether an item is the whole with axes of one: `x[:, None]`."""
    return node.operation == "item" and len(node.inputs) == 1 and "None" in node.label
