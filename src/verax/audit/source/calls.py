"""How a call runs, by what is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import parts
from .attributes import attribute, unwrapped_method
from .binding import bind
from .choosing import in_one_form
from .classes import all_fields, construct, is_named_tuple, leave_open
from .declared import compare_arguments, compare_returns, learn_returns
from .events import Call
from .frame import Frame, Region, Site
from .joining import join
from .library import registry
from .library.keys import consumed_outside
from .library.layers import applied, keep_size
from .library.linen import apply_function, set_up
from .library.results import learn
from .remember import size_of
from .shapes import Size
from .unknown import unfollowed
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
)

if TYPE_CHECKING:
    from .machine import Interpreter
    from .parameters import FunctionSyntax


def call_expression(machine: Interpreter, frame: Frame, syntax: ast.Call) -> Value:
    """Evaluate what is called and its arguments, and call it."""
    site = Site(frame, syntax)
    function = syntax.func
    args: list[Value] = []
    if isinstance(function, ast.Attribute):
        owner = machine.evaluate(frame, function.value)
        if _is_super(function.value):
            callee = _of_super(machine, frame, function.attr)
        elif isinstance(owner, Data):
            return _method_of_data(machine, site, owner, function, syntax)
        else:
            callee = attribute(machine, Site(frame, function), owner)
    else:
        callee = machine.evaluate(frame, function)
    keywords = arguments(machine, site, syntax, args)
    if site.spread is not None and len(args) == 1 and not keywords:
        args = _for_each_field(machine, site, callee, site.spread) or args
    return machine.call(site, callee, args, keywords)


def _for_each_field(
    machine: Interpreter, site: Site, callee: Value, spread: Value
) -> list[Value] | None:
    """What a record takes from one thing that is spread over all its fields: `Memory(*cell(x))`."""
    if not isinstance(callee, Class) or not is_named_tuple(callee):
        return None
    names = list(all_fields(callee))
    if any(callee.find(it) is not None for it in names):
        return None  # How many of them have their defaults is not known.
    site.is_open, site.spread = False, None
    return [parts.item(machine, site, spread, Constant(it)) for it in range(len(names))]


def arguments(
    machine: Interpreter, site: Site, syntax: ast.Call, args: list[Value]
) -> dict[str, Value]:
    """Evaluate the arguments of a call: the positional ones into `args`, the others returned."""
    frame = site.frame
    for argument in syntax.args:
        if argument.__class__ is ast.Starred:
            value = machine.evaluate(frame, argument)
            if isinstance(value, Sequence) and value.items is not None:
                args.extend(value.items)
                site.trailing += len(value.items) if site.is_open else 0
            else:
                site.is_open, site.trailing = True, 0
                site.spread = value
                args.append(parts.element(machine, Site(frame, argument), value))
        else:
            args.append(machine.bounded(site, machine.evaluate(frame, argument)))
            site.trailing += site.is_open
    keywords: dict[str, Value] = {}
    for keyword in syntax.keywords:
        value = machine.bounded(site, machine.evaluate(frame, keyword.value))
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping):
            keywords.update({k: v for k, v in value.items.items() if isinstance(k, str)})
            site.is_open = site.is_open or value.is_open
        else:
            site.is_open = True
    return keywords


def _method_of_data(
    machine: Interpreter, site: Site, owner: Data, function: ast.Attribute, syntax: ast.Call
) -> Value:
    args: list[Value] = []
    keywords = arguments(machine, site, syntax, args)
    handler = registry.method(owner, function.attr)
    if handler is not None:
        return handler(machine, site, owner, args, keywords)
    applied = apply_function(machine) if function.attr == "apply_fn" else None
    if applied is not None:
        return machine.call(site, applied, args, keywords)
    operands = (owner, *args, *keywords.values())
    result = machine.opaque(f".{function.attr}", site, operands)
    name = f"{owner.type or 'object'}.{function.attr}"
    learn(result, name, operands)
    consumed_outside(machine, site, name, args, keywords)
    machine.note(Call(syntax, site.frame, name, [owner, *args], keywords, result))
    return result


def _is_super(syntax: ast.expr) -> bool:
    return (
        isinstance(syntax, ast.Call)
        and isinstance(syntax.func, ast.Name)
        and syntax.func.id == "super"
    )


def _of_super(machine: Interpreter, frame: Frame, name: str) -> Value:
    function = frame.function
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.args.args:
        owner = frame.environment.get(function.args.args[0].arg)
        if isinstance(owner, Instance):
            for base in owner.cls.bases:
                found = base.find(name) if isinstance(base, Class) else None
                if found is not None and getattr(found, "syntax", None) is not function:
                    return unwrapped_method(found, owner)
    return External(f"super.{name}")


def run(
    machine: Interpreter,
    site: Site,
    function: Function,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region | None = None,
) -> Value:
    """Run the body of a function of the project, in a region or in the caller's."""
    given = (*args, *keywords.values())
    is_known = _tells_nothing(machine, site, function, region, given)
    if not is_known and not machine.may_run(function, site, given):
        return unfollowed(machine, site, function, given)
    if is_known or machine.is_running(function, site):
        for value in given:
            if isinstance(value, Instance):
                leave_open(value)
        return machine.opaque("call", site, given)
    machine.start_run(function)
    inner = Frame(
        function.frame.module,
        function.name,
        function.syntax,
        function.frame,
        region if region is not None else site.frame.region,
        site.frame,
        site.syntax,
    )
    bind(machine, site, function, args, keywords, inner)
    compare_arguments(machine, site, function, inner)
    events = machine.record.count
    result = run_frame(machine, function, inner)
    if machine.record.count == events and isinstance(result, (Data, Constant)):
        machine.record.quiet.add(function.syntax)
    return result


