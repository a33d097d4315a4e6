"""Shapes and dtypes of values, where the program tells them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .graph import Node
from .values import Constant, Data, Sequence, Value

if TYPE_CHECKING:
    from .frame import Site
    from .machine import Interpreter


def of_operator(
    machine: Interpreter, site: Site, symbol: str, left: Value, right: Value, result: Data
) -> None:
    """The shape of what an operator gives."""


def of_index(machine: Interpreter, site: Site, base: Data, index: Value, result: Data) -> None:
    """The shape of what indexing gives."""


def array_function(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Data:
    """The array that a function of JAX or NumPy gives."""
    operands = (*args, *keywords.values())
    return machine.array(name, site, operands, is_jax=not name.startswith("numpy"))


def array_method(
    machine: Interpreter,
    site: Site,
    name: str,
    owner: Data,
    args: list[Value],
    keywords: dict[str, Value],
) -> Data:
    """The array that a method of an array gives."""
    operands = (owner, *args, *keywords.values())
    return machine.array(f"ndarray.{name}", site, operands, is_jax=False)


def size_symbol(shape: Node, axis: int) -> Any:
    """A symbol for one size of a shape that is not known."""
    return f"{shape.inputs[0].label if shape.inputs else ''}.shape[{axis}]"


def unpacked_shape(machine: Interpreter, value: Data, count: int, targets: list[ast.expr]) -> Value:
    """A shape that is unpacked into some names has that many sizes."""
    return value


def length_of(value: Value) -> Any:
    """How many elements going through a value gives, if that is known."""
    if isinstance(value, Sequence):
        return value.length
    if isinstance(value, Constant):
        return None
    return None
