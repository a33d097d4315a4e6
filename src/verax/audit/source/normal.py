"""One form for what Python lets one write in several.

`name: type = value` does what `name = value` does and says a little more. Whoever asks what gives a
name its value should not have to know that, so it becomes an assignment that has a type, everywhere
but in the body of a class, where it declares a field.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator


class Declaration(ast.Assign):
    """An assignment that says what it assigns: `name: type = value`."""

    annotation: ast.expr


# Syntax is dispatched on by the name of its class where Python turns it into text.
Declaration.__name__ = ast.Assign.__name__

# Statements that hold statements.
_HOLDERS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)


def normalise(tree: ast.Module) -> ast.Module:
    """Rewrite a tree, in place, to the forms that everything else expects."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, in_class = pending.pop()
        for block in _blocks(node):
            for number, statement in enumerate(block):
                if isinstance(statement, ast.AnnAssign):
                    if not in_class and statement.value is not None:
                        block[number] = _declaration(statement, statement.value)
                elif isinstance(statement, _HOLDERS):
                    is_class = isinstance(statement, ast.ClassDef)
                    is_function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
                    pending.append((statement, is_class or (in_class and not is_function)))
    return tree


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.Try | ast.TryStar):
        yield from (handler.body for handler in node.handlers)
    if isinstance(node, ast.Match):
        yield from (case.body for case in node.cases)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block


def _declaration(statement: ast.AnnAssign, value: ast.expr) -> Declaration:
    new = Declaration([statement.target], value)
    new.annotation = statement.annotation
    return ast.copy_location(new, statement)
