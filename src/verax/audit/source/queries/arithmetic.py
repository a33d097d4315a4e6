"""Arithmetic, in whatever way it is written."""

from __future__ import annotations

from ..graph import Node
from ..operations import CASTS, FULLS, RANGES, VIEWS, bare
from ..values import Constant, Data, External, Value

_UNITS = frozenset(("jax.numpy.eye", "jax.numpy.identity", "numpy.eye", "numpy.identity"))


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
        return any(_seen_through(it).operation in RANGES for it in node.inputs)
    is_row = node.operation == "item" or node.operation.rpartition(".")[2] == "take"
    return is_row and bool(node.inputs) and _seen_through(node.inputs[0]).operation in _UNITS


def _seen_through(node: Node) -> Node:
    while node.inputs and (node.operation in VIEWS or _is_widened(node)):
        node = node.inputs[0]
    return node


def _is_widened(node: Node) -> bool:
    """Whether an item is the whole with axes of one: `x[:, None]`."""
    return node.operation == "item" and len(node.inputs) == 1 and "None" in node.label


# Logits get a number below this where they are to be left out.
_FAR_BELOW = -1e3
_HOLDING = bare(FULLS | CASTS)


def is_far_below(value: Value) -> bool:
    """Whether a number is what logits get to be left out: `-1e9`, `-jnp.inf`, `finfo(x).min`."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float)) and value.value <= _FAR_BELOW
    if not isinstance(value, Data):
        return False
    node = value.node
    if node.operation == "-x":
        return any(_is_far_above(it) for it in node.operands)
    if node.operation.rpartition(".")[2] in _HOLDING:
        return any(map(is_far_below, node.operands))
    return _is_end_of_range(node, "min")


def _is_far_above(value: Value) -> bool:
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float)) and value.value >= -_FAR_BELOW
    if isinstance(value, External):
        return value.name.rpartition(".")[2] == "inf"
    return isinstance(value, Data) and _is_end_of_range(value.node, "max")


def _is_end_of_range(node: Node, name: str) -> bool:
    """Whether it is the least or the largest number of a type: `jnp.finfo(x.dtype).min`."""
    is_named = getattr(node.syntax, "attr", "") == name
    return is_named and any(it.operation.endswith(".finfo") for it in node.inputs)
