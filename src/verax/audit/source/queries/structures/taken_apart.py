"""What a function does with its variables: it takes them apart, or hands them on as a whole."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...frame import Frame
from ...remember import each, remembered, walked
from ..syntax import body_of

# Up how many callers what is returned is followed.
_CALLERS = 3


def is_handed_on_whole(frame: Frame, names: list[str]) -> bool:
    """Whether some variables are given to functions, here or where they are returned to.

    Nobody takes one of them apart by itself.
    """
    scope: Frame | None = frame
    for _ in range(_CALLERS):
        if scope is None or not taken_apart(body_of(scope)).isdisjoint(names):
            return False
        if not given_to_calls(body_of(scope)).isdisjoint(names):
            return True
        if not _is_returned(body_of(scope), names):
            return False
        call, scope = scope.called_at, scope.caller
        names = _unpacked_from(body_of(scope), call) if scope is not None else []
        if not names:
            return False
    return False


@remembered
def taken_apart(body: ast.AST) -> frozenset[str]:
    """The names of what a piece of syntax takes items of, unpacks or goes through."""
    return _names(whole for node in walked(body) for whole in _wholes(node))


@remembered
def given_to_calls(body: ast.AST) -> frozenset[str]:
    """The names of what a piece of syntax gives to functions as it is."""
    calls = each(body, ast.Call)
    return _names(it for call in calls for it in (*call.args, *(k.value for k in call.keywords)))


def _names(expressions: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(it.id for it in expressions if isinstance(it, ast.Name))


def _wholes(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return [node.value]
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
        return list(node.value.elts) if isinstance(node.value, ast.Tuple) else [node.value]
    return []


def _is_returned(body: ast.AST, names: list[str]) -> bool:
    """Whether a function returns the tuple of some variables."""
    tuples = [it.value for it in each(body, ast.Return)]
    return any(
        isinstance(it, ast.Tuple) and [getattr(part, "id", "") for part in it.elts] == names
        for it in tuples
    )


def _unpacked_from(body: ast.AST, call: ast.AST | None) -> list[str]:
    """The names that what a call returns is unpacked to."""
    for node in walked(body):
        if isinstance(node, ast.Assign) and node.value is call:
            target = node.targets[0]
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            return [it.id for it in parts if isinstance(it, ast.Name)]
    return []
