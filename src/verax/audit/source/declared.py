"""What a function says of its arrays in annotations, against what it is given and returns.

Annotations of jaxtyping hold for one call: the axes of the arguments say what each name stands for,
and an axis of the result that has one of these names has to be that axis.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..words import is_batch, is_sequence
from .axes import annotated_shape, names_of
from .events import Fact
from .numbering import number_of
from .parameters import parameters
from .shapes import Dim, Shape
from .shapes.dims import differ
from .shapes.names import meetings, name_of
from .values import Data, Sequence, Value

if TYPE_CHECKING:
    from .frame import Frame, Site
    from .graph import Node
    from .machine import Interpreter
    from .values import Function

_TUPLES = frozenset(("tuple", "Tuple"))


def compare_arguments(machine: Interpreter, site: Site, function: Function, inner: Frame) -> None:
    """Note an axis of the batch that is passed as one of time, or the other way round.

    Only where the caller has an axis of the other kind as well: a function of a batch can be given
    the steps of the only trajectory there is. Any axis is noted where a map has taken just the one
    away that the function asks for by its name. And note where the sizes of the arguments are
    others than the annotations of the parameters say.
    """
    contradiction = _contradiction(function, inner, inner.environment)
    if contradiction is not None:
        machine.note(Fact(site.syntax, site.frame, "passed with other sizes", contradiction))
    for name, value, told in _annotated(function, inner.environment):
        shape = value.node.shape
        if not isinstance(shape, tuple) or not isinstance(told, tuple) or len(shape) != len(told):
            continue
        for dim, own in zip(shape, told, strict=True):
            given, wanted = name_of(dim), name_of(own)
            is_mixed = _are_batch_and_time(given, wanted) and _has_axis_like(wanted, site.frame)
            if is_mixed or (given and given != wanted and _is_taken_from(value.node, wanted)):
                data = {"names": (given, wanted), "operands": [value], "parameter": name}
                machine.note(Fact(site.syntax, site.frame, "passed otherwise", data))


def compare_returns(machine: Interpreter, function: Function, inner: Frame) -> None:
    """Note results that are other arrays than the annotation of the function says."""
    syntax = function.syntax
    if isinstance(syntax, ast.Lambda) or syntax.returns is None or machine.choices:
        return
    if not _tells(syntax.returns, 0) or _contradiction(function, inner, inner.given):
        return
    names = _meanings(function, inner)
    for at, value in inner.returns:
        for annotation, part in _parts(syntax.returns, value):
            problem = _problem(annotation, part.node.shape, number_of(syntax), names)
            if problem is not None:
                data = {"problem": problem, "value": part, "annotation": annotation}
                is_other_rank = problem[0].endswith(("axis", "axes"))
                kind = "returned with other axes" if is_other_rank else "returned otherwise"
                machine.note(Fact(at, inner, kind, data))
                return


def learn_returns(function: Function, inner: Frame, result: Value) -> None:
    """What the annotation of a function tells of a result of which nothing else is known."""
    syntax = function.syntax
    if isinstance(syntax, ast.Lambda) or syntax.returns is None or not _tells(syntax.returns, 0):
        return
    names: dict[str, Dim] | None = None
    for annotation, part in _parts(syntax.returns, result):
        node = part.node
        told = (
            annotated_shape(annotation, number_of(syntax), number_of(inner))
            if node.shape is None
            else None
        )
        if told is None or not isinstance(told[0], tuple) or node.operation == "parameter":
            continue
        if names is None:
            names = _meanings(function, inner)
        node.has_told_shape = True
        node.shape = tuple(names.get(name_of(dim), dim) for dim in told[0])
        node.dtype = node.dtype or told[1]


def _tells(annotation: ast.expr, depth: int) -> bool:
    """Whether an annotation says something of an array."""
    if annotated_shape(annotation, "") is not None:
        return True
    return depth < 2 and any(_tells(it, depth + 1) for it in _elements(annotation))


def _elements(annotation: ast.expr) -> list[ast.expr]:
    """The annotations of a tuple's elements."""
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.slice, ast.Tuple):
        return []
    base = annotation.value
    name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
    return annotation.slice.elts if name in _TUPLES else []


def _parts(annotation: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Data]]:
    """The arrays of a result with their annotations."""
    if isinstance(value, Data):
        if annotated_shape(annotation, "") is not None:
            yield annotation, value
    elif isinstance(value, Sequence) and value.items is not None:
        elements = _elements(annotation)
        if len(elements) == len(value.items):
            for one, item in zip(elements, value.items, strict=True):
                yield from _parts(one, item)


