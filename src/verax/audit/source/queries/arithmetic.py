"""Arithmetic, in whatever way it is written: with operators or as calls of functions."""

from __future__ import annotations

from ..graph import Node
from ..values import Data

_CALLED = {
    "+": ("add", "add"),
    "-": ("subtract", "sub"),
    "*": ("multiply", "mul"),
    "/": ("divide", "div"),
    "-x": ("negative", "neg"),
}
_OPERATORS = {
    **{
        f"{module}.{called}": it
        for it, (called, _) in _CALLED.items()
        for module in ("jax.numpy", "numpy")
    },
    **{f"jax.lax.{called}": it for it, (_, called) in _CALLED.items()},
    "jax.numpy.true_divide": "/",
    "numpy.true_divide": "/",
}
_RANGES = frozenset(("jax.numpy.arange", "jax.lax.iota", "jax.lax.broadcasted_iota"))
_UNITS = frozenset(("jax.numpy.eye", "jax.numpy.identity", "numpy.eye", "numpy.identity"))
# They change how an array is laid out or stored, and nothing of what it says.
_VIEWS = frozenset(
    "ndarray.astype ndarray.reshape jax.numpy.asarray jax.numpy.float32 jax.numpy.expand_dims "
    "jax.lax.convert_element_type".split()
)


def operator_of(node: Node) -> str:
    """The operator that makes a value: `+` for `jnp.add`; else the operation as it is."""
    return _OPERATORS.get(node.operation, node.operation)


def difference_of(node: Node) -> tuple[Node, Node] | None:
    """What a value is the difference of, be it written `a - b`, `a + -b` or `-b + a`."""
    data = [it.node for it in node.operands if isinstance(it, Data)]
    if len(data) != 2 or len(node.operands) != 2:
        return None
    one, other = data
    if operator_of(node) == "-":
        return one, other
    for first, second in ((one, other), (other, one)) if operator_of(node) == "+" else ():
        if operator_of(second) == "-x" and second.inputs:
            return first, second.inputs[0]
    return None


def is_one_hot(node: Node) -> bool:
    """Whether a value is one in one place and zero elsewhere: what it multiplies, it chooses from.

    It is called so, a comparison with all places, or a row of the unit matrix.
    """
    node = _seen_through(node)
    if node.operation.rpartition(".")[2] == "one_hot":
        return True
    if node.operation in ("==", "jax.numpy.equal"):
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
