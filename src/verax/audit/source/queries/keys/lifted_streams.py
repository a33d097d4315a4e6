"""Streams of random keys that flax's lifted loops and maps do not split.

`nn.scan` and `nn.vmap` with `variable_axes={"params": 0}` make several layers of one, each with
weights of its own. A stream that `split_rngs` leaves whole gives all of them the same keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...values import Constant, Mapping, Value

if TYPE_CHECKING:
    from ....finding import Place
    from ...events import Call
    from ...facts import SourceFacts

_WEIGHTS = "params"
_DRAWING = ("flax.linen.Dropout", "flax.linen.Module.make_rng")


class Unsplit(NamedTuple):
    """A stream that is the same for all layers, and where that is said."""

    stream: str
    place: Place

    @property
    def outcome(self) -> str:
        """What comes of it."""
        is_start = self.stream == _WEIGHTS
        return "all start with the same weights" if is_start else "all draw the same numbers"


def unsplit_streams(facts: SourceFacts, lifted: str) -> Iterator[Unsplit]:
    """Streams that a lifted transformation, `flax.linen.scan` say, does not split by its layers."""
    for call in facts.calls((lifted,)):
        axes, split = call.keywords.get("variable_axes"), call.keywords.get("split_rngs")
        if not isinstance(split, Mapping) or not _have_own_weights(axes):
            continue  # Where all turns share weights, they may well share masks.
        for stream, is_split in split.items.items():
            is_whole = isinstance(is_split, Constant) and is_split.value is False
            if isinstance(stream, str) and is_whole and _is_drawn(facts, stream):
                yield Unsplit(stream, _said_at(call, is_split))


def _have_own_weights(axes: Value | None) -> bool:
    own = axes.items.get(_WEIGHTS) if isinstance(axes, Mapping) else None
    return isinstance(own, Constant) and isinstance(own.value, int)


def _is_drawn(facts: SourceFacts, stream: str) -> bool:
    """Whether layers draw from a stream: for their weights always, else as far as is seen."""
    return stream == _WEIGHTS or any(True for _ in facts.calls(_DRAWING))


def _said_at(call: Call, is_split: Value) -> Place:
    origin = is_split.origin if isinstance(is_split, Constant) else None
    return origin[0].place(origin[1]) if origin is not None else call.place
