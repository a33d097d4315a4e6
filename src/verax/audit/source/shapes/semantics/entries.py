"""How the table is written: names of functions that share parameters and a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ..values import Value
from .arguments import Arguments, ArrayFunction

Rule: TypeAlias = Callable[[Arguments], Value]
Table: TypeAlias = dict[str, ArrayFunction]


def function(signature: str, rule: Rule) -> ArrayFunction:
    """A function with the parameters of a signature such as `a, axis, *, where`."""
    positional: list[str] = []
    keywords: list[str] = []
    rest = ""
    names = positional
    for name in signature.split(", "):
        if name == "*":
            names = keywords
        elif name.startswith("*"):
            rest, names = name[1:], keywords
        elif name:
            names.append(name)
    return ArrayFunction(tuple(positional), rule, tuple(keywords), rest)


def entries(
    module: str, names: str, signature: str, rule: Rule
) -> Iterator[tuple[str, ArrayFunction]]:
    """The same function under several names of a module."""
    shared = function(signature, rule)
    for name in names.split():
        yield f"{module}.{name}", shared
