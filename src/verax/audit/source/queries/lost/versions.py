"""New versions of a state that nothing reads, while the old one is used on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...looping import assigned_names
from ...remember import each
from ...text import text_of
from ...values import Value, nodes_of
from ..reads import Reads, reads_of
from .dropped import dropped_values

if TYPE_CHECKING:
    from ...facts import SourceFacts

_VERSION = re.compile(r"^(?:new|next|updated)_(\w+)$|^(\w+?)_(?:new|next|updated)$")


@dataclass(frozen=True)
class Unthreaded:
    """A new version of something that is made and dropped; `place` is where it belongs."""

    place: Place
    old: str
    new: str
    how: str
    made_at: Place


def unthreaded(facts: SourceFacts) -> Iterator[Unthreaded]:
    """Calls with an old version whose new one, by its name, is never read."""
    for function, runs in facts.functions():
        for statement, value in runs[0].steps:
            yield from _of_statement(runs[0], function, statement, value)
            for it in _of_fields(runs[0], function, statement):
                # What is seen to be computed element by element has a rule of its own.
                if it.new not in {other.name for other in dropped_values(facts)}:
                    yield it


def _of_statement(
    frame: Frame, function: ast.AST, statement: ast.stmt, value: Value
) -> Iterator[Unthreaded]:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return
    call = statement.value
    if isinstance(call.func, ast.Attribute) and call.func.attr == "update":
        return  # An optimiser's state has a rule of its own.
    arguments = [*call.args, *(it.value for it in call.keywords)]
    given = {it.id for it in arguments if isinstance(it, ast.Name)}
    for new in _names(statement.targets[0]):
        old = _older_name(frame, new)
        if not old or (old not in given and old not in frame.environment):
            continue
        reads = reads_of(function)
        if reads.after(statement, new):
            continue
        if old not in given and not _is_made_from(value, frame.environment[old]):
            continue
        made_at = frame.place(statement)
        returned = _returned_at(frame, reads, statement, old)
        if returned is not None:
            yield Unthreaded(frame.place(returned), old, new, "is returned", made_at)
            continue
        how = _used_on(frame, reads, statement, old)
        if how:
            yield Unthreaded(made_at, old, new, how, made_at)


def _older_name(frame: Frame, new: str) -> str:
    """What the version before is called: `state` of `new_state`, `last_obs` of `obs`."""
    match = _VERSION.match(new)
    if match is not None:
        return match.group(1) or match.group(2)
    olds = (f"{word}_{new}" for word in ("last", "prev", "old"))
    return next((it for it in olds if it in frame.environment), "")


def _of_fields(frame: Frame, function: ast.AST, statement: ast.stmt) -> Iterator[Unthreaded]:
    """`ema = moved(state.ema, params)`, and then `state.replace(params=params)` without it."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, _COMPUTED):
        return
    read = _fields_in(statement.value)
    for new in _names(statement.targets[0]):
        for owner in read.get(new, ()):
            reads = reads_of(function)
            if reads.after(statement, new) or owner == new:
                continue
            kept = keeps_field(function, statement, owner, new)
            if kept is not None:
                made_at = frame.place(statement)
                yield Unthreaded(frame.place(kept), f"{owner}.{new}", new, "is kept", made_at)


_COMPUTED = (ast.Call, ast.BinOp, ast.IfExp, ast.Subscript)


def _fields_in(expression: ast.expr) -> dict[str, list[str]]:
    """Fields that an expression takes from objects with a name."""
    found: dict[str, list[str]] = {}
    for node in each(expression, ast.Attribute):
        if isinstance(node.value, ast.Name):
            found.setdefault(node.attr, []).append(node.value.id)
    return found


def keeps_field(function: ast.AST, statement: ast.stmt, owner: str, field: str) -> ast.expr | None:
    """Where a record is made after a statement, with its field as it was."""
    end = statement.end_lineno or statement.lineno
    for call in each(function, ast.Call):
        if call.lineno > end:
            kept = call if _copies_without(call, owner, field) else _handed_on(call, owner, field)
            if kept is not None:
                return kept
    return None


def _copies_without(call: ast.Call, owner: str, field: str) -> bool:
    """Whether it is `owner.replace(…)` with new values for other fields only."""
    named = [it.arg for it in call.keywords]
    if not named or None in named or field in named or call.args:
        return False
    called = call.func
    if not isinstance(called, ast.Attribute) or called.attr not in ("replace", "_replace"):
        return False
    return isinstance(called.value, ast.Name) and called.value.id == owner


def _handed_on(call: ast.Call, owner: str, field: str) -> ast.expr | None:
    """The old field that a class is given: `State(params, state.ema)`."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else text_of(call.func)
    if not called.lstrip("_")[:1].isupper():
        return None
    for it in (*call.args, *(it.value for it in call.keywords)):
        held = it.value if isinstance(it, ast.Attribute) and it.attr == field else None
        if isinstance(held, ast.Name) and held.id == owner:
            return it
    return None


def _is_made_from(value: Value, old: Value) -> bool:
    """Whether a value depends on another one, be it through a closure."""
    sources = set(nodes_of(old))
    return any(it in sources for node in nodes_of(value) for it in node.ancestors())


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _names(element)


def _is_handed_on(loop: ast.AST, statement: ast.stmt, name: str) -> bool:
    """Whether a name is an argument of a call that comes after a statement of a loop."""
    end = statement.end_lineno or statement.lineno
    return any(
        it.lineno > end and any(isinstance(one, ast.Name) and one.id == name for one in it.args)
        for it in each(loop, ast.Call)
    )


def _returned_at(frame: Frame, reads: Reads, statement: ast.stmt, old: str) -> ast.Name | None:
    """Where an old version is returned after its new one was made: there the new one belongs."""
    for syntax, _ in frame.returns if not reads.around(statement) else ():
        value = syntax.value if isinstance(syntax, ast.Return) else None
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        for it in (one for part in parts for one in _held(part)):
            if isinstance(it, ast.Name) and it.id == old and it.lineno > statement.lineno:
                return it
    return None


def _held(part: ast.expr | None) -> list[ast.expr | None]:
    """What is returned by itself, or what a record that is returned is made with."""
    if not isinstance(part, ast.Call):
        return [part]
    called = part.func.attr if isinstance(part.func, ast.Attribute) else text_of(part.func)
    is_record = called in ("replace", "_replace") or called.lstrip("_")[:1].isupper()
    return [*part.args, *(it.value for it in part.keywords)] if is_record else [part]


def _used_on(frame: Frame, reads: Reads, statement: ast.stmt, old: str) -> str:
    """How an old version is used after its new one was made, in words."""
    loops = reads.around(statement)
    if loops:
        changes = any(old in assigned_names(loop) for loop in loops)
        if not changes:
            return "goes into the next turn of the loop"
        given = isinstance(loops[-1], ast.For) and old in _names(loops[-1].target)
        return "is handed on" if given and _is_handed_on(loops[-1], statement, old) else ""
    return "is handed on" if _is_in_tuple(frame, statement, old) else ""


def _is_in_tuple(frame: Frame, statement: ast.stmt, name: str) -> bool:
    """Whether a name is put into a tuple that gets a name of its own after a statement."""
    return any(
        isinstance(it, ast.Assign)
        and it.lineno > statement.lineno
        and isinstance(it.value, ast.Tuple)
        and len(it.value.elts) > 1
        and isinstance(it.targets[0], ast.Name)
        and any(isinstance(one, ast.Name) and one.id == name for one in it.value.elts)
        for it, _ in frame.steps
    )
