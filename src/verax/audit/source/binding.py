"""From a definition to a function, and from a call's arguments to the function's names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..syntax import expression_in
from .axes import annotated_shape
from .classes import has_derived, is_certain, is_list_of_constants, is_typed_dict
from .graph import Node
from .library.replacing import as_object
from .numbering import number_of
from .parameters import FunctionSyntax, parameters, positional
from .remember import remembered
from .used_as import class_by_use
from .values import (
    Class,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Value,
)

if TYPE_CHECKING:
    from .frame import Frame, Site
    from .machine import Interpreter

_ARRAY_TYPES = frozenset(("jax.Array", "jax.numpy.ndarray", "chex.Array", "jax.typing.ArrayLike"))
_JAXTYPING = ("jaxtyping.",)
# Parameters of these names are true or false.
_FLAGS = frozenset("train training is_training is_train deterministic train_mode is_eval".split())
_NUMBERS = frozenset(("builtins.int", "builtins.float", "builtins.bool", "builtins.complex"))


def function_value(
    machine: Interpreter,
    frame: Frame,
    syntax: FunctionSyntax,
    name: str,
    cls: Class | None = None,
) -> Function:
    """The function that a definition makes, with its defaults evaluated."""
    arguments = syntax.args
    defaults = [machine.evaluate(frame, default) for default in arguments.defaults]
    keyword_defaults = {
        argument.arg: machine.evaluate(frame, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    }
    return Function(syntax, frame, defaults, keyword_defaults, name, cls)


def positional_names(function: Function) -> list[str]:
    """The names of the parameters that can be given by position."""
    return [it.arg for it in positional(function.syntax)]


def all_names(function: Function) -> list[str]:
    """The names of all parameters, without `*args` and `**kwargs`."""
    return [it.arg for it in parameters(function.syntax)]


def default_of(function: Function, name: str) -> Value | None:
    """The default of a parameter."""
    numbers = _numbers(function.syntax)
    if name in numbers:
        index = numbers[name] - (len(numbers) - len(function.defaults))
        return function.defaults[index] if index >= 0 else None
    return function.keyword_defaults.get(name)


@remembered
def _numbers(function: FunctionSyntax) -> dict[str, int]:
    """The parameters that can be given by position, each with its number."""
    return {it.arg: number for number, it in enumerate(positional(function))}


def gathered(site: Site, element: Value, is_all: bool = True) -> Sequence:
    """A tuple of arguments whose number is not known; it may be the list that was spread again."""
    spread = site.spread
    if not isinstance(spread, Sequence) or not is_all or site.trailing:
        return Sequence("tuple", None, element)
    return Sequence("tuple", None, element, length=spread.length, syntax=spread.syntax)


def bind(
    machine: Interpreter,
    site: Site,
    function: Function,
    args: list[Value],
    keywords: dict[str, Value],
    inner: Frame,
) -> None:
    """Give a function's parameters their values in a new frame."""
    arguments = function.syntax.args
    environment = inner.environment
    names = positional_names(function)
    count = len(args)
    if site.trailing and arguments.vararg is None and count < len(names):
        # How many come before these is not known; where they end is, unless a default may do.
        count -= site.trailing
        if not function.defaults:
            environment.update(zip(names[-site.trailing :], args[count:], strict=False))
    for name, value in zip(names, args[:count], strict=False):
        environment[name] = value
    _learn_shapes(function, environment, inner)
    if arguments.vararg is not None:
        rest = args[len(names) :]
        if site.is_open:
            element = rest[0] if rest else machine.opaque("argument", site, ())
            environment[arguments.vararg.arg] = gathered(site, element, len(rest) == 1)
        else:
            environment[arguments.vararg.arg] = Sequence("tuple", list(rest))
    known = set(all_names(function))
    extra: dict[object, Value] = {}
    for name, value in keywords.items():
        if name in known:
            environment[name] = value
        else:
            extra[name] = value
    if arguments.kwarg is not None:
        environment[arguments.kwarg.arg] = Mapping(extra, is_open=site.is_open, made_in=inner)
    for name in known - environment.keys():
        default = default_of(function, name)
        if default is None or site.is_open:
            environment[name] = machine.opaque("argument", site, (), type="")
        else:
            environment[name] = default
    _learn_classes(machine, site, function, inner)


