"""Up to which number an integer goes, where what makes it tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import Call
from ...graph import Node
from ...library.arguments import argument
from ...operations import CASTS, GIVEN
from ...shapes import Dim
from ...shapes.shape import rank, size_of
from ...values import Constant, Data, Value

if TYPE_CHECKING:
    from ...facts import SourceFacts


_CHOICES = ("jax.numpy.argmax", "jax.numpy.argmin", "ndarray.argmax", "ndarray.argmin")
_GIVEN = GIVEN | {"counter", "+", "call"}
_DRAWS = ("jax.random.randint", "jax.random.categorical")


class Integers:
    """The integers that a program draws and chooses."""

    def __init__(self, facts: SourceFacts):
        self._made_by: dict[Node, Call] = {
            call.result.node: call
            for call in facts.calls((*_CHOICES, *_DRAWS))
            if isinstance(call.result, Data)
        }

    def stop(self, value: Value | None) -> Dim:
        """The number that a value stays below, and reaches but for one."""
        if not isinstance(value, Data):
            return None
        node = value.node
        while node.operation in CASTS and len(node.inputs) == 1:
            node = node.inputs[0]
        if node.operation == "%" and len(node.operands) == 2:
            # Who computes what is divided may know that some remainders do not occur.
            is_any = bool(node.inputs) and node.inputs[0].operation in _GIVEN
            return _constant(node.operands[1]) if is_any else None
        call = self._made_by.get(node)
        return None if call is None else _stop_of(call)

    def outside(self, value: Value | None, count: int) -> int | None:
        """A number that an index of so many things can be, and that none of them has."""
        stop = self.stop(value)
        return stop - 1 if isinstance(stop, int) and stop > count else None


def _stop_of(call: Call) -> Dim:
    if call.name == "jax.random.randint":
        return _constant(argument(call.args, call.keywords, 3, "maxval"))
    if call.name == "jax.random.categorical":
        logits = argument(call.args, call.keywords, 1, "logits")
        is_last = len(call.args) < 3 and "axis" not in call.keywords
        return _size(logits, -1) if is_last else None
    # Of all elements, unless an axis is told.
    array = call.args[0] if len(call.args) == 1 and not call.keywords else None
    return _size(array, 0) if isinstance(array, Data) and rank(array.node.shape) == 1 else None


def _size(array: Value | None, axis: int) -> Dim:
    return size_of(array.node.shape, axis) if isinstance(array, Data) else None


def _constant(value: Value | None) -> Dim:
    number = value.value if isinstance(value, Constant) else None
    return number if type(number) is int else None
