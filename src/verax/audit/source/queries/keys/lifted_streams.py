"""Streams of random keys that flax's lifted loops and maps do not split.

`nn.scan` and `nn.vmap` with `variable_axes={"params": 0}` make several layers of one, each with
weights of its own. A stream that `split_rngs` leaves whole gives all of them the same keys. Turns
and lanes that share their weights may well share masks, too, but not the noise that each adds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...events import KeyUse
from ...graph import Node
from ...remember import remembered
from ...values import Class, Constant, Function, Instance, Mapping, Value

if TYPE_CHECKING:
    from ....finding import Place
    from ...events import Call
    from ...facts import SourceFacts
    from ...frame import Frame

_WEIGHTS = "params"
_DRAWING = ("flax.linen.Dropout",)
_MAKES_KEY = "make_rng"
_MASK = "jax.random.bernoulli"
# A key that is made from another one of the same stream.
_CHILDREN = frozenset("jax.random.split jax.random.fold_in item element lane slice".split())


class Unsplit(NamedTuple):
    """A stream that is the same for all layers, or all elements, and where that is said."""

    stream: str
    place: Place
    have_own_weights: bool

    @property
    def outcome(self) -> str:
        """What comes of it."""
        is_start = self.stream == _WEIGHTS
        return "all start with the same weights" if is_start else "all draw the same numbers"


def unsplit_streams(facts: SourceFacts, lifted: str) -> Iterator[Unsplit]:
    """Streams that a lifted transformation, `flax.linen.scan` say, does not split by its layers."""
    for call in facts.calls((lifted,)):
        axes, split = call.keywords.get("variable_axes"), call.keywords.get("split_rngs")
        if not isinstance(split, Mapping):
            continue
        are_apart = _have_own_weights(axes)
        for stream, is_split in split.items.items():
            is_whole = isinstance(is_split, Constant) and is_split.value is False
            if not isinstance(stream, str) or not is_whole:
                continue
            if (are_apart and _is_drawn(facts, stream)) or _is_noise(facts, call, stream):
                yield Unsplit(stream, _said_at(call, is_split), are_apart)


def _have_own_weights(axes: Value | None) -> bool:
    own = axes.items.get(_WEIGHTS) if isinstance(axes, Mapping) else None
    return isinstance(own, Constant) and isinstance(own.value, int)


def _is_drawn(facts: SourceFacts, stream: str) -> bool:
    """Whether layers draw from a stream: for their weights always, else as far as is seen."""
    is_made = any(it == stream for it, _ in _draws(facts))
    return stream == _WEIGHTS or is_made or any(True for _ in facts.calls(_DRAWING))


def _is_noise(facts: SourceFacts, call: Call, stream: str) -> bool:
    """Whether what is lifted draws from a stream, and more than a mask."""
    lifted = call.args[0] if call.args else None
    return any(
        name == stream and use.by != _MASK and any(_runs(it, lifted) for it in use.frame.callers())
        for name, use in _draws(facts)
    )


@remembered
def _draws(facts: SourceFacts) -> list[tuple[str, KeyUse]]:
    """The draws from keys that modules make of their streams, by the name of the stream."""
    found = [(_stream_of(use.key.node), use) for use in facts.events(KeyUse)]
    return [
        (name, use) for name, use in found if name and use.by.rpartition(".")[2] not in _PASSING
    ]


_PASSING = frozenset(("split", "fold_in"))


def _stream_of(key: Node) -> str:
    """The name in `self.make_rng("noise")`, which a key comes from; empty if it does not."""
    while key.operation in _CHILDREN and key.inputs:
        key = key.inputs[0]
    method, syntax = key.inputs[0] if key.inputs else None, key.syntax
    if key.operation != "call" or method is None or method.label != _MAKES_KEY:
        return ""
    named = [it.value for it in syntax.keywords] if isinstance(syntax, ast.Call) else []
    given = [*syntax.args, *named] if isinstance(syntax, ast.Call) else []
    name = given[0].value if given and isinstance(given[0], ast.Constant) else ""
    return name if isinstance(name, str) else ""


def _runs(frame: Frame, lifted: Value | None) -> bool:
    """Whether a frame runs a method of what is lifted, or that itself."""
    if isinstance(lifted, Function):
        return frame.function is lifted.syntax
    owner = next(iter(frame.given.values()), None)
    return isinstance(lifted, Class) and isinstance(owner, Instance) and owner.cls is lifted


def _said_at(call: Call, is_split: Value) -> Place:
    origin = is_split.origin if isinstance(is_split, Constant) else None
    return origin[0].place(origin[1]) if origin is not None else call.place