def _learn_shapes(function: Function, environment: dict[str, Value], inner: Frame) -> None:
    """What annotations tell of arguments of which nothing is known."""
    for argument in positional(function.syntax):
        value = environment.get(argument.arg) if argument.annotation is not None else None
        if isinstance(value, Data) and value.node.shape is None:
            told = annotated_shape(
                argument.annotation, number_of(function.syntax), number_of(inner)
            )
            if told is not None:
                value.node.shape, value.node.dtype = told[0], value.node.dtype or told[1]
                value.node.has_told_shape = True


def _learn_classes(machine: Interpreter, site: Site, function: Function, inner: Frame) -> None:
    """Take arguments of which nothing is known for objects of the classes that are annotated.

    Where nothing is annotated, what a function that is traced does with them tells it as well.
    """
    environment = inner.environment
    for argument in parameters(function.syntax):
        value = environment.get(argument.arg)
        if not isinstance(value, Data) or value.is_array or value.type or value.node.is_key:
            continue
        if argument.annotation is not None:
            cls = _annotation(machine, function, argument)
        elif inner.is_staged:
            cls = class_by_use(machine, function.syntax, argument.arg, value)
        else:
            continue
        if isinstance(cls, Class) and is_certain(cls):
            found = environment[argument.arg] = as_object(machine, site, value, cls)
            known = machine.record.objects.get(cls) if inner.is_staged else None
            if known is not None and not value.traced:
                found.attributes = {**known.attributes, **found.attributes}


def generic_arguments(
    machine: Interpreter, function: Function, frame: Frame, traced: bool | None
) -> dict[str, Value]:
    """Values of which nothing is known but their parameters' annotations and defaults."""
    found: dict[str, Value] = {}
    for argument in parameters(function.syntax):
        found[argument.arg] = generic(machine, function, argument, frame, traced)
    return found


def generic(
    machine: Interpreter,
    function: Function,
    argument: ast.arg,
    frame: Frame,
    traced: bool | None,
) -> Value:
    """A parameter's value when nobody says what it is."""
    node = Node("parameter", (), argument, frame, label=argument.arg)
    default = default_of(function, argument.arg)
    is_array = isinstance(default, Constant) and isinstance(default.value, (int, float))
    is_array = is_array or (default is None and argument.arg in _FLAGS)
    annotation = _annotation(machine, function, argument)
    if annotation is None and isinstance(default, Instance) and not has_derived(default.cls):
        annotation = default.cls  # What is given instead is like it.
    if isinstance(annotation, Class) and not is_typed_dict(annotation):
        return Instance(annotation, node, None, traced)
    if isinstance(annotation, External):
        name = annotation.name
        is_array = is_array or name in _ARRAY_TYPES or name.startswith(_JAXTYPING)
        is_array = is_array or name in _NUMBERS
    told = annotated_shape(argument.annotation, number_of(function.syntax))
    if told is not None:
        node.shape, node.dtype = told
        node.has_told_shape = True
        node.is_key = told[1] == "key"
    return Data(node, traced, is_array or told is not None)


@remembered
def type_syntax(annotation: ast.expr) -> ast.expr | None:
    """The type in an annotation, without its parameters, also where it is a string."""
    syntax: ast.expr | None = annotation
    if isinstance(syntax, ast.Constant) and isinstance(syntax.value, str):
        syntax = expression_in(syntax.value)
    return syntax.value if isinstance(syntax, ast.Subscript) else syntax


def _annotation(machine: Interpreter, function: Function, argument: ast.arg) -> Value | None:
    syntax = type_syntax(argument.annotation) if argument.annotation is not None else None
    if isinstance(syntax, ast.Name):
        found = machine.lookup(function.frame, syntax.id) or External(f"builtins.{syntax.id}")
    elif isinstance(syntax, ast.Attribute):
        found = machine.evaluate(function.frame, syntax)
    else:
        return None
    # Where a class only lists constants, an annotation by it means one of these.
    return None if isinstance(found, Class) and is_list_of_constants(found) else found
