"""Distributions, by the axis along which they add up to one, and the axis they are drawn along.

Where the two differ, what is drawn from, or whose entropy is taken, adds up to anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import CASTS_TO_GIVEN, FLOAT_CASTS, MODULES, bare
from ...shapes.shape import rank
from ...values import Constant, Data, Value
from ..arrays import argument, calls_of

if TYPE_CHECKING:
    from ...events import Call
    from ...facts import SourceFacts

_SOFTMAXES = frozenset(("jax.nn.softmax", "jax.nn.log_softmax"))
_TOTALS = frozenset(("logsumexp", "sum"))
# They leave a distribution what it is, or its logarithm, but for a little that is added to it.
_KEEPING = bare(CASTS_TO_GIVEN | FLOAT_CASTS) | frozenset(
    "log exp clip maximum stop_gradient nan_to_num".split()
)


@dataclass(frozen=True, eq=False)
class Misused:
    """A distribution that adds up to one along one axis and is used along another.

    `axis` is counted from the end, and `None` where a map has taken it away.
    """

    made: Node
    used: Node
    axis: int | None
    along: int


def misused(facts: SourceFacts) -> Iterator[Misused]:
    """Distributions that are drawn from, or whose entropy is taken, along another axis."""
    for node, used, along in _uses(facts):
        found = _normalised(node)
        if found is not None and found[1] != along:
            yield Misused(found[0], used, found[1], along)


def _uses(facts: SourceFacts) -> Iterator[tuple[Node, Node, int]]:
    """Values that have to be distributions along an axis, counted from the end."""
    for call in calls_of(facts, "categorical"):
        yield from _of_call(call, 1, argument(call, 2, "axis"))
    for call in calls_of(facts, "choice"):
        chances = argument(call, 4, "p")
        if isinstance(chances, Data) and isinstance(call.result, Data):
            yield chances.node, call.result.node, -1
    for call in calls_of(facts, "searchsorted"):
        first = call.args[0] if call.args else None
        if isinstance(first, Data) and isinstance(call.result, Data):
            steps = first.node
            if steps.operation.endswith(".cumsum") and rank(steps.shape) == 1:
                yield steps.inputs[0], call.result.node, -1
    for call in calls_of(facts, "sum"):
        inner = _of_entropy(call)
        if inner is not None and isinstance(call.result, Data):
            along = _from_end(argument(call, 1, "axis"), call.args[0])
            if along is not None:
                yield inner, call.result.node, along


def _of_call(call: Call, position: int, axis: Value | None) -> Iterator[tuple[Node, Node, int]]:
    given = call.args[position] if position < len(call.args) else None
    along = _from_end(axis, given)
    if isinstance(given, Data) and isinstance(call.result, Data) and along is not None:
        yield given.node, call.result.node, along


def _from_end(axis: Value | None, array: Value | None) -> int | None:
    number = -1 if axis is None else axis.value if isinstance(axis, Constant) else None
    if type(number) is not int or number < 0:
        return number if type(number) is int else None
    axes = rank(array.node.shape) if isinstance(array, Data) else None
    return None if axes is None else number - axes


def _of_entropy(call: Call) -> Node | None:
    """The chances in `sum(p * log(p), axis)`, where an axis is named."""
    first = call.args[0] if call.args else None
    if not isinstance(first, Data) or argument(call, 1, "axis") is None:
        return None
    product = first.node
    if product.operation != "*" or len(product.inputs) != 2:
        return None
    one, other = product.inputs
    for chance, logarithm in ((one, other), (other, one)):
        if logarithm.operation == "jax.numpy.log" and _kept(logarithm) is _kept(chance):
            return chance
        if chance.operation == "jax.numpy.exp" and _kept(chance) is _kept(logarithm):
            return chance
    return None


def _kept(node: Node) -> Node:
    """A value without what leaves it a distribution."""
    for _ in range(12):
        module, _, name = node.operation.rpartition(".")
        is_kept = (module in MODULES and name in _KEEPING) or _is_shifted(node)
        if not node.inputs or not is_kept:
            return node
        node = node.inputs[0]
    return node


def _is_shifted(node: Node) -> bool:
    """`p + 1e-8`."""
    return node.operation == "+" and any(isinstance(it, Constant) for it in node.operands)


def _normalised(node: Node) -> tuple[Node, int | None] | None:
    """What made a value add up to one, and along which axis of the value."""
    lanes: list[int] = []
    node = _kept(node)
    while node.operation == "lane" and node.inputs and len(lanes) < 4:
        number = _lane_axis(node)
        if number is None:
            return None
        lanes.append(number)
        node = _kept(node.inputs[0])
    axes = rank(node.shape)
    axis = _axis_of(node)
    if axis is None or axes is None:
        return None
    left: list[int] = list(range(axes))
    for number in reversed(lanes):
        if not -len(left) <= number < len(left):
            return None
        left.pop(number)
    at = axis % axes
    return node, left.index(at) - len(left) if at in left else None


def _lane_axis(lane: Node) -> int | None:
    """Which axis of an array a map goes along."""
    for (operation, key), child in (lane.inputs[0].children or {}).items():  # pyright: ignore
        if child is lane and operation == "lane":
            number = key[1]
            return number if type(number) is int else None
    return None


def _axis_of(node: Node) -> int | None:
    """The axis of a softmax, or of what a value is divided by, or less by, to add up to one."""
    if node.operation in _SOFTMAXES:
        return _written(node.operands[1] if len(node.operands) > 1 else Constant(-1))
    if node.operation not in ("-", "/") or len(node.inputs) != 2:
        return None
    of, total = node.inputs
    name = total.operation.rpartition(".")[2]
    wanted = "logsumexp" if node.operation == "-" else "sum"
    if name != wanted or total.inputs[:1] != (of,) or rank(total.shape) != rank(of.shape):
        return None
    return _written(total.operands[1] if len(total.operands) > 1 else None)


def _written(value: Value | None) -> int | None:
    number = value.value if isinstance(value, Constant) else None
    return number if type(number) is int else None
