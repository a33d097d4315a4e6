"""Operations at the ends of an interval to which a program cuts numbers off.

`jnp.clip(x, -1.0, 1.0)` makes ones of all that is larger, and `jnp.arctanh` infinities of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import CLIPS
from ...values import Constant, Data, Value
from ..arrays import calls_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Where they are infinite.
_POLES = {"arctanh": (-1, 1), "atanh": (-1, 1), "logit": (0, 1), "log1p": (-1,), "ndtri": (0, 1)}


@dataclass(frozen=True, eq=False)
class AtEnd:
    """A call, what cuts off the numbers that it gets, and where."""

    name: str
    call: Node
    clip: Node
    end: float


def at_ends(facts: SourceFacts) -> Iterator[AtEnd]:
    """All calls that get numbers which are cut off where they are infinite."""
    for call in calls_of(facts, *_POLES):
        given = call.args[0] if call.args else None
        if not isinstance(given, Data) or not isinstance(call.result, Data):
            continue
        name = call.name.rpartition(".")[2]
        for end in ends_of(given.node):
            if end in _POLES[name]:
                yield AtEnd(name, call.result.node, given.node, end)
                break


def ends_of(node: Node) -> list[float]:
    """The numbers to which others are cut off."""
    if node.operation not in CLIPS:
        return []
    given: list[Value] = [it for it in node.operands if isinstance(it, Constant)]
    numbers = [it.value for it in given if isinstance(it, Constant)]
    return [float(it) for it in numbers if isinstance(it, (int, float))]
