"""Merged axes whose elements are shuffled, and that are taken apart as if they were not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...shapes.dims import Dim, Size
from ...values import Data
from ..arrays import calls_of
from ..loops.counters import sizes_of
from .merged_sizes import keeps_order
from .swapped_sizes import merged_from

if TYPE_CHECKING:
    from ...events import Call
    from ...facts import SourceFacts

_TAKING = frozenset(("item", "jax.numpy.take"))
_SHUFFLES = frozenset(("jax.random.permutation", "jax.random.shuffle"))
_MOST = 40


@dataclass(frozen=True, eq=False)
class Shuffled:
    """A reshape that gives an axis its `size` back, which was merged and then shuffled."""

    call: Call
    size: Dim
    shuffled: Node


def shuffled_axes(facts: SourceFacts) -> Iterator[Shuffled]:
    """Reshapes of what was taken in a random order, along an axis that others were merged into.

    Steps of all sequences in a random order make no sequences again, however many there are.
    """
    for call in calls_of(facts, "reshape"):
        array = call.args[0] if call.args else None
        result = call.result.node.shape if isinstance(call.result, Data) else None
        if not isinstance(array, Data) or not isinstance(result, tuple):
            continue
        shuffled = _shuffled(array.node)
        merged = merged_from(shuffled.inputs[0]) if shuffled is not None else []
        own = [size for it in merged for size in sizes_of(it) if isinstance(size, Size)]
        back = next((size for size in result if size in own and _is_split(array.node, size)), None)
        if shuffled is not None and back is not None:
            yield Shuffled(call, back, shuffled)


def _is_split(array: Node, size: Dim) -> bool:
    """Whether an array does not have an axis of this size yet."""
    return not isinstance(array.shape, tuple) or size not in array.shape


def _shuffled(node: Node) -> Node | None:
    """What has put the rows of an array in a random order, which nothing has changed since."""
    for _ in range(_MOST):
        if node.operation in _TAKING and len(node.inputs) > 1:
            return node if node.inputs[1].operation in _SHUFFLES else None
        if not keeps_order(node) or not node.inputs:
            return None
        node = node.inputs[0]
    return None
