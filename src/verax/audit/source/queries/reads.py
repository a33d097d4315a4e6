"""Which names a function reads, and where."""

from __future__ import annotations

import ast
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property

from ..looping import assigned_names
from ..parameters import FunctionSyntax, NamedFunction, parameters
from ..remember import each, remembered
from .nested import Nested, Position, end_of, start_of

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# All syntax that is looked at.
_TOLD = (ast.Name, ast.Global, ast.Nonlocal, ast.Assign, *_LOOPS, *_SCOPES)
_REFLECTION = frozenset(("locals", "vars", "eval", "exec", "globals"))


@dataclass
class Reads:
    """The places at which each name is read, and the names that a function inside reads."""

    lines: dict[str, list[ast.Name]] = field(default_factory=dict[str, list[ast.Name]])
    within: set[str] = field(default_factory=set[str])
    loops: list[ast.For | ast.AsyncFor | ast.While] = field(
        default_factory=list[ast.For | ast.AsyncFor | ast.While]
    )
    is_clear: bool = True
    deleted: set[str] = field(default_factory=set[str])
    # The reads of a name that only give it its own next value: `total = total + x`.
    own: set[ast.AST] = field(default_factory=set[ast.AST])

    def count(self, name: str) -> int:
        """How often a name is read."""
        return len(self.lines.get(name, ())) + (name in self.within)

    def around(self, statement: ast.stmt) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops that a statement is in."""
        return self._nested_loops.around(start_of(statement))

    def needs(self, statement: ast.stmt, name: str) -> bool:
        """Whether it may be read for anything but its own next value."""
        return self._may_follow(statement, name, self._positions_of_others)

    def after(self, statement: ast.stmt, name: str, reads: list[ast.Name] | None = None) -> bool:
        """Whether a name may be read once a statement has run, of all reads or of some."""
        some = self._positions if reads is None else {name: sorted(map(start_of, reads))}
        return self._may_follow(statement, name, some)

    def _may_follow(self, statement: ast.stmt, name: str, reads: dict[str, list[Position]]) -> bool:
        if name in self.within or not self.is_clear:
            return True
        positions = reads.get(name)
        if not positions:
            return False
        if positions[-1] >= end_of(statement):
            return True
        loops = self.around(statement)
        if not loops:
            return False
        # In a loop it reads what it gave the name in the turn before.
        first = bisect_left(positions, start_of(loops[0]))
        return first < len(positions) and positions[first] < end_of(loops[0])

    @cached_property
    def _nested_loops(self) -> Nested[ast.For | ast.AsyncFor | ast.While]:
        return Nested((start_of(it), end_of(it), it) for it in self.loops)

    @cached_property
    def _positions(self) -> dict[str, list[Position]]:
        """Where each name is read, in the order of the text."""
        return {name: sorted(map(start_of, reads)) for name, reads in self.lines.items()}

    @cached_property
    def _positions_of_others(self) -> dict[str, list[Position]]:
        """The same without the reads that only give a name its own next value."""
        return {
            name: sorted(start_of(it) for it in reads if it not in self.own)
            for name, reads in self.lines.items()
        }


@remembered
def reads_of(function: ast.AST) -> Reads:
    """What a function reads; not what functions inside of it call by the same names."""
    found = Reads()
    inner: list[ast.AST] = []
    for node in each(function, *_TOLD):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.lines.setdefault(node.id, []).append(node)
            elif isinstance(node.ctx, ast.Del):
                found.deleted.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.within.update(node.names)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            found.loops.append(node)
        elif isinstance(node, ast.Assign) and _is_sum(node.value):
            target = node.targets[0]
            if isinstance(target, ast.Name) and len(node.targets) == 1:
                found.own.update(it for it in each(node.value, ast.Name) if it.id == target.id)
        elif isinstance(node, _SCOPES) and node is not function:
            inner.append(node)
    _hide(found, inner)
    within = {node for scope in inner for node in each(scope, ast.Name, *_LOOPS)}
    found.loops = [it for it in found.loops if it not in within]
    found.within.update(name for name, reads in found.lines.items() if not within.isdisjoint(reads))
    found.is_clear = _REFLECTION.isdisjoint(found.lines)
    return found


_SUMS = frozenset("add maximum minimum logaddexp where map tree_map".split())


def _is_sum(value: ast.expr) -> bool:
    """Whether a value is put together by what does nothing else, be it leaf by leaf."""
    called = value.func if isinstance(value, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return isinstance(value, ast.BinOp) or name in _SUMS


def _hide(found: Reads, inner: list[ast.AST]) -> None:
    """Leave out what functions inside read of their own, by the same names."""
    for scope in inner:
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            shared = [name for name in own_names(scope) if name in found.lines]
            if not shared:
                continue
            body = scope.body if isinstance(scope.body, list) else [scope.body]
            own = {node for it in body for node in each(it, ast.Name)}
            for name in shared:
                found.lines[name] = [it for it in found.lines[name] if it not in own]


def own_names(function: FunctionSyntax) -> frozenset[str]:
    """The names that a function gives values of its own: its parameters and what it assigns."""
    arguments = function.args
    every = (*parameters(function), arguments.vararg, arguments.kwarg)
    names = {it.arg for it in every if it is not None}
    if isinstance(function, ast.Lambda):
        return frozenset(names)
    outside = each(function, ast.Global, ast.Nonlocal)
    names |= assigned_names(function) - {function.name}
    return frozenset(names.difference(*(it.names for it in outside)))


def is_ignored(function: NamedFunction, parameter: str) -> bool:
    """Whether a function does nothing with a parameter, without saying so by `del parameter`."""
    reads = reads_of(function)
    is_changed = any(
        it.id == parameter and not isinstance(it.ctx, ast.Load) for it in each(function, ast.Name)
    )
    return reads.is_clear and not reads.count(parameter) and not is_changed
