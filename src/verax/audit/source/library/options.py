"""What the options of a transformation say: which arguments are static, mapped, differentiated."""

from __future__ import annotations

from ..binding import positional_names
from ..classes import innermost_function
from ..values import (
    Bound,
    Constant,
    Instance,
    Partial,
    Sequence,
    Transformed,
    Value,
)

STATIC_OPTIONS = ("static_argnums", "static_argnames", "static_broadcasted_argnums")
DERIVATIVES = frozenset("grad value_and_grad jacrev jacfwd hessian".split())


def free_names(transformed: Transformed) -> list[str]:
    """The positional parameters that a call fills: not an object's method or a partial."""
    function = innermost_function(transformed.function)
    names = positional_names(function) if function is not None else []
    value = transformed.function
    while isinstance(value, (Bound, Partial, Transformed)):
        if isinstance(value, Bound):
            names = names[1:]
        elif isinstance(value, Partial):
            names = names[len(value.args) :]
        value = value.function
    # A callable object is what its own method is called on.
    return names[1:] if isinstance(value, (Instance, Sequence)) else names


def static_names(transformed: Transformed) -> set[object]:
    """Positions and names of the arguments that a jitted function takes as they are."""
    found: set[object] = set()
    names = free_names(transformed)
    for option in (*STATIC_OPTIONS, "nondiff_argnums", "nondiff_argnames"):
        for value in constants(transformed.options.get(option)):
            if isinstance(value, int) and not isinstance(value, bool):
                position = value + len(names) if value < 0 else value
                found.add(position)
                if 0 <= position < len(names):
                    found.add(names[position])
            elif isinstance(value, str):
                found.add(value)
                if value in names:
                    found.add(names.index(value))
    return found


def options_unknown(transformed: Transformed) -> bool:
    """Whether it is not known which arguments are static."""
    for option in STATIC_OPTIONS:
        value = transformed.options.get(option)
        is_none = value is None or (isinstance(value, Sequence) and value.items == [])
        if not is_none and not isinstance(value, Constant) and not constants(value):
            return True
    return False


def constants(value: Value | None) -> list[object]:
    """The constants in an argument that is one, or a tuple or list of them."""
    if isinstance(value, Constant):
        return [] if value.value is None else [value.value]
    if isinstance(value, Sequence):
        return [found for item in value.items or () for found in constants(item)]
    return []


def axes_of(transformed: Transformed, count: int) -> list[Value | None]:
    """`in_axes` for each positional argument; `None` where it is not known."""
    value = transformed.options.get("in_axes")
    if value is None:
        return [Constant(0)] * count
    if isinstance(value, Constant):
        return [value] * count
    if isinstance(value, Sequence) and value.items is not None:
        return [*value.items, *[None] * count][:count]
    return [None] * count


def argument_numbers(transformed: Transformed) -> list[int] | None:
    """The positions of the arguments that are differentiated; `None` if they are not known."""
    value = transformed.options.get("argnums")
    if value is None:
        return [0]
    found = constants(value)
    numbers = [it for it in found if isinstance(it, int)]
    return numbers if numbers else None
