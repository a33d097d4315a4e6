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
from .remember import children, remembered, walked
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

    def run(self, machine: Interpreter, statements: Iterable[ast.stmt]) -> None:
        """Run statements, unless they have run or are running."""
        waiting = [it for it in statements if it not in self._started]
        self._started.update(waiting)
        self._running.update(waiting)
        frame, names = self._frame, self.names
        around, frame.environment = frame.environment, names
        machine.execute_apart(frame, waiting)
        if frame.environment is not names:
            names.update(frame.environment)
        frame.environment = around
        self._running.difference_update(waiting)
        if self._later and not self._running:
            later, self._later = self._later, []
            for rest in later:
                self.run(machine, rest)

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
            if name in found and name not in imported and statement not in found[name]:
                found[name].append(statement)
    for statements in found.values():
        statements.sort(key=lambda it: it.lineno)
    return found


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
            yield from (node.id for node in walked(it) if isinstance(node, ast.Name))
