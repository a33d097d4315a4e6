"""The place that a lens points at, as text."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from ._lens import Lens

_LONGEST = 200  # A getter that goes on and on, to the end of a chain, has no end here.


def path_of(lens: Lens[Any, Any], start: str = "state") -> str | None:
    """Where a lens points, as one would write it; None if that takes a state to find out.

    No state is needed: the getter is given one that takes down what is asked of it. So a getter
    that loops, compares or computes tells nothing.

    Example:
        >>> from verax.state import lens
        >>> path_of(lens(lambda s: s.neighbours["edges"].size))
        "state.neighbours['edges'].size"
        >>> path_of(lens(lambda s: (s.atoms, s.bonds)))
        'state.atoms, state.bonds'
        >>> path_of(lens(lambda s: s.atoms + 1)) is None
        True

    Args:
        lens: any lens.
        start: what to call the state.
    """
    try:
        return _text(lens.get(_Trail(start)))
    except Exception:  # whatever the getter wanted of a real state
        return None


def _text(found: Any) -> str | None:
    if type(found) is _Trail:
        return found.verax_text
    if isinstance(found, tuple | list) and found:
        parts = [_text(part) for part in cast("list[Any]", found)]
        return None if None in parts else ", ".join(map(str, parts))
    return None


class _UntoldError(Exception):
    """A getter asked for what only a real state knows."""


class _Trail:
    """Stands for a state, or a part of it, of which nothing but the way to it is known."""

    __slots__ = ("verax_text",)

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise _UntoldError
        self.verax_text = text

    def __getattr__(self, name: str) -> _Trail:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Trail(f"{self.verax_text}.{name}")

    def __getitem__(self, key: object) -> _Trail:
        return _Trail(f"{self.verax_text}[{_key(key)}]")

    @property
    def __class__(self) -> NoReturn:  # pyright: ignore  # asked for by isinstance
        raise _UntoldError

    def __bool__(self) -> bool:
        raise _UntoldError

    def __iter__(self) -> NoReturn:  # else Python would count through __getitem__
        raise _UntoldError

    def __contains__(self, item: object) -> bool:
        raise _UntoldError

    def __eq__(self, other: object) -> bool:
        raise _UntoldError

    __hash__ = None  # pyright: ignore


def _key(key: object) -> str:
    if isinstance(key, slice):
        parts = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
        return ":".join("" if part is None else _key(part) for part in parts)
    if isinstance(key, tuple):
        return ", ".join(map(_key, cast("tuple[object, ...]", key)))
    if isinstance(key, int | str):
        return repr(key)
    raise _UntoldError
