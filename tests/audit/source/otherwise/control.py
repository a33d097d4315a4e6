"""The same steps, named on the way or under a decorator."""

from __future__ import annotations

import ast

from .scopes import DELAYED, audited, blocks, first_definition, movable, parsed, place, unused_name


class _Named(ast.NodeTransformer):
    """Names a value where an expression first needs it."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value, self.done = name, value, False

    def visit(self, node: ast.AST) -> ast.AST:
        return node if self.done or isinstance(node, DELAYED) else super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.name:
            return node
        self.done = True
        new = ast.NamedExpr(ast.Name(self.name, ast.Store()), self.value)
        place(new, node)
        return new


def _is_delayed(value: ast.expr) -> bool:
    """Whether an expression need not run as it stands, or names something itself."""
    return isinstance(value, DELAYED) or any(
        isinstance(it, ast.NamedExpr) for it in ast.walk(value)
    )


def named_where_used(tree: ast.Module) -> ast.Module:
    """`g((y := f(x)))` in place of `y = f(x)` and `g(y)` after it."""
    for it in audited(tree):
        for block in blocks(it):
            for number in range(len(block) - 2, -1, -1):
                match block[number : number + 2]:
                    case [
                        ast.Assign([ast.Name(name)], value),
                        ast.Assign() | ast.Return() | ast.Expr() as after,
                    ] if after.value is not None and not _is_delayed(after.value):
                        named = _Named(name, value)
                        after.value = named.visit(after.value)
                        if named.done:
                            del block[number]
                    case _:
                        pass
    return tree


_WRAPPER = """
import functools
def {name}(function):
    @functools.wraps(function)
    def wrapper(*args, **keywords):
        return function(*args, **keywords)
    return wrapper
"""


def wrapped_by_decorators(tree: ast.Module) -> ast.Module:
    """Functions have a decorator of the program's own, which calls them as they are."""
    name = unused_name(tree, "wrapped")
    found = movable(tree)
    for it in found:
        it.decorator_list = [ast.Name(name, ast.Load())]
        place(it.decorator_list[0], it)
    at = first_definition(tree)
    tree.body[at:at] = parsed(_WRAPPER.format(name=name)) if found else []
    return tree
