"""The data in a value, by the way to it: `learner.params`, `batch[0]`, `state['w']`."""

from __future__ import annotations

from collections.abc import Iterator

from ..values import Data, Instance, Mapping, Sequence, Value, is_bounded, leaves

# Objects within objects whose parts are named.
_DEEPEST = 6


def leaves_by_path(path: str, value: Value) -> Iterator[tuple[str, Data]]:
    """The data in a value, each with the way to it; without the way where there is very much."""
    if is_bounded(value):
        yield from _parts(path, value, 0)
    else:
        for leaf in leaves(value):
            yield path, leaf


def _parts(path: str, value: Value, depth: int) -> Iterator[tuple[str, Data]]:
    if isinstance(value, Data):
        yield path, value
    elif depth == _DEEPEST:
        for leaf in leaves(value):
            yield path, leaf
    elif isinstance(value, Sequence) and value.items is not None:
        names = list(value.type.fields) if value.type is not None else []
        for number, item in enumerate(value.items):
            named = number < len(names)
            inside = f"{path}.{names[number]}" if named else f"{path}[{number}]"
            yield from _parts(inside, item, depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items.items():
            shown = repr(key) if isinstance(key, (str, int)) else "…"
            yield from _parts(f"{path}[{shown}]", item, depth + 1)
    elif isinstance(value, Instance) and value.attributes:
        for name, item in value.attributes.items():
            yield from _parts(f"{path}.{name}", item, depth + 1)
    else:
        for leaf in leaves(value):
            yield path, leaf
