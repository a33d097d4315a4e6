"""`with contextlib.suppress(Error): …` as what it does: `try: …`, and `except Error: pass`."""

from __future__ import annotations

import ast
from collections.abc import Container

from .text import text_of


class Suppressed(ast.ExceptHandler):
    """An `except` clause that is written as the argument of `contextlib.suppress`."""


# Syntax is dispatched on by the name of its class where Python turns it into text.
Suppressed.__name__ = ast.ExceptHandler.__name__


def names_of_suppress(tree: ast.Module, text: str) -> frozenset[str]:
    """What a module calls `contextlib.suppress`, by what it imports anywhere."""
    found: set[str] = set()
    if "suppress" not in text:
        return frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            own = (it.asname or it.name for it in node.names if it.name == "contextlib")
            found.update(f"{name}.suppress" for name in own)
        elif isinstance(node, ast.ImportFrom) and node.module == "contextlib" and not node.level:
            found.update(it.asname or it.name for it in node.names if it.name == "suppress")
    return frozenset(found)


def caught(block: list[ast.stmt], names: Container[str]) -> None:
    """Write the statements of a block that suppress exceptions as those that catch them."""
    for number, statement in enumerate(block):
        if isinstance(statement, ast.With):
            at = next((at for at, it in enumerate(statement.items) if _errors(it, names)), None)
            if at is not None:
                block[number] = _as_try(statement, at)


def _errors(item: ast.withitem, names: Container[str]) -> list[ast.expr]:
    """The exceptions that a context manager suppresses."""
    call = item.context_expr
    if not isinstance(call, ast.Call) or item.optional_vars is not None:
        return []
    return call.args if text_of(call.func) in names else []


def _as_try(statement: ast.With, at: int) -> ast.stmt:
    """The statement with one of its context managers as a `try`; those after it are inside."""
    outer, manager, inner = statement.items[:at], statement.items[at], statement.items[at + 1 :]
    call = manager.context_expr
    assert isinstance(call, ast.Call)
    errors = call.args
    kind = errors[0] if len(errors) == 1 else ast.copy_location(ast.Tuple(errors, ast.Load()), call)
    handler = Suppressed(kind, None, [ast.copy_location(ast.Pass(), call)])
    ast.copy_location(handler, call)
    body = [ast.copy_location(ast.With(inner, statement.body), statement)]
    caught = ast.Try(list(body) if inner else statement.body, [handler], [], [])
    ast.copy_location(caught, statement)
    if not outer:
        return caught
    return ast.copy_location(ast.With(outer, [caught]), statement)
