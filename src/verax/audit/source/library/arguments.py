"""An argument of a call, by position or by name."""

from __future__ import annotations

from ..values import NONE, Value


def argument(
    args: list[Value], keywords: dict[str, Value], position: int, name: str
) -> Value | None:
    """The argument that a function takes at a position, or by a name."""
    return args[position] if position < len(args) else keywords.get(name)


def first_of(args: list[Value]) -> Value:
    """The first argument by position; `None` if there is none."""
    return args[0] if args else NONE
