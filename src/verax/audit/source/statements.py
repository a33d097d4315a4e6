"""How each kind of statement is run. A handler gives false if what follows is never reached."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import parts
from .axes import annotated_shape
from .binding import function_value
from .classes import class_statement
from .events import Conversion, Fact, Mutation
from .expressions import condition
from .frame import Region, Site
from .imports import import_from, import_statement
from .joining import join
from .library.containers import adopted, extend_list
from .looping import for_statement, while_statement
from .operators import binary
from .shaping import unpacked_shape
from .text import text_of
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Value,
    is_bounded,
    leaves,
)

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter


def _expression(machine: Interpreter, frame: Frame, syntax: ast.Expr) -> None:
    value = syntax.value
    if value.__class__ is not ast.Constant:
        frame.steps.append((syntax, machine.evaluate(frame, value)))


def _assign(machine: Interpreter, frame: Frame, syntax: ast.Assign) -> None:
    value = machine.evaluate(frame, syntax.value)
    frame.steps.append((syntax, value))
    for target in syntax.targets:
        assign(machine, frame, target, value)


def _annotated(machine: Interpreter, frame: Frame, syntax: ast.AnnAssign) -> None:
    if syntax.value is not None:
        value = machine.evaluate(frame, syntax.value)
        if isinstance(value, Data) and value.node.shape is None:
            told = annotated_shape(syntax.annotation, id(frame.function), id(frame))
            if told is not None:
                value.node.shape, value.node.dtype = told[0], value.node.dtype or told[1]
        frame.steps.append((syntax, value))
        assign(machine, frame, syntax.target, value)


def _augmented(machine: Interpreter, frame: Frame, syntax: ast.AugAssign) -> None:
    target = syntax.target
    before = machine.evaluate(frame, target)
    value = machine.evaluate(frame, syntax.value)
    site = Site(frame, syntax)
    if isinstance(before, Sequence) and before.kind == "list" and isinstance(syntax.op, ast.Add):
        extend_list(machine, site, before, value, text_of(target))
        return
    result = binary(machine, site, syntax.op.__class__, before, value)
    frame.steps.append((syntax, result))
    assign(machine, frame, target, result)


def assign(machine: Interpreter, frame: Frame, target: ast.expr, value: Value) -> None:
    """Give a value to a name, an attribute, an item, or the parts of it to several."""
    kind = target.__class__
    if kind is ast.Name:
        _assign_name(machine, frame, target, value)  # type: ignore[arg-type]
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(machine, frame, target, value)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(machine, frame, target, value)
    elif isinstance(target, ast.Subscript):
        _assign_item(machine, frame, target, value)
    elif isinstance(target, ast.Starred):
        assign(machine, frame, target.value, value)


def _assign_name(machine: Interpreter, frame: Frame, target: ast.Name, value: Value) -> None:
    name = target.id
    declared = frame.global_names.get(name) if frame.global_names else None
    if declared is None:
        frame.environment[name] = value
        return
    scope = frame.outer
    if declared == "global":
        scope = frame.module.frame
    else:
        while scope is not None and name not in scope.environment:
            scope = scope.outer
    before = scope.environment.get(name) if scope is not None else None
    machine.note(Mutation(target, frame, before, name, declared, value, before))
    if scope is not None:
        scope.environment[name] = value if before is None else join(before, value)


def _unpack(machine: Interpreter, frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    targets = target.elts
    site = Site(frame, target)
    starred = next((i for i, it in enumerate(targets) if isinstance(it, ast.Starred)), None)
    if isinstance(value, Data) and value.type == "shape" and starred is None:
        value = unpacked_shape(machine, value, len(targets), targets)
    if isinstance(value, Data):
        data = {"value": value, "count": len(targets), "is_open": starred is not None}
        machine.note(Fact(target, frame, "unpacked", data))
    if isinstance(value, Sequence) and value.items is not None:
        items = value.items
        if starred is None and len(items) == len(targets):
            for inner, item in zip(targets, items, strict=True):
                assign(machine, frame, inner, item)
            return
        if starred is not None and len(items) >= len(targets) - 1:
            after = len(targets) - starred - 1
            middle = items[starred : len(items) - after]
            given = [*items[:starred], Sequence("list", middle), *items[len(items) - after :]]
            for inner, item in zip(targets, given, strict=True):
                assign(machine, frame, inner, item)
            return
        data = {"value": value, "targets": len(targets)}
        machine.note(Fact(target, frame, "unpacked wrongly", data))
    for number, inner in enumerate(targets):
        if isinstance(inner, ast.Starred):
            bounds: list[Value] = [Constant(number), Constant(None), Constant(None)]
            rest = parts.item(machine, site, value, Sequence("slice", bounds))
            element = parts.element(machine, site, rest)
            assign(machine, frame, inner.value, Sequence("list", None, element))
        elif isinstance(value, (Data, Sequence)):
            position = number if starred is None or number < starred else number - len(targets)
            part = parts.item(machine, Site(frame, inner), value, Constant(position))
            assign(machine, frame, inner, part)
        else:
            assign(machine, frame, inner, parts.element(machine, site, value))


def _assign_attribute(
    machine: Interpreter, frame: Frame, target: ast.Attribute, value: Value
) -> None:
    owner = machine.evaluate(frame, target.value)
    before = _held(owner, "field", target.attr)
    name = text_of(target)
    value = adopted(owner, value)
    machine.note(Mutation(target, frame, owner, name, "attribute", value, before))
    found = owner.cls.find(target.attr) if isinstance(owner, Instance) else None
    setter = found.keywords.get("setter") if isinstance(found, Partial) else None
    if setter is not None:
        machine.call(Site(frame, target), Bound(setter, owner), [value], {})
    elif isinstance(owner, (Instance, Class)):
        sure = before is None or machine.control == 0
        owner.attributes[target.attr] = value if sure else join(before, value)  # type: ignore[arg-type]
    elif isinstance(owner, Data) and owner.node.children is not None:
        owner.node.children.pop(("field", target.attr), None)


def _held(owner: Value, how: str, key: Any) -> Value | None:
    """What an object, a dict or some data holds under a name, as far as that was asked for."""
    if isinstance(owner, (Instance, Class)):
        return owner.attributes.get(key)
    if isinstance(owner, Mapping):
        return owner.items.get(key)
    if isinstance(owner, Data) and owner.node.children is not None:
        child = owner.node.children.get((how, key if how == "field" else ("constant", key)))
        return None if child is None else Data(child)
    return None


def _assign_item(machine: Interpreter, frame: Frame, target: ast.Subscript, value: Value) -> None:
    owner = machine.evaluate(frame, target.value)
    index = machine.evaluate(frame, target.slice)
    site = Site(frame, target)
    known = index.value if isinstance(index, Constant) else None
    before = _held(owner, "item", known)
    name = text_of(target.value)
    value = adopted(owner, value)
    machine.note(Mutation(target, frame, owner, name, "item", value, before))
    if isinstance(owner, Mapping):
        if isinstance(index, Constant) and owner.made_at == machine.control:
            owner.items[index.value] = value
            # A function that fills in a dict of the module's does so when it is called.
            owner.is_open = owner.is_open or (
                owner.made_in is not frame and owner.made_in is frame.module.frame
            )
        elif isinstance(index, Constant) and before is not None:
            owner.items[index.value] = join(before, value)
        else:
            parts.hashed(machine, site, index)
            owner.is_open = True
            owner.items[object()] = value
    elif isinstance(owner, Sequence) and owner.items is not None:
        same = owner.made_at == machine.control
        if isinstance(index, Constant) and isinstance(index.value, int) and same:
            if -len(owner.items) <= index.value < len(owner.items):
                owner.items[index.value] = value
        elif is_bounded(owner):
            owner.items = [join(item, value) for item in owner.items]
        else:
            owner.element, owner.items, owner.length = join(owner, value), None, None
    elif isinstance(owner, Sequence):
        owner.element = value if owner.element is None else join(owner.element, value)
    elif isinstance(owner, Data):
        owner.node.writes += 1
        owner.node.children = None


def _delete(machine: Interpreter, frame: Frame, syntax: ast.Delete) -> None:
    for target in syntax.targets:
        if isinstance(target, ast.Name):
            frame.environment.pop(target.id, None)


def _return(machine: Interpreter, frame: Frame, syntax: ast.Return) -> bool:
    value = Constant(None) if syntax.value is None else machine.evaluate(frame, syntax.value)
    frame.returns.append((syntax, value))
    frame.used_at_returns.append(machine.used)
    frame.steps.append((syntax, value))
    return False


def _raise(machine: Interpreter, frame: Frame, syntax: ast.Raise) -> bool:
    if syntax.exc is not None:
        machine.evaluate(frame, syntax.exc)
    return False


def _leave_loop(machine: Interpreter, frame: Frame, syntax: ast.Break | ast.Continue) -> bool:
    frame.breaks.append((frame.environment, machine.used))
    return False


def _assert(machine: Interpreter, frame: Frame, syntax: ast.Assert) -> None:
    condition(machine, frame, syntax.test, "assert")


def _if(machine: Interpreter, frame: Frame, syntax: ast.If) -> bool:
    truth = condition(machine, frame, syntax.test, "if")
    if truth is not None:
        return machine.execute(frame, syntax.body if truth else syntax.orelse)
    return either(
        machine,
        frame,
        lambda: machine.execute(frame, syntax.body),
        lambda: machine.execute(frame, syntax.orelse),
    )


def either(machine: Interpreter, frame: Frame, *ways: Callable[[], bool]) -> bool:
    """Go several ways from here, of which the program takes one, and meet again."""
    environment, used = frame.environment, machine.used
    machine.control += 1
    machine.choices += 1
    ends: list[dict[str, Value]] = []
    all_used = dict(used)
    for way in ways:
        frame.environment, machine.used = dict(environment), dict(used)
        if way():
            ends.append(frame.environment)
            all_used |= machine.used
    machine.control -= 1
    machine.choices -= 1
    if not ends:
        frame.environment, machine.used = environment, used
        return False
    frame.environment, machine.used = _met(ends), all_used
    return True


def _met(ends: list[dict[str, Value]]) -> dict[str, Value]:
    met = ends[0]
    for other in ends[1:]:
        for name, value in other.items():
            own = met.get(name)
            if own is None:
                met[name] = value
            elif own is not value:
                met[name] = join(own, value)
    return met


def _try(machine: Interpreter, frame: Frame, syntax: ast.Try) -> bool:
    def plainly() -> bool:
        before = len(machine.record.of(Conversion))
        live = machine.execute(frame, syntax.body)
        if len(machine.record.of(Conversion)) > before:
            return False  # A tracer has no value to convert: this raises.
        return live and machine.execute(frame, syntax.orelse)

    def handled(handler: ast.ExceptHandler) -> Callable[[], bool]:
        def run() -> bool:
            if handler.name:
                site = Site(frame, handler)
                frame.environment[handler.name] = machine.opaque("exception", site, ())
            return machine.execute(frame, handler.body)

        return run

    live = either(machine, frame, plainly, *(handled(it) for it in syntax.handlers))
    if frame.is_staged:
        data = {"handlers": syntax.handlers, "body": syntax.body}
        machine.note(Fact(syntax, frame, "try", data))
    return machine.execute(frame, syntax.finalbody) and live


def _with(machine: Interpreter, frame: Frame, syntax: ast.With | ast.AsyncWith) -> bool:
    region = frame.region
    managers: list[tuple[Site, Instance]] = []
    for it in syntax.items:
        value = machine.evaluate(frame, it.context_expr)
        site = Site(frame, it.context_expr)
        if isinstance(value, Data) and value.type == "jax.ensure_compile_time_eval":
            frame.region = Region("eager", region, frame.place(syntax))
        entered = _entered(machine, site, value)
        if isinstance(value, Instance):
            managers.append((site, value))
        if it.optional_vars is not None:
            assign(machine, frame, it.optional_vars, entered)
    if not any(_expects_failure(it.context_expr) for it in syntax.items):
        live = machine.execute(frame, syntax.body)
        frame.region = region
        for site, manager in reversed(managers):
            leave = manager.cls.find("__exit__")
            if leave is not None:
                machine.call(site, Bound(leave, manager), [Constant(None)] * 3, {})
        return live
    # What is expected to fail is wrong on purpose.
    marks = machine.record.marks()
    machine.execute(frame, syntax.body)
    machine.record.rewind(marks)
    return True


def _entered(machine: Interpreter, site: Site, manager: Value) -> Value:
    """What a context manager hands over when it is entered."""
    enter = manager.cls.find("__enter__") if isinstance(manager, Instance) else None
    if enter is not None:
        return machine.call(site, Bound(enter, manager), [], {})
    type_name = manager.type if isinstance(manager, Data) else ""
    return machine.opaque("with", site, leaves(manager), type=type_name)


def _expects_failure(syntax: ast.expr) -> bool:
    """`with pytest.raises(...)`, `with self.assertRaises(...)`."""
    if not isinstance(syntax, ast.Call):
        return False
    name = getattr(syntax.func, "attr", getattr(syntax.func, "id", ""))
    return name == "raises" or name.startswith("assertRaises")


def _match(machine: Interpreter, frame: Frame, syntax: ast.Match) -> bool:
    subject = machine.evaluate(frame, syntax.subject)

    def case(it: ast.match_case) -> Callable[[], bool]:
        def run() -> bool:
            for node in ast.walk(it.pattern):
                name = getattr(node, "name", None) or getattr(node, "rest", None)
                if isinstance(name, str):
                    site = Site(frame, it.pattern)
                    frame.environment[name] = machine.opaque("match", site, (subject,))
            if it.guard is not None:
                condition(machine, frame, it.guard, "if")
            return machine.execute(frame, it.body)

        return run

    if any(isinstance(it.pattern, ast.MatchValue) for it in syntax.cases):
        machine.test(Site(frame, syntax.subject), "match", subject)
    return either(machine, frame, *(case(it) for it in syntax.cases), lambda: True)


def _scope(machine: Interpreter, frame: Frame, syntax: ast.Global | ast.Nonlocal) -> None:
    kind = "global" if isinstance(syntax, ast.Global) else "nonlocal"
    frame.global_names = {**frame.global_names, **dict.fromkeys(syntax.names, kind)}


def _function(
    machine: Interpreter, frame: Frame, syntax: ast.FunctionDef | ast.AsyncFunctionDef
) -> None:
    name = f"{frame.name}.{syntax.name}" if frame.name else syntax.name
    value: Value = function_value(machine, frame, syntax, name)
    if frame.function is not None and isinstance(value, Function):
        machine.record.defined.append(value)
    frame.environment[syntax.name] = decorated(machine, frame, syntax.decorator_list, value)


def decorated(
    machine: Interpreter, frame: Frame, decorators: list[ast.expr], value: Value
) -> Value:
    """A function or class after its decorators, the innermost first."""
    for syntax in reversed(decorators):
        decorator = machine.evaluate(frame, syntax)
        value = machine.call(Site(frame, syntax), decorator, [value], {})
    return value


STATEMENTS: dict[type[ast.AST], Callable[[Interpreter, Frame, Any], bool | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.Assert: _assert,
    ast.If: _if,
    ast.For: for_statement,
    ast.AsyncFor: for_statement,
    ast.While: while_statement,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: _match,
    ast.Import: import_statement,
    ast.ImportFrom: import_from,
    ast.Global: _scope,
    ast.Nonlocal: _scope,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: class_statement,
}