# Pieces of syntax of a function that takes a line or two.
_SMALL = 64


def _tells_nothing(
    machine: Interpreter,
    site: Site,
    function: Function,
    region: Region | None,
    given: tuple[Value, ...],
) -> bool:
    """Whether a call is not worth following: it ran without an event before, and would again.

    Outside of transformations, on values of which nothing is known, one run is like the other. What
    the functions around it were given is known to it as well.
    """
    if machine.is_thorough or function.syntax not in machine.record.quiet:
        return False
    if size_of(function.syntax) < _SMALL:
        return False  # It costs next to nothing, and what is computed by it is seen.
    if region is not None or site.frame.region is not None:
        return False
    for value in (*given, *_given_around(function)):
        if not isinstance(value, (Data, Constant)):
            return False
        if isinstance(value, Constant) and isinstance(value.value, (int, Size)):
            return False  # It may be a size.
        if isinstance(value, Data):
            node = value.node
            if value.traced or node.is_key or node.shape is not None:
                return False
    return True


def _given_around(function: Function) -> Iterator[Value]:
    scope = function.frame
    while scope is not None and scope.function is not None:
        yield from scope.given.values()
        scope = scope.outer


def run_frame(machine: Interpreter, function: Function, inner: Frame) -> Value:
    """Run a function whose parameters have their values already."""
    machine.record.runs[function.syntax].append(inner)
    inner.given = dict(inner.environment)
    if isinstance(function.syntax, ast.Lambda):
        result = machine.bounded(
            Site(inner, function.syntax), machine.evaluate(inner, function.syntax.body)
        )
        inner.returns.append((function.syntax.body, result))
        return result
    reaches_end = machine.execute(inner, function.syntax.body)
    if reaches_end:
        inner.used_at_returns.append(machine.used)
    for used in inner.used_at_returns:
        if used is not machine.used:
            machine.used = {**machine.used, **used}
    compare_returns(machine, function, inner)
    result: Value | None = None
    for _, value in inner.returns:
        result = value if result is None else join(result, value)
    if inner.yields:
        return Sequence("generator", None, result, inner)
    if result is not None:
        learn_returns(function, inner, result)
        return machine.bounded(Site(inner, function.syntax), result)
    if not reaches_end or _is_stub(function.syntax):
        # Somebody else's version of the method gives something.
        return machine.opaque("call", Site(inner, function.syntax), inner.environment.values())
    return Constant(None)


