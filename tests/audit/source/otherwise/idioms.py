"""The same numbers, by other functions of the library."""

from __future__ import annotations

import ast

from .scopes import InFunctions, numpy_call, place


class _Squares(InFunctions):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(base, ast.Pow(), ast.Constant(2)):
                return numpy_call("square", [base], node)
            case _:
                return node


def squares_as_functions(tree: ast.Module) -> ast.Module:
    """`jnp.square(x)` in place of `x ** 2`."""
    return _Squares().visit(tree)


class _Differences(InFunctions):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Sub) and not isinstance(node.right, ast.Constant):
            node.op, node.right = ast.Add(), ast.UnaryOp(ast.USub(), node.right)
            place(node.right, node)
        return node


def differences_as_sums(tree: ast.Module) -> ast.Module:
    """`a + -b` in place of `a - b`."""
    return _Differences().visit(tree)


class _Selected(InFunctions):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name("jnp"), "where"), [condition, yes, no], []):
                lists: list[ast.expr] = [ast.List([it], ast.Load()) for it in (condition, yes)]
                new = numpy_call("select", [*lists, no], node)
                place(new, node)
                return new
            case _:
                return node


def choices_selected(tree: ast.Module) -> ast.Module:
    """`jnp.select([c], [a], b)` in place of `jnp.where(c, a, b)`."""
    return _Selected().visit(tree)
