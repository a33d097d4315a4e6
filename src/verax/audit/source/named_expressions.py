"""`g((y := f(x)))` as what it does: `y = f(x)`, and then `g(y)`."""

from __future__ import annotations

import ast
from typing import Any

# What is in them need not run, or not once, or in a scope of its own.
_DELAYED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await)


def named_apart(block: list[ast.stmt]) -> None:
    """Give what a statement names on the way a statement of its own, before it."""
    for number in range(len(block) - 1, -1, -1):
        statement = block[number]
        field = "test" if isinstance(statement, ast.If) else "value"
        value = getattr(statement, field, None) if isinstance(statement, _SIMPLE) else None
        if isinstance(value, ast.expr):
            apart = _Apart(value)
            setattr(statement, field, apart.visit(value))
            block[number:number] = apart.named


_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.If)


class _Apart(ast.NodeTransformer):
    """Takes the names that an expression gives out of it, in the order in which it does so."""

    def __init__(self, whole: ast.expr):
        self.named: list[ast.stmt] = []
        # Where each name is first read.
        self._reads: dict[str, tuple[int, int]] = {}
        for it in ast.walk(whole):
            if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Load):
                at = (it.lineno, it.col_offset)
                self._reads[it.id] = min(at, self._reads.get(it.id, at))

    def visit(self, node: ast.AST) -> Any:
        """Go into what certainly runs."""
        return node if isinstance(node, _DELAYED) else super().visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Only the first of several conditions is certainly asked."""
        node.values[0] = self.visit(node.values[0])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Only the condition is certainly asked."""
        node.test = self.visit(node.test)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        """Name the value before, and read the name here."""
        self.generic_visit(node)
        at = (node.lineno, node.col_offset)
        if self._reads.get(node.target.id, at) < at:
            return node  # What it was before is needed as well.
        self.named.append(ast.copy_location(ast.Assign([node.target], node.value), node))
        return _read_after(node)


def _read_after(named: ast.NamedExpr) -> ast.Name:
    """A read of the name, right after where it is given: what comes first is told by places."""
    line, column = named.end_lineno or named.lineno, named.end_col_offset or named.col_offset
    place = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}
    return ast.Name(named.target.id, ast.Load(), **place)
