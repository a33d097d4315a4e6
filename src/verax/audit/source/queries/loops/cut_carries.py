"""Where floats are cut to the integers that a carry started as."""

from __future__ import annotations

import ast

from ...graph import Node
from ...operations import BOUNDS, CASTS_TO_GIVEN, INTEGER_CASTS, SELECTIONS, WRITTEN
from ...shapes.dtypes import is_float
from ...values import Data

_CASTS = CASTS_TO_GIVEN | INTEGER_CASTS
_WHOLE = ("floor", "round", "ceil", "trunc", "rint", "fix")
_SELECTIONS = SELECTIONS | BOUNDS
# They give fractions even of whole numbers.
_FRACTIONS = frozenset(
    "mean average std var median sqrt exp log log1p tanh sigmoid softmax norm".split()
)


def cut_at(node: Node, carry: Node) -> Node | None:
    """What is cast to the carry's integers, or written into them, on the way to the next carry.

    It is a float that is not whole, and made from the carry, or the program says that it is to be
    of the carry's type, whichever that is.
    """
    if node.operation in _SELECTIONS:
        return next((found for it in node.inputs if (found := cut_at(it, carry))), None)
    if node.operation in ("+", "-") and carry in node.inputs:
        added = [it for it in node.inputs if it is not carry]
        return next((it for it in added if _is_cut(it, carry)), None)
    if node.operation in WRITTEN and node.inputs[:1] == (carry,):
        given = node.operands[-1]
        value = given.node if isinstance(given, Data) else None
        is_put = value is not None and is_float(value.dtype)
        if value is not None and is_put and any(_is_broken(it, carry) for it in value.ancestors()):
            return node
        return value if value is not None and _is_cut(value, carry) else None
    return node if _is_cut(node, carry) else None


def _is_cut(node: Node, carry: Node) -> bool:
    """Whether a value is the cast of a float with a fraction."""
    if node.operation not in _CASTS or not node.inputs or not is_float(node.inputs[0].dtype):
        return False
    value = node.inputs[0]
    if value.operation.rpartition(".")[2] in _WHOLE:
        return False
    if value.depends_on(carry):
        return _is_made_broken(value, carry)
    return _is_as_carry(node) and any(_is_broken(it, carry) for it in value.ancestors())


def _is_as_carry(cast: Node) -> bool:
    """Whether a cast names no type, but asks an array for its own."""
    call = cast.syntax
    given = [*call.args, *(it.value for it in call.keywords)] if isinstance(call, ast.Call) else []
    return any(isinstance(it, ast.Attribute) and it.attr == "dtype" for it in given)


def _is_made_broken(node: Node, carry: Node) -> bool:
    """Whether a value is made from the carry, and by something that gives fractions."""
    way = [it for it in node.ancestors() if it is not carry and it.depends_on(carry)]
    return any(_is_broken(it, carry) for it in way)


def _is_broken(node: Node, carry: Node) -> bool:
    name = node.operation.rpartition(".")[2]
    if node.operation == "/" or name in _FRACTIONS:
        return True
    if node.operation not in ("*", "+", "-", "**") and node.operation not in _SELECTIONS:
        return False
    syntax = node.syntax or ast.Pass()
    numbers = [it for it in ast.walk(syntax) if isinstance(it, ast.Constant)]
    if any(isinstance(it.value, float) and it.value % 1 for it in numbers):
        return True
    return node.depends_on(carry) and any(
        is_float(it.dtype) and not it.depends_on(carry) for it in node.inputs
    )
