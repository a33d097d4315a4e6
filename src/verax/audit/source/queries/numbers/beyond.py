"""Integers that are held against a number beyond what their dtype can hold.

`steps * envs / 4e9` of 32 bits says that the product is meant to get there, and it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...graph import Node
from ...operations import CASTS
from ...values import Constant, Data, Value
from ..nodes import nodes_by

if TYPE_CHECKING:
    from ...facts import SourceFacts

_HELD = {"int8": 2**7 - 1, "int16": 2**15 - 1, "int32": 2**31 - 1, "uint32": 2**32 - 1}
_MEASURES = ("/", "<", "<=", ">", ">=", "jax.numpy.minimum")
_MADE = frozenset(("*", "+", "jax.numpy.multiply"))


@dataclass(frozen=True)
class Beyond:
    """Where an integer is computed, its dtype, what that holds, and what it is held against."""

    place: Place
    dtype: str
    held: int
    number: float


def beyond_range(facts: SourceFacts) -> Iterator[Beyond]:
    """All such integers that a program computes, each place once."""
    told: set[Place] = set()
    for node in nodes_by(facts, _MEASURES):
        integer, limit = _sides(node)
        dtype = integer.dtype if integer is not None else None
        if integer is None or dtype not in _HELD or limit <= _HELD[dtype] or _is_whole(limit):
            continue
        place = integer.place
        if integer.operation in _MADE and place is not None and place not in told:
            told.add(place)
            yield Beyond(place, dtype, _HELD[dtype], limit)


def _sides(node: Node) -> tuple[Node | None, float]:
    """What is held against a number, before it was made a float, and the number."""
    if len(node.operands) != 2:
        return None, 0.0
    first, second = node.operands
    if node.operation != "/" and isinstance(first, Constant):
        first, second = second, first
    return (_plain(first.node) if isinstance(first, Data) else None), _number(second)


def _plain(node: Node) -> Node:
    while node.operation in CASTS and node.inputs:
        node = node.inputs[0]
    return node


def _number(value: Value) -> float:
    number = value.value if isinstance(value, Constant) else None
    return float(number) if isinstance(number, (int, float)) else 0.0


def _is_whole(number: float) -> bool:
    """Whether a number is the size of a range of integers, as where bits are made a share."""
    near = round(number)
    return any(abs(near - it) <= 1 for it in (2**8, 2**16, 2**31, 2**32, 2**63, 2**64))
