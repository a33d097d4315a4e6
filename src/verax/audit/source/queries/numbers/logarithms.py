"""Logarithms of what the program itself makes zero, or of what rounding makes zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import GUARDS, LOGARITHMS, MODULES, SUMS
from ...values import Constant, Data, External, Value
from ..nodes import names_axis, nodes_by, users_of
from .ends import ends_of
from .meaning import first_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts

_MODULES = (*MODULES, "jax.scipy.special")
# Beyond, the exponential of a difference is zero in float32.
_MASKED = -100.0


@dataclass(frozen=True, eq=False)
class Logarithm:
    """A logarithm, what it is taken of, and what makes that zero, in words and as a node."""

    node: Node
    operand: Node
    why: str
    origin: Node


def of_zero(facts: SourceFacts) -> Iterator[Logarithm]:
    """Logarithms of numbers among which the program itself puts zeros."""
    found = list(_logarithms(facts))
    users = users_of(facts) if found else {}
    for node, operand in found:
        for origin, why in _zeros(operand):
            # The logarithm of a chance that is zero is -inf, and often meant to be.
            is_meant = origin.operation.endswith(("where", "clip")) or _is_count(origin)
            if is_meant and not _meets_zeros(node, origin, users):
                continue
            if not _is_left_out(node, users):
                yield Logarithm(node, operand, why, origin)
            break


def _meets_zeros(node: Node, origin: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether a logarithm, or a sum with it, is multiplied by what has the same zeros."""
    pending, seen = [node], {node}
    while pending and len(seen) < 20:
        current = pending.pop()
        for user in users.get(current, ()):
            if user.operation == "*":
                return any(it.depends_on(origin) for it in user.inputs if it is not current)
            if user.operation in ("+", "-", "-x") and user not in seen:
                seen.add(user)
                pending.append(user)
    return False


def of_saturated(facts: SourceFacts) -> Iterator[Logarithm]:
    """Logarithms of `sigmoid(x)`, `1 - sigmoid(x)` and `1 - tanh(x)**2`."""
    for node, operand in _logarithms(facts):
        rest = _one_minus(operand)
        inner = operand if rest is None else rest
        square = _squared(inner) if rest is not None else None
        origin = first_behind(inner if square is None else square, _saturates)
        if origin is None or (rest is None and not origin.operation.endswith("sigmoid")):
            continue
        name = origin.operation.rpartition(".")[2]
        yield Logarithm(node, operand, name, origin)


def _logarithms(facts: SourceFacts) -> Iterator[tuple[Node, Node]]:
    for node in nodes_by(facts, LOGARITHMS):
        first = node.operands[0] if node.operands else None
        if isinstance(first, Data):
            yield node, first.node


def _saturates(node: Node) -> bool:
    return node.operation in ("jax.nn.sigmoid", "jax.numpy.tanh", "jax.scipy.special.expit")


def _one_minus(node: Node) -> Node | None:
    """What is taken from one."""
    if node.operation != "-" or len(node.operands) != 2:
        return None
    one, other = node.operands
    is_one = isinstance(one, Constant) and one.value == 1
    return other.node if is_one and isinstance(other, Data) else None


def _squared(node: Node) -> Node | None:
    operands = node.operands
    first = operands[0] if operands else None
    if not isinstance(first, Data):
        return None
    if node.operation == "jax.numpy.square":
        return first.node
    return first.node if node.operation == "**" and _number(operands[1]) == 2 else None


def _zeros(operand: Node) -> Iterator[tuple[Node, str]]:
    """What puts zeros into a value, if something does."""
    # A quotient is zero where its numerator is.
    while operand.operation == "/" and operand.operands and isinstance(operand.operands[0], Data):
        operand = operand.operands[0].node
    origin = first_behind(operand, _is_source) or first_behind(operand, _is_count, _is_share)
    if origin is None:
        return
    name = origin.operation.rpartition(".")[2]
    if name == "softmax":
        mask = mask_of(origin)
        if mask is not None:
            yield mask, "the probability of what is masked here is zero"
    elif name in ("relu", "one_hot", "relu6"):
        yield origin, f"`{name}` gives zeros"
    elif _is_cut_at_zero(name, origin):
        yield origin, "it is cut off at zero here"
    elif name == "where":
        yield origin, "what is masked here is zero"
    elif _is_count(origin):
        yield origin, "what never occurs is counted as zero"


def _is_cut_at_zero(name: str, node: Node) -> bool:
    if name == "maximum":
        return any(_number(it) == 0 for it in node.operands)
    return name == "clip" and 0 in ends_of(node)[:1]


def _is_count(node: Node) -> bool:
    """Whether a value says how often each of several things occurs."""
    if node.operation in ("jax.numpy.bincount", "jax.numpy.histogram"):
        # Weights are no counts; the edges of bins may well be an array.
        own = 1 if node.operation.endswith("bincount") else 2
        return not any(isinstance(it, Data) for it in node.operands[own:])
    if node.operation != "at.add" or not node.inputs or not _is_one(node.operands[-1]):
        return False
    return node.inputs[0].operation in ("jax.numpy.zeros", "jax.numpy.zeros_like")


def _is_one(value: Value) -> bool:
    if isinstance(value, Data):
        return value.node.operation in ("jax.numpy.ones", "jax.numpy.ones_like")
    return _number(value) == 1


def _is_share(node: Node) -> bool:
    """Whether a value is a sum of counts, or their share of all."""
    if node.operation == "/":
        return bool(node.operands) and isinstance(node.operands[0], Data)
    return node.operation in SUMS and names_axis(node) is True


def _is_source(node: Node) -> bool:
    module, _, name = node.operation.rpartition(".")
    if module not in _MODULES:
        return False
    if name == "where":
        return any(_number(it) == 0 for it in node.operands[1:])
    return name in ("softmax", "relu", "relu6", "one_hot", "maximum", "clip")


def mask_of(softmax: Node) -> Node | None:
    """Where the logits of a softmax get a large negative number."""
    first = softmax.operands[0] if softmax.operands else None
    if not isinstance(first, Data):
        return None
    return first_behind(first.node, masks)


def masks(node: Node) -> bool:
    """Whether a choice puts a large negative number where something is not allowed."""
    if node.operation != "jax.numpy.where" or len(node.operands) != 3:
        return False
    return any(_is_large_negative(it) for it in node.operands[1:])


def _is_large_negative(value: Value) -> bool:
    number = _number(value)
    if number is not None:
        return number < _MASKED
    # `-jnp.inf`, and the least number of a dtype.
    if isinstance(value, Data) and value.node.operation == "-x" and value.node.operands:
        inner = value.node.operands[0]
        return isinstance(inner, External) and inner.name.endswith(".inf")
    return isinstance(value, Data) and value.node.label == "min"


def _number(value: Value) -> float | None:
    number = value.value if isinstance(value, Constant) else None
    return float(number) if isinstance(number, (int, float)) else None


def _is_left_out(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether a choice comes after, which may well drop what is not finite."""
    pending, seen = [node], {node}
    while pending and len(seen) < 40:
        for user in users.get(pending.pop(), ()):
            if user.operation.rpartition(".")[2] in GUARDS:
                return True
            if user not in seen and user.operation.rpartition(".")[2] not in ("sum", "mean"):
                seen.add(user)
                pending.append(user)
    return False
