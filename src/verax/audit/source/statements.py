"""How each kind of statement is run. A handler gives false if what follows is never reached."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .assigning import assign
from .axes import annotated_shape
from .binding import function_value
from .classes import class_statement
from .events import Conversion, Fact, Mutation
from .expressions import condition
from .frame import Region, Site
from .imports import PendingImport, import_from, import_statement
from .joining import element_of, join
from .library.containers import extend_list
from .library.questions import OF_ARRAYS
from .looping import for_statement, while_statement
from .normal import Declaration, Unpacking
from .numbering import number_of
from .operators import binary
from .remember import walked
from .shapes import Size
from .text import text_of
from .values import (
    Bound,
    Constant,
    Data,
    Function,
    Instance,
    Mapping,
    Sequence,
    Value,
    leaves,
)

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter
    from .parameters import NamedFunction


def _expression(machine: Interpreter, frame: Frame, syntax: ast.Expr) -> None:
    value = syntax.value
    if value.__class__ is not ast.Constant:
        frame.steps.append((syntax, machine.evaluate(frame, value)))


def _assign(machine: Interpreter, frame: Frame, syntax: ast.Assign) -> None:
    value = machine.evaluate(frame, syntax.value)
    frame.steps.append((syntax, value))
    for target in syntax.targets:
        assign(machine, frame, target, value)


def _declared(machine: Interpreter, frame: Frame, syntax: Declaration) -> None:
    value = machine.evaluate(frame, syntax.value)
    if isinstance(value, Data) and value.node.shape is None:
        told = annotated_shape(syntax.annotation, number_of(frame.function), number_of(frame))
        if told is not None:
            value.node.shape, value.node.dtype = told[0], value.node.dtype or told[1]
            value.node.has_told_shape = True
    frame.steps.append((syntax, value))
    for target in syntax.targets:
        assign(machine, frame, target, value)


def _taken_apart(machine: Interpreter, frame: Frame, syntax: Unpacking) -> None:
    value = machine.evaluate(frame, syntax.value)
    frame.steps.append((syntax, value))
    assign(machine, frame, syntax.held, value)
    [names] = syntax.targets
    assert isinstance(names, ast.Tuple)
    for target, part in zip(names.elts, syntax.taken, strict=True):
        assign(machine, frame, target, machine.evaluate(frame, part))


def _field(machine: Interpreter, frame: Frame, syntax: ast.AnnAssign) -> None:
    """A field of a class, which has a value if it has a default."""
    if syntax.value is not None:
        assign(machine, frame, syntax.target, machine.evaluate(frame, syntax.value))


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


def _delete(machine: Interpreter, frame: Frame, syntax: ast.Delete) -> None:
    for target in syntax.targets:
        if isinstance(target, ast.Name):
            frame.environment.pop(target.id, None)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            _take_out(machine, frame, target)


def _take_out(machine: Interpreter, frame: Frame, target: ast.Subscript | ast.Attribute) -> None:
    """`del owner[index]` or `del owner.name`; what is left of a list is any of what was there."""
    owner = machine.evaluate(frame, target.value)
    if isinstance(target, ast.Subscript):
        machine.evaluate(frame, target.slice)
    machine.note(Mutation(target, frame, owner, text_of(target.value), "delete"))
    if isinstance(owner, Sequence):
        owner.items, owner.element, owner.length = None, element_of(owner), None
    elif isinstance(owner, Mapping):
        owner.is_open = True


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
    _note_equal(machine, frame, syntax.test, ast.Eq)


def _note_equal(machine: Interpreter, frame: Frame, test: ast.expr, kind: type[ast.cmpop]) -> None:
    """Keep in mind which two sizes the program goes on with only if they are equal."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) is not kind:
        return
    sides = (test.left, test.comparators[0])
    if any(isinstance(it, ast.Call) for side in sides for it in walked(side)):
        return  # Calls are not made twice.
    sizes = [machine.evaluate(frame, it) for it in sides]
    known = [it.value for it in sizes if isinstance(it, Constant) and isinstance(it.value, Size)]
    if len(known) == 2:
        machine.note(Fact(test, frame, "equal sizes", {"sizes": frozenset(known)}))


def _if(machine: Interpreter, frame: Frame, syntax: ast.If) -> bool:
    truth = condition(machine, frame, syntax.test, "if")
    if isinstance(syntax.body[-1], ast.Raise):
        _note_equal(machine, frame, syntax.test, ast.NotEq)
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
            elif own is not value and not isinstance(own, PendingImport):
                # What takes the place of a missing import does the same.
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
            # What lacks an attribute of arrays is none, until the ways meet again.
            before = _lacking(frame, syntax, handler)
            others = {name: Data(value.node, False) for name, value in before.items()}
            frame.environment.update(others)
            live = machine.execute(frame, handler.body)
            for name, value in others.items():
                if frame.environment.get(name) is value:
                    frame.environment[name] = before[name]
            return live

        return run

    live = either(machine, frame, plainly, *(handled(it) for it in syntax.handlers))
    if frame.is_staged:
        data = {"handlers": syntax.handlers, "body": syntax.body}
        machine.note(Fact(syntax, frame, "try", data))
    return machine.execute(frame, syntax.finalbody) and live


def _lacking(frame: Frame, syntax: ast.Try, handler: ast.ExceptHandler) -> dict[str, Data]:
    """What a handler knows to have no attribute that the body asks for, and every array has."""
    found: dict[str, Data] = {}
    if handler.type is None or text_of(handler.type) != "AttributeError":
        return found
    for node in (it for statement in syntax.body for it in walked(statement)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = frame.environment.get(node.value.id)
            if node.attr in OF_ARRAYS and isinstance(value, Data):
                found[node.value.id] = value
    return found


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


def _compared(pattern: ast.pattern, subject: Value) -> Iterator[Value]:
    """What a pattern compares with values: the whole, or elements of a tuple."""
    match pattern:
        case ast.MatchValue():
            yield subject
        case ast.MatchOr(patterns=ways):
            for it in ways:
                yield from _compared(it, subject)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            yield from _compared(inner, subject)
        case ast.MatchSequence(patterns=inner) if isinstance(subject, Sequence):
            for it, part in zip(inner, subject.items or (), strict=False):
                yield from _compared(it, part)
        case _:
            pass


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

    compared = [value for it in syntax.cases for value in _compared(it.pattern, subject)]
    for value in dict.fromkeys(compared):
        machine.test(Site(frame, syntax.subject), "match", value)
    return either(machine, frame, *(case(it) for it in syntax.cases), lambda: True)


def _scope(machine: Interpreter, frame: Frame, syntax: ast.Global | ast.Nonlocal) -> None:
    kind = "global" if isinstance(syntax, ast.Global) else "nonlocal"
    frame.global_names = {**frame.global_names, **dict.fromkeys(syntax.names, kind)}


def _function(machine: Interpreter, frame: Frame, syntax: NamedFunction) -> None:
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
    Declaration: _declared,
    Unpacking: _taken_apart,
    ast.AnnAssign: _field,
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
