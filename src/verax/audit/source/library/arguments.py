"""An argument of a call, by position or by name."""

from __future__ import annotations

from ..values import Value


def argument(
    args: list[Value], keywords: dict[str, Value], position: int, name: str
) -> Value | None:
    """The argument that a function takes at a position, or by a name."""
    return args[position] if position < len(args) else keywords.get(name)
