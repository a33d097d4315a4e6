"""What is not known because a call was not followed.

Calls are followed up to a limit (`limits.py`). Beyond it nothing is assumed: the function may have
used all that it can reach, its arguments and what it closes over, may have kept it, and may have
changed what can be changed. Therefore

- the result is made of everything that the function can reach, so that a way through the call to
  an output is never missing; its node is kept in `Record.open_ends`, where ways may end that nobody
  has seen (`queries/nodes.py`);
- containers, attributes and variables that some function behind the call stores to are opaque
  afterwards;
- no function that may have run there, and none that was left in the middle, is known to its end:
  `Record.unknown` holds them. Nothing is verified of them, or of what they may call. What follows
  from something that they have not done (`Rule.by_absence`) is reported only of those that were
  gone through for others, and never left in the middle. Where a call can reach too much to go
  through it, none of them is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .frame import Site
from .graph import variation
from .imports import Pending
from .joining import join
from .looping import assigned_names
from .remember import each, remembered
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    Function,
    Imported,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
)
from .work import spend

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter

# Values that are looked into for one call. One that can reach more may do anything.
_MOST = 1000
_CHANGES = frozenset(
    "append appendleft extend extendleft insert pop popleft popitem remove clear add discard "
    "update setdefault sort reverse rotate".split()
)


def unfollowed(
    machine: Interpreter, site: Site, function: Function, given: Iterable[Value]
) -> Data:
    """The result of a call that is not followed, after all that it may have done."""
    values = tuple(given)
    result = machine.opaque("call", site, values)
    return _left_open(machine, site, result, _of_function(machine, function), values)


def leave_unknown(machine: Interpreter, frame: Frame, statement: ast.stmt) -> None:
    """Go on after a statement that was left in the middle: what it sets may be anything."""
    names = (_looked_up(frame, it) for it in names_in(statement))
    values = [it for it in names if it is not None]
    site = Site(frame, statement)
    result = _left_open(machine, site, machine.opaque("call", site, values), None, values)
    for name in assigned_names(statement):
        frame.environment[name] = result


def leave_unrun(machine: Interpreter, value: Value) -> None:
    """Go on without a run of a function, for which something was missing."""
    machine.record.unknown.update(Reach(machine, [value]).functions)


def _left_open(
    machine: Interpreter,
    site: Site,
    result: Data,
    behind: Reach | None,
    values: Iterable[Value],
) -> Data:
    """The result of what is left out, made of what it can reach: by a function, and by values."""
    record = machine.record
    record.open_ends[result.node] = None
    for frame in site.frame.callers():
        record.unknown[frame.function or frame.module.syntax] = frame.module.path
        record.left.add(frame)
    parts = [behind] if behind is not None else []
    if not all(isinstance(it, (Data, Constant)) for it in values):
        parts.append(Reach(machine, values))
    for reach in parts:
        result.node.inputs += tuple(it.node for it in reach.data)
        result.node.varies |= variation(it.node for it in reach.data)
        record.unknown.update(reach.functions)
    stored = frozenset(it for reach in parts for it in reach.stored)
    changes_items = any(reach.changes_items for reach in parts)
    if stored or changes_items:
        held = [it for it in values if isinstance(it, Data)]
        for reach in parts:
            reach.change(stored, changes_items, result)
        _forget_parts(held, stored, changes_items)
    for reach in parts:
        reach.change_names(result)
    return result


def _of_function(machine: Interpreter, function: Function) -> Reach:
    """What a function can reach by the names that it reads, looked for once."""
    key = (function.syntax, function.frame)
    found = machine.reached.get(key)
    if found is None:
        found = machine.reached[key] = Reach(machine, [function])
    return found


class Reach:
    """All that a call can reach: through its arguments, and the names that functions read."""

    def __init__(self, machine: Interpreter, values: Iterable[Value]):
        self._machine = machine
        self.data: list[Data] = []
        self.functions: dict[ast.AST, str] = {}
        self._holders: list[Value] = []
        self._declared: list[tuple[Frame, ast.Global | ast.Nonlocal]] = []
        self._seen: set[int] = set()
        self._pending = list(values)
        while self._pending and len(self._seen) < _MOST:
            value = self._pending.pop()
            if id(value) not in self._seen:
                self._seen.add(id(value))
                self._visit(value)
        machine.record.is_lost = machine.record.is_lost or bool(self._pending)
        self.stored: frozenset[str] = frozenset(
            it for function in self.functions for it in _stored_in(function)
        )
        self.changes_items: bool = any(_changes_items(it) for it in self.functions)

    def _visit(self, value: Value) -> None:
        match value:
            case Data():
                self.data.append(value)
            case Function():
                self._read(value.syntax, value.frame)
                self._pending += [*value.defaults, *value.keyword_defaults.values()]
            case Bound():
                self._pending += [value.owner, value.function]
            case Partial():
                self._pending += [value.function, *value.args, *value.keywords.values()]
            case Transformed():
                self._pending += [value.function, *value.rules.values()]
            case Sequence():
                self._holders.append(value)
                self._pending += value.items or ()
                self._pending += [value.element] if value.element is not None else []
            case Mapping():
                self._holders.append(value)
                self._pending += value.items.values()
            case Instance():
                self._holders.append(value)
                self._pending += value.attributes.values()
                self.data.append(Data(value.node, value.traced))
            case Class():
                self._pending += value.attributes.values()
            case _:
                pass

    def _read(self, syntax: ast.AST, frame: Frame) -> None:
        """Go on with what the names in a function stand for, and methods of the names it calls."""
        if syntax in self.functions:
            return
        self.functions[syntax] = frame.module.path
        spend(len(names_in(syntax)))
        self._declared += [(frame, it) for it in each(syntax, ast.Global, ast.Nonlocal)]
        for name in names_in(syntax):
            found = _looked_up(frame, name)
            if found is not None:
                self._pending.append(found)
        methods = attributes_in(syntax)
        for cls in self._machine.record.classes:
            self._pending += [it for name, it in cls.attributes.items() if name in methods]
        for module in _modules(frame, syntax):
            environment = module.module.frame.environment if module.module.frame else {}
            self._pending += [
                it
                for name, it in environment.items()
                if name in methods and not isinstance(it, Pending)
            ]

    def change(self, stored: frozenset[str], changes_items: bool, result: Data) -> None:
        """Leave open what may be stored in what can be reached."""
        for value in self._holders:
            if isinstance(value, Instance):
                for name in stored & value.attributes.keys():
                    value.attributes[name] = _changed(value.attributes[name], result)
            elif changes_items:
                _open(value, result)
        _forget_parts(self.data, stored, changes_items)

    def change_names(self, result: Data) -> None:
        """Leave open the variables that functions share with others."""
        for frame, declared in self._declared:
            scope = frame.module.frame if isinstance(declared, ast.Global) else frame
            for name in declared.names:
                around = scope
                while around is not None and name not in around.environment:
                    around = around.outer
                if around is not None and not isinstance(around.environment[name], Pending):
                    around.environment[name] = _changed(around.environment[name], result)


def _changed(before: Value, result: Data) -> Value:
    """What may be the same as before, or anything that the call has made."""
    return join(before, result) if isinstance(before, Data) else result


def _open(value: Value, result: Data) -> None:
    """Leave open what a container holds."""
    if isinstance(value, Mapping):
        value.is_open = True
        for key, held in value.items.items():
            value.items[key] = _changed(held, result)
    elif isinstance(value, Sequence) and value.kind != "tuple":
        element: Value = result
        for held in value.items or (value.element,):
            element = element if held is None else join(element, held)
        value.items, value.length, value.element = None, None, element


def _forget_parts(values: Iterable[Data], stored: frozenset[str], changes_items: bool) -> None:
    """Forget what was read from data: to read it again may give something else."""
    for value in values:
        node = value.node
        if changes_items:
            node.writes = node.children = None
        elif node.children is not None:
            for name in stored:
                node.children.pop(("field", name), None)


def _looked_up(frame: Frame, name: str) -> Value | None:
    """What a name stands for by now; what nobody has asked for has not been changed."""
    scope: Frame | None = frame
    while scope is not None:
        value = scope.environment.get(name)
        if value is not None:
            return None if isinstance(value, (Pending, Constant)) else value
        scope = scope.outer
    return None


def _modules(frame: Frame, syntax: ast.AST) -> Iterator[Imported]:
    for name in names_in(syntax):
        found = _looked_up(frame, name)
        if isinstance(found, Imported):
            yield found


@remembered
def names_in(syntax: ast.AST) -> frozenset[str]:
    """The names that code reads."""
    return frozenset(it.id for it in each(syntax, ast.Name) if isinstance(it.ctx, ast.Load))


@remembered
def attributes_in(syntax: ast.AST) -> frozenset[str]:
    """The attributes that code reads."""
    return frozenset(it.attr for it in each(syntax, ast.Attribute) if isinstance(it.ctx, ast.Load))


@remembered
def _stored_in(syntax: ast.AST) -> frozenset[str]:
    """The attributes that code sets."""
    return frozenset(
        it.attr for it in each(syntax, ast.Attribute) if not isinstance(it.ctx, ast.Load)
    )


@remembered
def _changes_items(syntax: ast.AST) -> bool:
    """Whether code stores something in a container, or takes it out."""
    stores = any(not isinstance(it.ctx, ast.Load) for it in each(syntax, ast.Subscript))
    return stores or not _CHANGES.isdisjoint(attributes_in(syntax))
