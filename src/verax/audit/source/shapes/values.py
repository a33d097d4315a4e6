"""What is known of a value in a program, as the array functions read and write it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from .dtypes import DType
from .shape import Shape


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown.UNKNOWN
Unknown: TypeAlias = Literal[_Unknown.UNKNOWN]


class Arg(Protocol):
    """An argument of an array function; the interpreter's own values can be arguments."""

    @property
    def shape(self) -> Shape:
        """Its shape if it is an array; that of a number is `()`."""
        ...

    @property
    def dtype(self) -> DType:
        """Its element type if it is an array; that of a number is weak."""
        ...

    @property
    def constant(self) -> object:
        """A Python constant, or UNKNOWN.

        A number, string or None; a `Size`, for an integer that is the size of an axis; the name of
        a dtype; or a tuple of constants, some of which may be UNKNOWN.
        """
        ...

    @property
    def elements(self) -> Sequence[Arg] | None:
        """The items of a list or tuple, if they are known."""
        ...


class Value(NamedTuple):
    """What a function returns: an array, a number, or a tuple of them (`elements`)."""

    shape: Shape = None
    dtype: DType = None
    constant: object = UNKNOWN
    elements: tuple[Value, ...] | None = None


ANYTHING = Value()


def several(*values: Value) -> Value:
    """A tuple of values."""
    return Value(elements=values)
