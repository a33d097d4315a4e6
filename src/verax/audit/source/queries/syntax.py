"""Where a piece of syntax stands in the function around it."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, cast

from ..frame import Frame
from ..remember import each, remembered
from ..text import text_of
from ..values import Data
from .nested import Nested


def body_of(frame: Frame) -> ast.AST:
    """The function that a frame runs, or its module."""
    return frame.function if frame.function is not None else frame.module.syntax


def statement_around(frame: Frame, syntax: ast.AST) -> ast.stmt | None:
    """The innermost statement of a frame's function that holds a piece of syntax."""
    statements, starts = statements_in(body_of(frame)), _starts(body_of(frame))
    position = (getattr(syntax, "lineno", 0), getattr(syntax, "col_offset", 0))
    # Of those that start before it, the last one that ends after it is the innermost one.
    for number in range(bisect_right(starts, position) - 1, -1, -1):
        it = statements[number]
        if position < (it.end_lineno or 0, it.end_col_offset or 0):
            return it
    return None


@remembered
def _starts(owner: ast.AST) -> list[tuple[int, int]]:
    """Where the statements of a function or a module start, with their decorators, in order."""
    firsts = [next(iter(getattr(it, "decorator_list", ())), it) for it in statements_in(owner)]
    return [(it.lineno, it.col_offset) for it in firsts]


@remembered
def statements_in(owner: ast.AST) -> list[ast.stmt]:
    """All statements inside of a function or a module, an outer one before those in it."""
    found: list[ast.stmt] = []
    pending: list[ast.AST] = [owner]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt) and node is not owner:
            found.append(node)
        for block in _BLOCKS:
            inner: Any = getattr(node, block, None)
            if isinstance(inner, list):  # a lambda's body is none
                pending.extend(reversed(cast("list[ast.AST]", inner)))
    return found


@remembered
def stores_in(owner: ast.AST) -> list[ast.Name | ast.Attribute]:
    """The names and fields that get a value inside of a function or a module."""
    return [it for it in each(owner, ast.Name, ast.Attribute) if isinstance(it.ctx, ast.Store)]


# The fields of statements, handlers and cases that hold statements, or what holds them.
_BLOCKS = ("finalbody", "orelse", "handlers", "cases", "body")


@remembered
def call_statements(owner: ast.AST) -> dict[ast.AST, ast.Expr]:
    """The expressions of which a function or a module takes no result, with their statements."""
    return {it.value: it for it in statements_in(owner) if isinstance(it, ast.Expr)}


def holds(outer: ast.stmt | ast.expr, inner: ast.stmt | ast.expr) -> bool:
    """Whether a piece of syntax is inside of another one, by where they are written."""
    start = (outer.lineno, outer.col_offset)
    end = (outer.end_lineno or 0, outer.end_col_offset or 0)
    return start <= (inner.lineno, inner.col_offset) < end


def written_number(syntax: ast.expr) -> int | None:
    """The integer that is written there, if one is."""
    match syntax:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            return None


def handlers_around(frame: Frame, syntax: ast.AST) -> Iterator[ast.ExceptHandler]:
    """The `except` clauses that are ready where a piece of syntax runs."""
    for node in _tries_in(body_of(frame)).around((getattr(syntax, "lineno", 0), 0)):
        yield from node.handlers


@remembered
def _tries_in(owner: ast.AST) -> Nested[ast.Try]:
    """The `try` statements of a function or a module, by the lines that they watch."""
    tries = [it for it in statements_in(owner) if isinstance(it, ast.Try) and it.body]
    return Nested(
        ((it.body[0].lineno, 0), ((it.body[-1].end_lineno or 0) + 1, 0), it) for it in tries
    )


@remembered
def _conditions_in(owner: ast.AST) -> Nested[ast.If]:
    """The `if` statements of a function or a module, by the lines below their first."""
    conditions = [it for it in statements_in(owner) if isinstance(it, ast.If)]
    return Nested(((it.lineno + 1, 0), ((it.end_lineno or 0) + 1, 0), it) for it in conditions)


def is_guarded(frame: Frame, syntax: ast.AST) -> bool:
    """Whether an exception that tracing raises here is expected, here or by a caller."""
    position: ast.AST | None = syntax
    for caller in frame.callers():
        if position is not None:
            for handler in handlers_around(caller, position):
                text = "" if handler.type is None else text_of(handler.type)
                if not text or any(word in text for word in _OF_TRACING):
                    return True
            if _asks_for_tracing(caller, position) or _may_be_given(caller, position):
                return True
        position = caller.called_at
    return False


def _asks_for_tracing(frame: Frame, syntax: ast.AST) -> bool:
    """Whether a condition around a piece of syntax asks if the code is jitted or traced at all."""
    for node in _conditions_in(body_of(frame)).around((getattr(syntax, "lineno", 0), 0)):
        words = (it.attr if isinstance(it, ast.Attribute) else it.id for it in _names(node.test))
        if any(word.rpartition("_")[2] in _SETTINGS for word in words):
            return True
    return False


def _may_be_given(frame: Frame, syntax: ast.AST) -> bool:
    """Whether a piece of syntax runs only where an argument is None, of which nobody knows.

    What is left out outside of a compiled function, to be found there, is often given inside.
    """
    line: int = getattr(syntax, "lineno", 0)
    for node in statements_in(body_of(frame)):
        match node:
            case ast.If(test=ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)])):
                end = node.body[-1].end_lineno or 0
                if node.body[0].lineno <= line <= end and _is_given(frame, name):
                    return True
            case _:
                pass
    return False


def _is_given(frame: Frame, name: str) -> bool:
    """Whether a name stands for an argument of which nothing is known, or another name of it."""
    value = frame.given.get(name, frame.environment.get(name))
    is_own = name in frame.given
    return isinstance(value, Data) and (is_own or value.node.operation in ("parameter", "argument"))


def _names(syntax: ast.AST) -> Iterator[ast.Attribute | ast.Name]:
    for node in ast.walk(syntax):
        if isinstance(node, (ast.Attribute, ast.Name)):
            yield node


_SETTINGS = frozenset(("jit", "jitted", "traced", "tracing", "tracer", "Tracer", "eager"))
_OF_TRACING = ("Exception", "TypeError", "Tracer", "Concretization", "JAXTypeError")
