"""What import statements bind: modules of the project, or names outside of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .library.names import canonical, offered
from .project import Module
from .values import External, Imported, Value

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter


class Pending(Value):
    """A name that nobody has asked for yet: what it stands for is looked for when somebody does."""

    __slots__ = ("found", "is_found")

    def __init__(self) -> None:
        self.found: Value | None = None
        self.is_found: bool = False

    def resolve(self, machine: Interpreter) -> Value | None:
        """What the name stands for, `None` if it turns out to be bound to nothing.

        In a circle of imports it is asked for once more before it is known: then it is nothing yet.
        """
        if not self.is_found:
            self.is_found = True
            self.found = self.find(machine)
        return self.found

    def find(self, machine: Interpreter) -> Value | None:
        """Look for it."""
        raise NotImplementedError


class PendingImport(Pending):
    """An imported name: its module is read when somebody asks for it."""

    __slots__ = ("attribute", "importer", "module")

    def __init__(self, module: str, attribute: str | None, importer: Module):
        super().__init__()
        self.module: str = module
        self.attribute: str | None = attribute
        self.importer: Module = importer

    def find(self, machine: Interpreter) -> Value:
        """The module, or what has the name in it."""
        found = machine.project.find(self.module, self.importer)
        if self.attribute is None:
            return External(canonical(self.module)) if found is None else Imported(found)
        if found is None:
            # A package without __init__.py still has modules.
            inner = machine.project.find(f"{self.module}.{self.attribute}", self.importer)
            if inner is not None:
                return Imported(inner)
            return offered(f"{self.module}.{self.attribute}")
        return attribute_of_module(machine, found, self.attribute)


def attribute_of_module(machine: Interpreter, module: Module, name: str) -> Value:
    """A name of a module of the project: its own, one that it imports, or a module in it."""
    frame = machine.names_of(module)
    value = frame.environment.get(name)
    if isinstance(value, Pending):
        value = value.resolve(machine)
    if value is not None:
        return value
    inner = machine.project.find(f"{module.name}.{name}", module)
    if inner is not None:
        return Imported(inner)
    return offered(f"{module.name}.{name}")


def import_statement(machine: Interpreter, frame: Frame, syntax: ast.Import) -> None:
    """`import a.b`, `import a.b as c`."""
    for alias in syntax.names:
        if alias.asname:
            frame.environment[alias.asname] = PendingImport(alias.name, None, frame.module)
        else:
            top = alias.name.partition(".")[0]
            frame.environment[top] = PendingImport(top, None, frame.module)


def import_from(machine: Interpreter, frame: Frame, syntax: ast.ImportFrom) -> None:
    """`from a import b`, also relative ones and stars."""
    name = frame.module.absolute(syntax.module, syntax.level)
    for alias in syntax.names:
        if alias.name == "*":
            _import_star(machine, frame, name)
        else:
            bound = alias.asname or alias.name
            frame.environment[bound] = PendingImport(name, alias.name, frame.module)


def _import_star(machine: Interpreter, frame: Frame, name: str) -> None:
    module = machine.project.find(name, frame.module)
    if module is None or module is frame.module:
        return
    for key, value in list(machine.names_of(module).environment.items()):
        if not key.startswith("_"):
            frame.environment[key] = value
