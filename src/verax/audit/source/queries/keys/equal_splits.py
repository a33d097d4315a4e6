"""Keys that are split twice alike: the children are the same ones, and each may be used once."""

from __future__ import annotations

import ast

from ...events import KeyUse
from ...frame import Frame
from ...remember import walked
from ..reads import reads_of
from ..syntax import body_of, statement_around, written_number

_SPLIT = "jax.random.split"


def take_other_children(before: KeyUse, use: KeyUse) -> bool:
    """Whether two equal splits of a key are asked for different children of it.

    A child that both take is one key with two uses, which is told of that child.
    """
    if not before.by == use.by == _SPLIT:
        return False
    count = _count(before.syntax)
    if count is None or count != _count(use.syntax):
        return False
    one, other = _taken(before.frame, before.syntax, count), _taken(use.frame, use.syntax, count)
    return one is not None and other is not None and one.isdisjoint(other)


def _count(call: ast.AST) -> int | None:
    """Into how many keys a call splits, if that is written there."""
    if not isinstance(call, ast.Call):
        return None
    named = [it.value for it in call.keywords if it.arg == "num"]
    return written_number(next(iter((*call.args[1:2], *named)), ast.Constant(2)))


def _taken(frame: Frame, call: ast.AST, count: int) -> set[int] | None:
    """The places of the children that the program goes on with, as far as that is certain."""
    statement = statement_around(frame, call)
    for node in walked(statement) if statement is not None else ():
        if isinstance(node, ast.Subscript) and node.value is call:
            index = written_number(node.slice)
            return None if index is None or not -count <= index < count else {index % count}
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, names = statement.targets[0], list[str]()
    if isinstance(target, ast.Tuple) and _is_result(statement.value, call):
        names = [it.id for it in target.elts if isinstance(it, ast.Name)]
    if len(names) != count:
        return None
    reads = reads_of(body_of(frame))
    return {
        place for place, name in enumerate(names) if name.strip("_") or reads.after(statement, name)
    }


def _is_result(value: ast.expr, call: ast.AST) -> bool:
    """Whether an expression has the value of a call, on each way that comes to it."""
    if isinstance(value, ast.IfExp):
        return any(_is_result(it, call) for it in (value.body, value.orelse))
    return value is call
