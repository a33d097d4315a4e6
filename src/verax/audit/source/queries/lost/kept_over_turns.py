"""What a loop keeps of something that each of its turns makes from that of the turn before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...classes import fields_are_leaves, is_static_field
from ...events import Applied
from ...remember import walked
from ...text import text_of
from ...values import Instance, Sequence, Value
from ..aliases import ARRAYS
from ..loops.repetition import loops_around
from ..syntax import body_of, holds, statements_in


def kept_over_turns(applied: Applied, name: str, given: Value) -> Iterator[tuple[str, ast.expr]]:
    """Names under which a loop keeps what a call in it makes, or a part of that, for later.

    `if is_better: best = state.params` keeps it for as long as nothing is better, and
    `seen.append(state.params)` for good. A name that every turn sets holds what the last one made.
    """
    for loop in loops_around(applied.frame, applied.syntax):
        if not isinstance(loop, (ast.For, ast.While)) or _starts_anew(loop, applied.syntax, name):
            continue
        for step in statements_in(loop):
            keeper, kept = _stored(step, step in loop.body)
            if kept is None or not _is_part(kept, name, given) or _is_last(step, loop):
                continue
            if _is_read_after(body_of(applied.frame), loop, keeper):
                yield keeper, kept


def _starts_anew(loop: ast.For | ast.While, call: ast.AST, name: str) -> bool:
    """Whether every turn gives a name another value before the call that is given it."""
    for step in loop.body:
        if any(node is call for node in walked(step)):
            return False
        if isinstance(step, ast.Assign) and any(text_of(it) == name for it in step.targets):
            return True
    return False


def _stored(step: ast.AST, is_in_every_turn: bool) -> tuple[str, ast.expr | None]:
    """The name that keeps something, and what it keeps, as it is written."""
    if isinstance(step, ast.Assign) and not is_in_every_turn:
        target = step.targets[0]
        return (target.id, step.value) if isinstance(target, ast.Name) else ("", None)
    call = step.value if isinstance(step, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        owner = call.func.value
        if call.func.attr == "append" and isinstance(owner, ast.Name):
            return owner.id, call.args[0]
    return "", None


def _is_part(kept: ast.expr, name: str, given: Value) -> bool:
    """Whether something is what has a name, or arrays that it holds."""
    if isinstance(kept, ast.Name):
        return kept.id == name
    if not isinstance(kept, ast.Attribute) or text_of(kept.value) != name:
        return False
    cls = given.cls if isinstance(given, Instance) else None
    if isinstance(given, Sequence):
        cls = given.type
    if cls is None or not fields_are_leaves(cls):
        return kept.attr in ARRAYS
    return kept.attr in cls.fields and not is_static_field(cls, kept.attr)


def _is_last(step: ast.AST, loop: ast.AST) -> bool:
    """Whether the loop is left right after a step, so that there is no next turn."""
    for node in walked(loop):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list) and step in block:
                return any(isinstance(it, (ast.Break, ast.Return, ast.Raise)) for it in block)
    return False


def _is_read_after(function: ast.AST, loop: ast.stmt, name: str) -> bool:
    """Whether a name is read after a loop, before it gets another value."""
    later = [
        node
        for node in walked(function)
        if isinstance(node, ast.Name)
        and node.id == name
        and not holds(loop, node)
        and node.lineno > loop.lineno
    ]
    first = min(later, key=lambda it: (it.lineno, it.col_offset), default=None)
    return first is not None and isinstance(first.ctx, ast.Load)
