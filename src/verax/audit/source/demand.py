"""Modules that others import: their statements run when somebody asks for what they bind.

A root is run from top to bottom. Of what it imports it mostly needs a name or two, and running
whole packages for these would cost more than the root itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from .frame import Frame
from .imports import Pending
from .remember import children, each, remembered, walked
from .values import Value

if TYPE_CHECKING:
    from .machine import Interpreter

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


class _Body:
    """The body of a module, of which some statements have run."""

    def __init__(self, frame: Frame):
        self._frame = frame
        # The names as they are outside of any branch that runs now.
        self.names: dict[str, Value] = frame.environment
        self._started: set[ast.stmt] = set()
        self._running: set[ast.stmt] = set()
        self._later: list[list[ast.stmt]] = []
        # What names that are bound several times stand for after each statement that does so.
        self._versions: dict[tuple[ast.stmt, str], Value] = {}

    def run(self, machine: Interpreter, statements: Iterable[ast.stmt]) -> None:
        """Run statements, unless they have run or are running."""
        waiting = [it for it in statements if it not in self._started]
        self._started.update(waiting)
        self._running.update(waiting)
        for statement in waiting:
            self._run_in_its_place(machine, statement)
        self._running.difference_update(waiting)
        if self._later and not self._running:
            later, self._later = self._later, []
            for rest in later:
                self.run(machine, rest)

    def _run_in_its_place(self, machine: Interpreter, statement: ast.stmt) -> None:
        """Run a statement with the names as they are there, and not as they become later."""
        frame, names = self._frame, self.names
        rebound = _rebound(frame.module.syntax)
        read = _read_at_once(statement) if rebound else frozenset[str]()
        changing = [name for name in rebound if name in read]
        for name in changing:
            self._bring_back(machine, name, statement.lineno)
        around, frame.environment = frame.environment, names
        machine.execute_apart(frame, [statement])
        if frame.environment is not names:
            names.update(frame.environment)
        frame.environment = around
        for name in rebound.keys() & set(_bound(statement)) if rebound else ():
            if name in names:
                self._versions[statement, name] = names[name]
        for name in changing:
            self._bring_forward(name, rebound[name])

    def _bring_back(self, machine: Interpreter, name: str, line: int) -> None:
        """Let a name stand for what it stands for at a line."""
        earlier = [it for it in _rebound(self._frame.module.syntax)[name] if it.lineno < line]
        self.run(machine, (it for it in earlier if it not in self._running))
        known = [self._versions[it, name] for it in earlier if (it, name) in self._versions]
        if known:
            self.names[name] = known[-1]

    def _bring_forward(self, name: str, statements: list[ast.stmt]) -> None:
        """Let a name stand for what it becomes in the end, once all that binds it has run."""
        if all((it, name) in self._versions for it in statements):
            self.names[name] = self._versions[statements[-1], name]
        elif not self._running.intersection(statements):
            self.names[name] = Deferred(self, name)

    def run_for(self, machine: Interpreter, name: str) -> Value | None:
        """Run what binds or changes a name, in the order of the file.

        One of these may run already, and ask: what comes after it has to wait for its end.
        """
        if isinstance(self.names.get(name), Deferred):
            del self.names[name]
        statements = _statements_by_name(self._frame.module.syntax)[name]
        before = list(takewhile(lambda it: it not in self._running, statements))
        if len(before) < len(statements):
            self._later.append(statements[len(before) :])
        self.run(machine, before)
        return self.names.get(name)


class Deferred(Pending):
    """A name of a module whose statements have not run yet."""

    __slots__ = ("body", "name")

    def __init__(self, body: _Body, name: str):
        super().__init__()
        self.body: _Body = body
        self.name: str = name

    def find(self, machine: Interpreter) -> Value | None:
        """What the statements of the module bind it to."""
        value = self.body.run_for(machine, self.name)
        return value.resolve(machine) if isinstance(value, Pending) else value


def defer(machine: Interpreter, frame: Frame) -> None:
    """Bind all names of a module without running it."""
    syntax, body = frame.module.syntax, _Body(frame)
    statements = _statements_by_name(syntax)
    for name in statements:
        body.names[name] = Deferred(body, name)
    # Which names a star stands for is not known until it runs.
    body.run(machine, statements.get("*", ()))


@remembered
def _statements_by_name(module: ast.Module) -> dict[str, list[ast.stmt]]:
    """The statements of a module's body that bind or change each of its names, in order."""
    found: dict[str, list[ast.stmt]] = {}
    imported: set[str] = set()
    for statement in module.body:
        for name in _bound(statement):
            found.setdefault(name, []).append(statement)
            if isinstance(statement, _IMPORTS):
                imported.add(name)
    # What is called with a name may change what it stands for: `register(Class)`.
    for statement in module.body:
        for name in _given_to_calls(statement):
            is_own = name not in imported or name == _registered(statement)
            if name in found and is_own and statement not in found[name]:
                found[name].append(statement)
    for statements in found.values():
        statements.sort(key=lambda it: it.lineno)
    return found


@remembered
def _rebound(module: ast.Module) -> dict[str, list[ast.stmt]]:
    """The names that several plain assignments of a module's body bind, with these, in order."""
    found: dict[str, list[ast.stmt]] = {}
    others: set[str] = set()
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            for name in dict.fromkeys(_bound(statement)):
                found.setdefault(name, []).append(statement)
        else:
            others.update(_bound(statement))
    return {name: it for name, it in found.items() if len(it) > 1 and name not in others}


@remembered
def _read_at_once(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement reads when it runs, and not when something is called later."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts: list[ast.AST] = [*statement.decorator_list, *statement.args.defaults]
    else:
        parts = [statement]
    return frozenset(
        it.id
        for part in parts
        for it in walked(part)
        if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Load)
    )


def _within(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in its blocks, without the bodies of definitions."""
    yield statement
    if not isinstance(statement, _DEFINITIONS):
        for inner in children(statement):
            if isinstance(inner, ast.stmt):
                yield from _within(inner)
            elif isinstance(inner, (ast.ExceptHandler, ast.match_case)):
                for it in inner.body:
                    yield from _within(it)


def _bound(statement: ast.stmt) -> Iterator[str]:
    for it in _within(statement):
        if isinstance(it, _DEFINITIONS):
            yield it.name
        elif isinstance(it, _IMPORTS):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in it.names)
        elif isinstance(it, (ast.Delete, ast.Assign)):
            yield from _bases(it.targets)
        elif isinstance(it, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
            yield from _bases([it.target])
        elif isinstance(it, (ast.With, ast.AsyncWith)):
            yield from _bases(i.optional_vars for i in it.items if i.optional_vars is not None)
        elif isinstance(it, ast.Match):
            yield from (
                name for node in walked(it) if isinstance(name := getattr(node, "name", None), str)
            )


def _bases(targets: Iterable[ast.expr]) -> Iterator[str]:
    """The names that an assignment gives a value, or a part: `a`, `b.c`, `d[0]`."""
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from _bases(target.elts)
            continue
        base = target
        while isinstance(base, (ast.Attribute, ast.Subscript, ast.Starred)):
            base = base.value
        if isinstance(base, ast.Name):
            yield base.id


def _given_to_calls(statement: ast.stmt) -> Iterator[str]:
    for it in _within(statement):
        if isinstance(it, ast.Expr) and isinstance(it.value, ast.Call):
            yield from (node.id for node in each(it, ast.Name))


def _registered(statement: ast.stmt) -> str:
    """The class that a statement registers, which may be another module's."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args:
        return ""
    function, first = call.func, call.args[0]
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return first.id if "register" in name and isinstance(first, ast.Name) else ""
