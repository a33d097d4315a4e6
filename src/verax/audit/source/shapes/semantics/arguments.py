"""Functions of arrays: their parameters, and arguments bound to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..dims import Dim, Size
from ..dtypes import DType, named
from ..shape import Axes, Shape
from ..values import ANYTHING, UNKNOWN, Arg, Unknown, Value


@dataclass(frozen=True, slots=True)
class ArrayFunction:
    """A function's parameters in order, and what it returns.

    `keywords` are those given by name only; `rest` is the name of `*rest`, or empty.
    """

    parameters: tuple[str, ...]
    result: Callable[[Arguments], Value]
    keywords: tuple[str, ...] = ()
    rest: str = ""

    def __call__(
        self, positional: Sequence[Arg] = (), keywords: Mapping[str, Arg] | None = None
    ) -> Value:
        """What a call returns; raises `Mismatch` where the call is certain to fail."""
        bound = self.bind(positional, keywords or {})
        if bound is None or not (bound.bound or bound.rest):
            return ANYTHING
        return self.result(bound)

    def bind(self, positional: Sequence[Arg], keywords: Mapping[str, Arg]) -> Arguments | None:
        """Arguments by parameter; None if they do not fit."""
        bound = dict(zip(self.parameters, positional, strict=False))
        extra = positional[len(self.parameters) :]
        if extra and not self.rest:
            return None
        if keywords:
            given = {**bound, **keywords}
            bound = {name: given[name] for name in self.parameters if name in given} | given
        first = self.parameters[0] if self.parameters else self.rest
        return Arguments(bound, first, tuple(extra))


class Arguments:
    """The arguments of one call. A parameter that is absent reads as its default."""

    __slots__ = ("bound", "first", "rest")

    def __init__(self, bound: Mapping[str, Arg], first: str, rest: tuple[Arg, ...]):
        self.bound: Mapping[str, Arg] = bound
        self.first: str = first
        self.rest: tuple[Arg, ...] = rest

    @property
    def array(self) -> Arg:
        """The first argument, which methods call `self`."""
        return self.bound.get(self.first, ANYTHING)

    def leading(self, count: int) -> list[Arg]:
        """The first few arguments, by the order of the parameters, given or not."""
        found = [*self.bound.values()][:count]
        return found + [ANYTHING] * (count - len(found))

    def __getitem__(self, name: str) -> Arg:
        return self.bound.get(name, ANYTHING)

    def given(self, name: str) -> bool:
        """Whether there is an argument other than None."""
        arg = self.bound.get(name)
        return arg is not None and arg.constant is not None

    def constant(self, name: str, default: object = None) -> object:
        """The constant, UNKNOWN if it is none."""
        arg = self.bound.get(name)
        return default if arg is None else arg.constant

    def integer(self, name: str, default: int | None) -> int | Unknown | None:
        """An integer argument; one that is symbolic is unknown."""
        value = self.constant(name, default)
        return value if value is None or type(value) is int else UNKNOWN

    def flag(self, name: str) -> bool | Unknown:
        """A boolean argument that is False by default."""
        value = self.constant(name, False)
        return value if isinstance(value, bool) else UNKNOWN

    def size(self, name: str) -> Dim:
        """An argument that is a size; None if it is unknown or absent."""
        value = self.constant(name)
        return value if type(value) is int or isinstance(value, Size) else None

    def axes(self, name: str, default: Axes = None) -> Axes | Unknown:
        """An axis, several, or None."""
        value = constant_of(self.bound[name]) if name in self.bound else default
        if value is None or type(value) is int:
            return value
        if isinstance(value, tuple) and all(type(axis) is int for axis in value):
            return value
        return UNKNOWN

    def sizes(self, name: str) -> Shape:
        """An argument that is a shape: an integer or a sequence of them."""
        return sizes_of(self[name])

    def dtype(self, name: str, default: DType) -> DType:
        """The type asked for, or the default if none is."""
        arg = self.bound.get(name)
        if arg is None or arg.constant is None:
            return default
        return named(arg.constant)

    def sequence(self, name: str) -> Sequence[Arg] | None:
        """The items of a list of arrays, or the rows of one array."""
        return items_of(self[name])


def constant_of(arg: Arg) -> object:
    """The constant, put together from those of a list's items if need be."""
    if arg.constant is UNKNOWN and arg.elements is not None:
        return tuple(constant_of(item) for item in arg.elements)
    return tuple(arg.constant) if isinstance(arg.constant, list) else arg.constant


def sizes_of(arg: Arg) -> Shape:
    """The shape that a constant says."""
    value = constant_of(arg)
    if isinstance(value, tuple):
        return tuple(map(_size, value))
    return (_size(value),) if type(value) is int or isinstance(value, Size) else None


def _size(value: object) -> Dim:
    return value if type(value) is int or isinstance(value, Size) else None


def items_of(arg: Arg) -> Sequence[Arg] | None:
    """The items of a list of arrays, or the rows of one array."""
    if arg.elements is not None:
        return arg.elements
    shape = arg.shape
    if isinstance(shape, tuple) and shape and type(shape[0]) is int and shape[0] <= 64:
        return (Value(shape[1:], arg.dtype),) * shape[0]
    return None


def number_of(arg: Arg) -> int | float | Size | None:
    """A number, if it is known."""
    value = arg.constant
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (int, float, Size)) else None