def _is_stub(syntax: FunctionSyntax) -> bool:
    """Whether a function has no code of its own."""
    if isinstance(syntax, ast.Lambda):
        return False
    texts = [it for it in syntax.body if isinstance(it, ast.Expr)]
    rest = [it for it in syntax.body if not isinstance(it, (ast.Expr, ast.Pass))]
    return not rest and all(isinstance(it.value, ast.Constant) for it in texts)


def _function(
    machine: Interpreter,
    site: Site,
    callee: Function,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    return run(machine, site, callee, args, keywords)


def _bound(
    machine: Interpreter, site: Site, callee: Bound, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.call(site, callee.function, [callee.owner, *args], keywords)


def _partial(
    machine: Interpreter, site: Site, callee: Partial, args: list[Value], keywords: dict[str, Value]
) -> Value:
    merged = {**callee.keywords, **keywords}
    if callee.is_open:
        site = Site(site.frame, site.syntax, True, site.trailing)
    return machine.call(site, callee.function, [*callee.args, *args], merged)


def _transformed(
    machine: Interpreter,
    site: Site,
    callee: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    from .library.transforms import apply

    return apply(machine, site, callee, args, keywords)


def _external(
    machine: Interpreter,
    site: Site,
    callee: External,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    name, args, keywords = in_one_form(machine, site, callee.name, args, keywords)
    handler = registry.function(name)
    if handler is not None:
        result = handler(machine, site, name, args, keywords)
    else:
        consumed_outside(machine, site, name, args, keywords)
        operands = (*args, *keywords.values())
        result = machine.opaque("call", site, operands, type=name)
        keep_size(result, args, keywords)
        learn(result, name, operands)
    machine.note(Call(site.syntax, site.frame, name, args, keywords, result))
    return result


def _class(
    machine: Interpreter, site: Site, callee: Class, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return construct(machine, site, callee, args, keywords)


def _instance(
    machine: Interpreter,
    site: Site,
    callee: Instance,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    method = callee.cls.find("__call__")
    if method is None:
        return machine.opaque("call", site, (callee, *args, *keywords.values()))
    return machine.call(site, Bound(method, set_up(machine, site, callee)), args, keywords)


def _record(
    machine: Interpreter,
    site: Site,
    callee: Sequence,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """A named tuple may have methods as other objects have."""
    method = None if callee.type is None else callee.type.find("__call__")
    if method is None:
        return machine.opaque("call", site, (callee, *args, *keywords.values()))
    return machine.call(site, Bound(method, callee), args, keywords)


def _module(
    machine: Interpreter,
    site: Site,
    callee: Imported,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    return machine.opaque("call", site, (*args, *keywords.values()))


def _data(
    machine: Interpreter, site: Site, callee: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Something of which only its origin is known, such as a method of an object from outside."""
    node = callee.node
    is_field = node.operation == "field"
    is_apply = node.label == "apply_fn" and node.operation in ("field", "parameter")
    handed_on = apply_function(machine) if is_apply else None
    if handed_on is not None:
        return machine.call(site, handed_on, args, keywords)
    name = callee.type or (node.label if is_field else "")
    consumed_outside(machine, site, name, args, keywords)
    result = applied(machine, site, callee, args, keywords)
    name = f"object.{node.label}" if is_field else "object.__call__"
    machine.note(Call(site.syntax, site.frame, name, [callee, *args], keywords, result))
    return result


_Handler = Callable[["Interpreter", Site, Any, list[Value], dict[str, Value]], Value]
CALLS: dict[type[Value], _Handler] = {
    Function: _function,
    Bound: _bound,
    Partial: _partial,
    Transformed: _transformed,
    External: _external,
    Class: _class,
    Instance: _instance,
    Sequence: _record,
    Data: _data,
    Imported: _module,
}
