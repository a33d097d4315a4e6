"""Loops whose last carry is dropped, while the function returns the first one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Loop
from ...remember import walked
from ...values import Data, Value, nodes_of
from ..loops.bodies import behind, paired_leaves

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts


@dataclass(frozen=True)
class DroppedCarry:
    """Where the first carry is returned, by which name, and which loop has moved it."""

    place: Place
    name: str
    loop: Loop


def dropped_carries(facts: SourceFacts) -> Iterator[DroppedCarry]:
    """Scans like `_, ys = scan(step, state, xs)` in a function that then returns `state`.

    Where the scan stacks its carry, the first one may be meant to go in front of the others.
    """
    for loop in facts.events(Loop):
        if loop.kind != "scan" or not isinstance(loop.syntax, ast.Call):
            continue
        function = loop.frame.function
        if function is None or not _drops_carry(loop) or _stacks_carry(loop):
            continue
        end = loop.syntax.end_lineno or loop.syntax.lineno
        for name, value in _given(loop):
            if not _moves(loop, value):
                continue
            returned = next((it for it in _returns(function, end) if name in _returned(it)), None)
            if returned is not None and not _is_bound(function, name, end):
                yield DroppedCarry(loop.frame.place(returned), name, loop)


def _drops_carry(loop: Loop) -> bool:
    """Whether the statement around a scan gives the carry a name that says it is not needed."""
    for statement, _ in loop.frame.steps:
        if isinstance(statement, ast.Assign) and statement.value is loop.syntax:
            target = statement.targets[0]
            if isinstance(target, ast.Tuple) and target.elts:
                first = target.elts[0]
                return isinstance(first, ast.Name) and first.id.startswith("_")
    return False


def _stacks_carry(loop: Loop) -> bool:
    """Whether what a turn hands out is the carry, or a part of it, itself."""
    if loop.stacked is None or loop.carry_in is None or loop.carry_out is None:
        return True
    own = {*nodes_of(loop.carry_in), *nodes_of(loop.carry_out)}
    return not own.isdisjoint(nodes_of(loop.stacked))


def _given(loop: Loop) -> Iterator[tuple[str, Value]]:
    """The names that the first carry is made of, with their values."""
    call = loop.syntax
    initial = call.args[1] if isinstance(call, ast.Call) and len(call.args) > 1 else None
    parts = initial.elts if isinstance(initial, ast.Tuple) else [initial]
    for it in parts:
        value = loop.frame.environment.get(it.id) if isinstance(it, ast.Name) else None
        if isinstance(it, ast.Name) and value is not None:
            yield it.id, value


def _moves(loop: Loop, value: Value) -> bool:
    """Whether the loop makes something new of a part of its carry, from what it was."""
    own = set(nodes_of(value))
    first = {
        carry.node for it, carry in paired_leaves(loop.initial, loop.carry_in) if it.node in own
    }
    return any(
        before.node in first and before.node is not after.node and before.node in behind(after)
        for before, after in paired_leaves(loop.carry_in, loop.carry_out)
        if isinstance(before, Data)
    )


def _returns(function: ast.AST, after: int) -> Iterator[ast.Return]:
    for it in walked(function):
        if isinstance(it, ast.Return) and it.lineno > after:
            yield it


def _returned(statement: ast.Return) -> set[str]:
    """The names that are returned as they are."""
    value = statement.value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return {it.id for it in parts if isinstance(it, ast.Name)}


def _is_bound(function: ast.AST, name: str, after: int) -> bool:
    """Whether a name is given something else after a line."""
    return any(
        isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store) and it.id == name
        for it in walked(function)
        if getattr(it, "lineno", 0) >= after
    )
