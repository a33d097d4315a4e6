"""Inputs from jaxtyping's annotations: `Float[Array, "batch time feat"]`.

Annotations are read by their text, so that jaxtyping need not be installed, and so that those that
only type checkers import count as well.
"""

from __future__ import annotations

import ast
import inspect
import operator
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, Union, cast, get_args, get_origin

from .specs import DTYPES, ArraySpec
from .syntax import expression_in

# What a parameter of each class gets: the dtype that JAX itself would choose.
_DTYPES = {
    "Float": "float32",
    "Int": "int32",
    "Integer": "int32",
    "UInt": "uint32",
    "Bool": "bool",
    "Complex": "complex64",
    "Inexact": "float32",
    "Real": "float32",
    "Num": "float32",
    "Shaped": "float32",
    "Key": "key",
    "BFloat16": "bfloat16",
    **{f"Float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"Int{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"Complex{bits}": f"complex{bits}" for bits in (64, 128)},
}


class UnknownSizeError(Exception):
    """An annotation leaves a size open; `form` is the spec to write, without its sizes."""

    def __init__(self, names: tuple[str, ...], form: str):
        self.names = names
        self.form = form
        super().__init__(names, form)


def spec_of(annotation: object, dims: Mapping[str, int]) -> ArraySpec | None:
    """The array that an annotation describes, or `None` where it describes none.

    Raises:
        UnknownSizeError: It does, but the size of an axis is not known.
    """
    found = _read(annotation)
    return None if found is None else _with_sizes(*found, dims)


def _read(annotation: object) -> tuple[str, str] | None:
    """The dtype and the text of the dimensions."""
    if isinstance(annotation, str):
        return _read_text(annotation)
    if getattr(annotation, "__name__", "") == "PRNGKeyArray":
        return "key", ""
    if get_origin(annotation) is Union or type(annotation).__name__ == "UnionType":
        options = [_read(option) for option in get_args(annotation)]
        return next((option for option in options if option is not None), None)
    kind = getattr(getattr(annotation, "dtype", None), "__name__", None)
    dimensions = getattr(annotation, "dim_str", None)
    if kind in _DTYPES and isinstance(dimensions, str):
        return _DTYPES[kind], dimensions
    return None


def _read_text(annotation: str) -> tuple[str, str] | None:
    tree = expression_in(annotation.strip())
    return None if tree is None else read_tree(tree)


def read_tree(tree: ast.expr) -> tuple[str, str] | None:
    """The dtype and the text of the dimensions, from the syntax of an annotation."""
    match tree:
        case ast.Constant(value=str(text)):
            return _read_text(text)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return read_tree(left) or read_tree(right)
        case ast.Name("PRNGKeyArray") | ast.Attribute(attr="PRNGKeyArray"):
            return "key", ""
        case ast.Subscript(
            value=ast.Name(kind) | ast.Attribute(attr=kind),
            slice=ast.Tuple(elts=[_, ast.Constant(value=str(dimensions))]),
        ) if kind in _DTYPES:
            return _DTYPES[kind], dimensions
        case _:
            return None


def _with_sizes(dtype: str, dimensions: str, dims: Mapping[str, int]) -> ArraySpec:
    axes: list[str] = []
    sizes: list[int | None] = []
    unknown: list[str] = []
    form: list[str] = []
    for part in dimensions.split():
        name, size = _dimension(part, dims)
        axes.append(name)
        sizes.append(size)
        if size is None:
            unknown.append(part)
        form.append(f"{name}={size or 8}" if name else str(size or 8))
    if unknown:
        raise UnknownSizeError(tuple(unknown), f"{_short(dtype)}[{','.join(form)}]")
    return ArraySpec(dtype, tuple(size for size in sizes if size is not None), tuple(axes))


def _short(dtype: str) -> str:
    return next(short for short, long in DTYPES.items() if long == dtype)


def _dimension(part: str, dims: Mapping[str, int]) -> tuple[str, int | None]:
    """The name (or "") and the size (or `None`) of one dimension, in jaxtyping's grammar."""
    text = part.lstrip("#?")
    if text.startswith(("*", "...", "_")):
        return "", None
    name, equals, value = text.partition("=")
    if equals:
        return (name if name.isidentifier() else ""), _evaluate(value, dims)
    if text.isidentifier():
        return text, dims.get(text)
    return "", _evaluate(text, dims)


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def _evaluate(text: str, dims: Mapping[str, int]) -> int | None:
    syntax = expression_in(text.strip("{}"))
    try:
        size = None if syntax is None else _value(syntax, dims)
    except ZeroDivisionError:
        return None
    return size if size is not None and size >= 0 else None


def _value(tree: ast.expr, dims: Mapping[str, int]) -> int | None:
    match tree:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(name):
            return dims.get(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _value(left, dims), _value(right, dims)
            if first is None or second is None:
                return None
            return _OPERATORS[type(op)](first, second)
        case _:
            return None


def fields_of(annotation: object) -> dict[str, Any] | None:
    """The fields of a named tuple or dataclass with their annotations, or `None` for others."""
    if not isinstance(annotation, type):
        return None
    own: Any = annotation
    if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        names = tuple(own._fields)
    elif hasattr(annotation, "__dataclass_fields__"):
        names = tuple(name for name, it in own.__dataclass_fields__.items() if it.init)
    else:
        return None
    hints = hints_of(annotation)
    return {name: hints.get(name) for name in names}


def hints_of(owner: object) -> dict[str, Any]:
    """The annotations of a function or class: evaluated where that is possible, else as text."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except Exception:  # any name in any annotation may be there for type checkers only
        return _one_by_one(owner)


def _one_by_one(owner: object) -> dict[str, Any]:
    parts = reversed(owner.__mro__) if isinstance(owner, type) else [inspect.unwrap(_plain(owner))]
    hints: dict[str, Any] = {}
    for part in parts:
        module = sys.modules.get(getattr(part, "__module__", None) or "")
        names: dict[str, Any] = getattr(part, "__globals__", None) or vars(module or typing)
        try:
            own = inspect.get_annotations(part)
        except Exception:  # since Python 3.14, annotations are evaluated when they are asked for
            own = {}
        hints |= {name: _evaluated(annotation, names) for name, annotation in own.items()}
    return hints


def _plain(owner: object) -> Callable[..., Any]:
    if inspect.ismethod(owner):
        return owner.__func__
    is_function = inspect.isroutine(owner) or hasattr(owner, "__wrapped__")
    return cast(Callable[..., Any], owner if is_function else type(owner).__call__)


def _evaluated(annotation: object, names: dict[str, Any]) -> object:
    if isinstance(annotation, typing.ForwardRef):  # what named tuples make of a text
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except Exception:
        return annotation
