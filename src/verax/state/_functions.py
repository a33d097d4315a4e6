"""Functions as parts of a value: which of them are the same, and what they are called.

A lens is often made anew inside a function that runs many times. Its lambda is then a new object
at every run, with the same code. Lenses compare such lambdas as equal, so that a lens in a static
field does not make `jit` compile again.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def same_function(one: Any, other: Any) -> bool:
    """Whether two functions are the same object, or the same code closed over the same values."""
    if one is other:
        return True
    if not (isinstance(one, FunctionType) and isinstance(other, FunctionType)):
        return type(one) is type(other) and bool(one == other)
    return (
        one.__code__ == other.__code__
        and one.__globals__ is other.__globals__
        and _all_same(_closed_over(one), _closed_over(other))
        and _all_same(one.__defaults__ or (), other.__defaults__ or ())
        and one.__kwdefaults__ == other.__kwdefaults__
    )


def function_hash(function: Any) -> int:
    """A hash that is equal for functions that `same_function` calls the same."""
    return hash(function.__code__ if isinstance(function, FunctionType) else function)


def function_name(function: Any) -> str:
    """What a user recognises a function by: its name and where it stands."""
    name = getattr(function, "__qualname__", None) or repr(function)
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"


def _closed_over(function: FunctionType) -> tuple[Any, ...]:
    return tuple(cell.cell_contents for cell in function.__closure__ or ())


def _all_same(ones: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(ones) == len(others) and all(map(_same, ones, others))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, FunctionType):
        return same_function(one, other)
    if one is other:
        return True
    try:  # arrays cannot be hashed, and comparing them gives no boolean
        return type(one) is type(other) and hash(one) == hash(other) and bool(one == other)
    except TypeError:
        return False