def _annotated(function: Function, given: dict[str, Value]) -> Iterator[tuple[str, Data, Shape]]:
    """The arguments of which annotations tell something."""
    for argument in parameters(function.syntax):
        value = given.get(argument.arg) if argument.annotation is not None else None
        if isinstance(value, Data) and value.node.shape is not None:
            told = annotated_shape(argument.annotation, number_of(function.syntax))
            if told is not None:
                yield argument.arg, value, told[0]


def _meanings(function: Function, inner: Frame) -> dict[str, Dim]:
    """What the names of axes stand for in this call."""
    found: dict[str, Dim] = {}
    for _, value, told in _annotated(function, inner.given):
        shape = value.node.shape
        if isinstance(shape, tuple) and isinstance(told, tuple) and len(shape) == len(told):
            for dim, own in zip(shape, told, strict=True):
                if name_of(own) and dim is not None:
                    found.setdefault(name_of(own), dim)
    return found


def _contradiction(
    function: Function, inner: Frame, given: dict[str, Value]
) -> dict[str, Any] | None:
    """An argument that has another size than annotations of the parameters say, if there is one.

    What a function returns cannot be held against its annotation then.
    """
    sizes: dict[str, tuple[int, str]] = {}
    for parameter, value, told in _annotated(function, given):
        shape = value.node.shape
        if not isinstance(shape, tuple) or not isinstance(told, tuple) or len(shape) != len(told):
            continue
        for dim, own in zip(shape, told, strict=True):
            name = name_of(own)
            expected, where = sizes.get(name, (own, "")) if name else (own, "")
            if type(dim) is not int:
                continue
            if type(expected) is int and expected != dim:
                written = {it.arg: it.annotation for it in parameters(function.syntax)}
                at = inner.place(written[parameter] or function.syntax)
                data = {"parameter": parameter, "other": where, "sizes": (expected, dim)}
                return data | {"axis": name, "declared": at, "function": function.syntax}
            if name:
                sizes.setdefault(name, (dim, parameter))
    return None


def _problem(
    annotation: ast.expr, shape: Shape, scope: str, names: dict[str, Dim]
) -> tuple[str, str] | None:
    """What an annotation says and what the array has instead; `None` if it fits."""
    told = annotated_shape(annotation, scope)
    if told is None or not isinstance(told[0], tuple) or not isinstance(shape, tuple):
        return None
    wanted = told[0]
    if len(wanted) != len(shape):
        return _axes(len(wanted)), _axes(len(shape))
    for own, dim in zip(wanted, shape, strict=True):
        name = name_of(own)
        expected = names.get(name) if name else own
        meetings()
        is_other = expected is not None and differ(expected, dim)
        met = meetings()
        if met and met[0][1] in {name_of(it) for it in (*names.values(), *wanted)}:
            return f"the axis {met[0][0]}", f"the axis {met[0][1]}"
        if met:
            continue  # What only this array is said to have may be another name for the same.
        if is_other and not _is_known_number(expected, dim):
            return f"an axis `{name or own}`", "an axis of another size"
        if is_other:
            return f"an axis of size {expected}", f"one of size {dim}"
    return None


def _axes(count: int) -> str:
    return "one axis" if count == 1 else f"{count or 'no'} axes"


def _is_known_number(one: Dim, other: Dim) -> bool:
    return isinstance(one, int) and isinstance(other, int)


def _has_axis_like(name: str, frame: Frame) -> bool:
    """Whether an array of a function has an axis that stands for the same as a name."""
    for value in frame.environment.values():
        shape = value.node.shape if isinstance(value, Data) else None
        if isinstance(shape, tuple):
            names = [name_of(dim) for dim in shape]
            if any(
                is_batch(it) == is_batch(name) for it in names if is_batch(it) or is_sequence(it)
            ):
                return True
    return False


def _is_taken_from(node: Node, name: str) -> bool:
    """Whether a value is a share of an array, without the axis of this name."""
    source = node.inputs[0].shape if node.operation in ("lane", "slice") and node.inputs else None
    names = names_of(source)
    return name in names and name not in names_of(node.shape)


def _are_batch_and_time(one: str, other: str) -> bool:
    """Whether of two names one is of independent elements, and the other of steps in order."""
    if not one or not other:
        return False
    first, second = (is_batch(one), is_sequence(one)), (is_batch(other), is_sequence(other))
    return first in ((True, False), (False, True)) and second == first[::-1]
