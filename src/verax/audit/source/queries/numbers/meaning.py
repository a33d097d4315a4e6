"""What a value means, by the operation that made it: probabilities, something normalised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...graph import Node
from ...values import Constant, Data, Value
from ..sameness import Sameness

# They hand on what they are given, in another shape or precision.
_SAME_MEANING = frozenset(
    "reshape ravel flatten squeeze expand_dims transpose swapaxes moveaxis astype asarray "
    "broadcast_to stop_gradient clip copy float32 float16 bfloat16 T mT block_until_ready".split()
)
_BOUNDARIES = frozenset("stack lane turn carry slice last primal item element".split())
_MODULES = ("jax.numpy", "jax.lax", "ndarray", "jax.nn")


def first_behind(node: Node, accept: Callable[[Node], bool]) -> Node | None:
    """What a value is, under operations that keep its meaning, if that is accepted."""
    for _ in range(30):
        if accept(node):
            return node
        module, _, name = node.operation.rpartition(".")
        is_same = node.operation in _BOUNDARIES or (module in _MODULES and name in _SAME_MEANING)
        if not is_same or not node.inputs:
            return None
        node = node.inputs[0]
    return None


def is_probability(node: Node) -> bool:
    """Whether a value has just been made a probability."""
    return node.operation in ("jax.nn.softmax", "jax.nn.sigmoid")


def is_log_probability(node: Node) -> bool:
    """Whether it has just been made the logarithm of one, be it by hand."""
    if node.operation in ("jax.nn.log_softmax", "jax.nn.log_sigmoid"):
        return True
    if node.operation != "-" or len(node.inputs) != 2:
        return False
    of, total = node.inputs
    while total.operation.rpartition(".")[2] in _SAME_MEANING and total.inputs:
        total = total.inputs[0]
    return total.operation.endswith(".logsumexp") and total.inputs[:1] == (of,)


@dataclass(frozen=True, eq=False)
class Normalised:
    """`(of - mean) / scale`; for a plain scaling, `mean` is none and `scale` a number."""

    node: Node
    of: Node
    mean: Value | None
    scale: Value

    def is_by_the_same(self, other: Normalised, same: Sameness) -> bool:
        """Whether both take the same statistics."""
        if self.mean is None or other.mean is None:
            return self.mean is other.mean and _number(self.scale) == _number(other.scale)
        pairs = ((self.mean, other.mean), (self.scale, other.scale))
        return all(_same(one, two, same) for one, two in pairs)


def _same(one: Value, other: Value, same: Sameness) -> bool:
    if isinstance(one, Data) and isinstance(other, Data):
        return same.are(one.node, other.node)
    return _number(one) is not None and _number(one) == _number(other)


def _number(value: Value) -> float | None:
    number = value.value if isinstance(value, Constant) else None
    return float(number) if isinstance(number, (int, float)) else None


def normalised(node: Node) -> Normalised | None:
    """What a node normalises, if it does."""
    if node.operation != "/" or len(node.operands) != 2:
        return None
    above, scale = node.operands
    if not isinstance(above, Data):
        return None
    number = _number(scale)
    if number == 255:  # Pixels; other numbers may well divide a value twice.
        return Normalised(node, above.node, None, scale)
    difference = above.node
    if difference.operation != "-" or len(difference.operands) != 2:
        return None
    of, mean = difference.operands
    if not isinstance(of, Data):
        return None
    return Normalised(node, of.node, mean, scale)
