"""The arguments of a call of a transformed function: which are static, which are not."""

from __future__ import annotations

from collections.abc import Iterator

from ..binding import all_names
from ..classes import innermost_function
from ..events import Applied
from ..library.options import STATIC_OPTIONS, axes_of, constants, free_names, static_names
from ..values import Constant, Data, Transformed, Value


def _named(applied: Applied) -> Iterator[tuple[object, str, Value]]:
    """Each argument with its position and its parameter's name."""
    names = free_names(applied.transformed)
    for position, value in enumerate(applied.args):
        yield position, names[position] if position < len(names) else str(position), value
    for name, value in applied.keywords.items():
        yield name, name, value


def static_arguments(applied: Applied) -> Iterator[tuple[str, Value]]:
    """The arguments that a jitted function takes as they are, by their names."""
    if applied.transformed.kind == "jit":
        static = static_names(applied.transformed)
        for position, name, value in _named(applied):
            if position in static or name in static:
                yield name, value


def donated_positions(transformed: Transformed) -> dict[object, str]:
    """The positions and names of the arguments whose memory is given away, with their names."""
    names = free_names(transformed)
    found: dict[object, str] = {}
    for option in ("donate_argnums", "donate_argnames"):
        for value in constants(transformed.options.get(option)):
            if isinstance(value, int) and value < len(names):
                found[value % max(len(names), 1)] = names[value]
                found[names[value]] = names[value]
            elif isinstance(value, str):
                found[value] = value
                if value in names:
                    found[names.index(value)] = value
    return found


def ordinary_arguments(applied: Applied) -> Iterator[tuple[str, Value]]:
    """The arguments that are traced; none if it is not known which are."""
    options = applied.transformed.options
    static = static_names(applied.transformed)
    is_told = not options.keys().isdisjoint(STATIC_OPTIONS)
    if is_told and (not static or any(isinstance(it, Data) for it in options.values())):
        return
    function = innermost_function(applied.transformed.function)
    own = all_names(function) if function is not None else []
    if any(it not in own for it in constants(options.get("static_argnames"))):
        return  # It is called with a signature that is not known here.
    for position, name, value in _named(applied):
        if position not in static and name not in static:
            yield name, value


def mapped_arguments(applied: Applied) -> Iterator[Value]:
    """The arguments that a `vmap` certainly takes apart along an axis."""
    transformed = applied.transformed
    if transformed.kind != "vmap" or transformed.is_filtered:
        return
    axes = axes_of(transformed, len(applied.args))
    for value, axis in zip(applied.args, axes, strict=True):
        if isinstance(axis, Constant) and axis.value is not None:
            yield value
