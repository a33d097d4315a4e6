"""Loops of Python's of which only the last turn has an effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...operations import WRITES, bare
from ...remember import each, remembered, walked
from ...text import text_of
from ...values import Constant, Data, Sequence, Value, nodes_of
from ..reads import Reads, reads_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_WRITES = bare(WRITES)


@dataclass(frozen=True)
class LastTurn:
    """A name that each turn gives a value which no other turn sees; `base` is written into anew."""

    name: str
    place: Place
    base: str


def last_turns(facts: SourceFacts) -> Iterator[LastTurn]:
    """All of them, in each function once."""
    for function, runs in facts.functions():
        for loop, statement, name in _given_in_loops(function):
            frame = runs[0]
            base = _written_base(loop, statement) or _base_of_value(facts, frame, loop, statement)
            if base or _is_flag(frame, loop, statement, name):
                yield LastTurn(name, frame.place(statement), base)


def restarts(facts: SourceFacts) -> Iterator[LastTurn]:
    """Loops that begin with `h = x`, and of which each turn computes `h` from `x` once more."""
    for function, (frame, *_) in facts.functions():
        for loop, statement, name in _given_in_loops(function):
            base = _start_of(frame, loop, name)
            value = next((it for at, it in frame.steps if at is statement), None)
            if base is None or not isinstance(value, Data) or base in _stored(loop):
                continue
            is_of_turn = bool(_names(loop.target) & _names(statement.value))
            if is_of_turn and _reads(statement.value, base):
                yield LastTurn(name, frame.place(statement), base)


def _start_of(frame: Frame, loop: ast.For, name: str) -> str | None:
    """The array that a name stands for right before a loop."""
    found: str | None = None
    for statement, value in frame.steps:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if statement.lineno >= loop.lineno or not isinstance(target, ast.Name):
            continue
        if target.id == name and isinstance(statement, ast.Assign):
            is_other = isinstance(statement.value, ast.Name) and isinstance(value, Data)
            found = text_of(statement.value) if is_other else None
    return found


@remembered
def _given_in_loops(function: ast.AST) -> list[tuple[ast.For, ast.Assign, str]]:
    """Names that a loop gives a value in each turn, and that only what comes after it needs."""
    reads = reads_of(function)
    found: list[tuple[ast.For, ast.Assign, str]] = []
    for loop in reads.loops:
        if not isinstance(loop, ast.For) or loop.orelse or _is_left(loop):
            continue
        seen: set[str] = set()
        for statement in loop.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(statement, ast.Assign) and isinstance(target, ast.Name):
                is_new = target.id not in seen and not _reads(statement.value, target.id)
                if is_new and _is_for_later(reads, loop, target.id):
                    found.append((loop, statement, target.id))
            seen.update(it.id for it in each(statement, ast.Name))
    return found


def _is_left(loop: ast.For) -> bool:
    return any(isinstance(it, (ast.Break, ast.Return, ast.Continue)) for it in walked(loop))


def _reads(syntax: ast.AST, name: str) -> bool:
    return any(
        isinstance(it, ast.Name) and it.id == name and isinstance(it.ctx, ast.Load)
        for it in walked(syntax)
    )


def _is_for_later(reads: Reads, loop: ast.For, name: str) -> bool:
    """Whether a name is read after a loop, and no turn gives its value to somebody to keep."""
    if name in reads.within:
        return False
    is_needed = any(it.lineno > (loop.end_lineno or 0) for it in reads.lines.get(name, ()))
    return is_needed and not any(_keeps(it, name) for it in walked(loop))


def _keeps(node: ast.AST, name: str) -> bool:
    """Whether a piece of syntax passes on the value of a name: to a function, a name, a caller."""
    given: list[ast.expr] = []
    if isinstance(node, ast.Call):
        given = [*node.args, *(it.value for it in node.keywords)]
    elif isinstance(node, ast.Assign):
        given = [node.value]
    elif isinstance(node, (ast.Yield, ast.Await)):
        return True
    return any(isinstance(it, ast.Name) and it.id == name for it in given)


def _written_base(loop: ast.For, statement: ast.Assign) -> str:
    """What a turn writes an element of, if all turns start from the same: `x.at[i].set(y)`."""
    match statement.value:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=base, attr="at"), slice=index),
                attr=method,
            )
        ) if method in _WRITES:
            turn = _names(loop.target)
            is_own = bool(turn & _names(index)) and not _names(base) & (turn | _stored(loop))
            is_plain = not any(isinstance(it, ast.Call) for it in walked(base))
            return text_of(base) if is_own and is_plain else ""
        case _:
            return ""


def _base_of_value(facts: SourceFacts, frame: Frame, loop: ast.For, statement: ast.Assign) -> str:
    """The same, where something else than the statement itself writes the element."""
    value = next((it for at, it in frame.steps if at is statement), None)
    node = value.node if isinstance(value, Data) else None
    if node is None or not node.operation.startswith("at.") or not node.operands:
        return ""
    pair = node.operands[0]
    region = next((it for it in node.varies if it.details.get("syntax") is loop), None)
    items = pair.items or [] if isinstance(pair, Sequence) else []
    if len(items) != 2 or region is None:
        return ""
    base, index = items
    is_own = any(region in it.varies for it in nodes_of(index))
    if not isinstance(base, Data) or region in base.node.varies or not is_own:
        return ""
    return "" if base.node.is_made_in(region) else facts.name_of(base)


def _names(syntax: ast.AST) -> set[str]:
    return {it.id for it in each(syntax, ast.Name)}


def _stored(loop: ast.For) -> set[str]:
    """The names that a loop gives values."""
    every = each(loop, ast.Name)
    return {it.id for it in every if not isinstance(it.ctx, ast.Load)}


def _is_flag(frame: Frame, loop: ast.For, statement: ast.Assign, name: str) -> bool:
    """Whether a flag starts as a constant and is given an array's truth in each turn."""
    if _reads(loop, name):
        return False
    value = next((it for at, it in frame.steps if at is statement), None)
    if not isinstance(value, Data) or value.traced is False:
        return False
    if value.node.dtype is None or not value.node.dtype.startswith("bool"):
        return False
    starts = [it for at, value in frame.steps for it in _given_before(at, value, loop, name)]
    return bool(starts) and isinstance(starts[-1], Constant) and starts[-1].value in (False, True)


def _given_before(statement: ast.stmt, value: Value, loop: ast.For, name: str) -> Iterator[Value]:
    """What a statement before a loop gives to a name."""
    if not isinstance(statement, ast.Assign) or statement.lineno >= loop.lineno:
        return
    target = statement.targets[0]
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    if isinstance(target, ast.Tuple) and isinstance(value, Sequence) and value.items is not None:
        for at, it in zip(target.elts, value.items, strict=False):
            if isinstance(at, ast.Name) and at.id == name:
                yield it
