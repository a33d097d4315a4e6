"""Where a piece of syntax stands in the function around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..frame import Frame
from ..remember import children, remembered, walked


def body_of(frame: Frame) -> ast.AST:
    """The function that a frame runs, or its module."""
    return frame.function if frame.function is not None else frame.module.syntax


def statement_around(frame: Frame, syntax: ast.AST) -> ast.stmt | None:
    """The innermost statement of a frame's function that holds a piece of syntax."""
    return _statements(body_of(frame)).get(syntax)


@remembered
def _statements(owner: ast.AST) -> dict[ast.AST, ast.stmt]:
    found: dict[ast.AST, ast.stmt] = {}
    pending: list[tuple[ast.AST, ast.stmt | None]] = [(owner, None)]
    while pending:
        node, statement = pending.pop()
        inner = node if isinstance(node, ast.stmt) and node is not owner else statement
        if inner is not None:
            found[node] = inner
        pending.extend((child, inner) for child in children(node))
    return found


def handlers_around(frame: Frame, syntax: ast.AST) -> Iterator[ast.ExceptHandler]:
    """The `except` clauses that are ready where a piece of syntax runs."""
    line: int = getattr(syntax, "lineno", 0)
    for node in walked(body_of(frame)):
        if not isinstance(node, ast.Try) or not node.body:
            continue
        if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0):
            yield from node.handlers


def is_guarded(frame: Frame, syntax: ast.AST) -> bool:
    """Whether an exception that tracing raises here is expected, here or by a caller."""
    position: ast.AST | None = syntax
    for caller in frame.callers():
        if position is not None:
            for handler in handlers_around(caller, position):
                text = "" if handler.type is None else ast.unparse(handler.type)
                if not text or any(word in text for word in _OF_TRACING):
                    return True
        position = caller.called_at
    return False


_OF_TRACING = ("Exception", "TypeError", "Tracer", "Concretization", "JAXTypeError")
