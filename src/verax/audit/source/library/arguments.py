"""The arguments of a call: by position or by name, and as what is to be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import NONE, Constant, Value

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


def argument(
    args: list[Value], keywords: dict[str, Value], position: int, name: str
) -> Value | None:
    """The argument that a function takes at a position, or by a name."""
    return args[position] if position < len(args) else keywords.get(name)


def first_of(args: list[Value]) -> Value:
    """The first argument by position; `None` if there is none."""
    return args[0] if args else NONE


def compare_by_key(
    machine: Interpreter, site: Site, value: Value, keywords: dict[str, Value]
) -> None:
    """Python compares what a function makes of a value, one by one: `key=` of `sorted` or `max`."""
    key = keywords.get("key")
    if key is not None and not isinstance(key, Constant):
        machine.convert(site, "compared", machine.call(site, key, [value], {}))
