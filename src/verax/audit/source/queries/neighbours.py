"""Operations that relate neighbours along an axis: running sums, differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..events import Call, Event
from ..values import Data
from .arrays import axis_argument, calls_of

if TYPE_CHECKING:
    from ..facts import SourceFacts

_CUMULATIVE = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


def neighbour_relations(facts: SourceFacts) -> Iterator[tuple[Event, Data, int, str]]:
    """What is done along an axis that only makes sense in order: where, to what, which axis."""
    for call in calls_of(facts, *_CUMULATIVE, "diff"):
        yield from _of_call(call)


def _of_call(call: Call) -> Iterator[tuple[Event, Data, int, str]]:
    name = call.name.rpartition(".")[2]
    array = call.args[0] if call.args else None
    if not isinstance(array, Data):
        return
    position, default = (2, -1) if name == "diff" else (1, 0 if "lax" in call.name else None)
    axes = axis_argument(call, position, default)
    if axes is not None and len(axes) == 1:
        yield call, array, axes[0], f"a {name}"
