"""Where something was written that a name stands for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..events import Mutation
from ..frame import Frame
from ..parameters import parameters
from ..values import Instance, Sequence, Value
from .loops.bodies import frames_by_call
from .structures.structure import parts_of
from .syntax import statement_around
from .written import expressions_of

if TYPE_CHECKING:
    from ...finding import Place
    from ..facts import SourceFacts

# How many names are followed: `n = size`, `size = x.shape[0]`, parameters on the way.
_STEPS = 8


def origin_of(facts: SourceFacts, frame: Frame, expression: ast.expr) -> Place:
    """Where an expression, or what the name that it is was last assigned, is written.

    A parameter is followed to the call that gave it, a call or a property to what the function
    returns, and a field of a record to the call that made the record. Where several names
    are given to the parts of one thing (`batch, time = x.shape`), who takes one of them chose it.
    """
    for _ in range(_STEPS):
        behind: tuple[Frame, ast.expr] | None = None
        if isinstance(expression, ast.Call):
            behind = _returned(facts, frame, expression)
        elif isinstance(expression, ast.Name):
            behind = _named(frame, expression.id)
        elif isinstance(expression, ast.Attribute):
            behind = (
                _returned(facts, frame, expression)  # a property
                or _assigned_to(facts, frame, expression)
                or _put_into(frame, expression)
            )
        if behind is None:
            break
        frame, expression = behind
    return frame.place(expression)


def _named(frame: Frame, name: str) -> tuple[Frame, ast.expr] | None:
    """What a name was given, and the frame in which that is written."""
    scope = _scope_of(frame, name)
    statement = assignment(scope, name) if scope is not None else None
    if scope is None or statement is None:
        return None if scope is None else argument_of(scope, name)
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr) or _takes_apart(statement):
        return None
    return scope, value


def _assigned_to(
    facts: SourceFacts, frame: Frame, expression: ast.Attribute
) -> tuple[Frame, ast.expr] | None:
    """What an attribute of an object was given, if that is done in one place only."""
    held = _held(frame, expression.value)
    found: dict[ast.AST, tuple[Frame, ast.expr]] = {}
    for change in facts.events(Mutation) if isinstance(held, Instance) else ():
        is_own = change.how == "attribute" and change.target is held
        if (
            is_own
            and isinstance(change.syntax, ast.Attribute)
            and change.syntax.attr == expression.attr
        ):
            statement = statement_around(change.frame, change.syntax)
            if isinstance(statement, ast.Assign) and statement.targets == [change.syntax]:
                found[statement] = change.frame, statement.value
    return next(iter(found.values())) if len(found) == 1 else None


def _put_into(frame: Frame, expression: ast.Attribute) -> tuple[Frame, ast.expr] | None:
    """What the call that made a record has for one of its fields."""
    record = _held(frame, expression.value)
    if isinstance(record, Instance):
        made_in, made_by = record.node.frame, record.node.syntax
    elif isinstance(record, Sequence):
        made_in, made_by = record.made_in, record.syntax
    else:
        return None
    written = expressions_of(made_by, record).get(expression.attr)
    return None if written is None or made_in is None else (made_in, written)


def _held(frame: Frame, owner: ast.expr) -> Value | None:
    """What a name stands for, or a field of it: `self`, `self.config`."""
    if isinstance(owner, ast.Name):
        scope = _scope_of(frame, owner.id)
        return scope.environment[owner.id] if scope is not None else None
    if isinstance(owner, ast.Attribute):
        held = _held(frame, owner.value)
        return parts_of(held).get(owner.attr) if held is not None else None
    return None


def _returned(facts: SourceFacts, frame: Frame, call: ast.expr) -> tuple[Frame, ast.expr] | None:
    """What a function of the file returns to a call, if there is only one way out of it."""
    for run in frames_by_call(facts).get(call, ()):
        if run.caller is frame and run.module is frame.module and len(run.returns) == 1:
            value = getattr(run.returns[0][0], "value", None)
            return (run, value) if isinstance(value, ast.expr) else None
    return None


def _scope_of(frame: Frame, name: str) -> Frame | None:
    """The run of the function that holds a name."""
    scope: Frame | None = frame
    while scope is not None and name not in scope.environment:
        scope = scope.outer
    # Transformations run in frames of their own, with the names of the function around.
    while scope is not None and scope.function is None and scope.caller is not None:
        if scope.caller.environment is not scope.environment:
            break
        scope = scope.caller
    return scope


def assignment(scope: Frame, name: str) -> ast.stmt | None:
    """The last statement that gave a name its value."""
    for statement, _ in reversed(scope.steps):
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        for target in targets:
            if target is not None and any(
                isinstance(it, ast.Name) and it.id == name for it in ast.walk(target)
            ):
                return statement
    return None


def _takes_apart(statement: ast.stmt) -> bool:
    """Whether a statement names the parts of something that is not written with its parts."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    several = any(isinstance(it, (ast.Tuple, ast.List)) for it in targets)
    return several and not isinstance(getattr(statement, "value", None), (ast.Tuple, ast.List))


def argument_of(scope: Frame, name: str) -> tuple[Frame, ast.expr] | None:
    """The expression that a call has for a parameter, and the frame that it is written in."""
    call, caller, function = scope.called_at, scope.caller, scope.function
    if caller is None or not isinstance(call, ast.Call) or name not in scope.given:
        return None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return caller, keyword.value
    names = [it.arg for it in parameters(function)]
    skipped = 1 if names[:1] in (["self"], ["cls"]) else 0
    at = names.index(name) - skipped if name in names else -1
    is_plain = not any(isinstance(it, ast.Starred) for it in call.args[: at + 1])
    return (caller, call.args[at]) if 0 <= at < len(call.args) and is_plain else None
