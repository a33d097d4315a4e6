"""The same operations, by other names."""

from __future__ import annotations

import ast

from .scopes import InFunctions, functions, numpy_call, plain_parameters, unused_name

_MODULES = {"jnp": "jax.numpy", "lax": "jax.lax", "random": "jax.random", "jr": "jax.random"}
_METHODS = frozenset(
    "sum mean max min prod std var all any argmax argmin cumsum reshape transpose squeeze swapaxes "
    "ravel astype round clip".split()
)
_BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.MatMult: "matmul",
}
_COMPARED = {ast.Lt: "less", ast.Gt: "greater", ast.LtE: "less_equal", ast.GtE: "greater_equal"}
# Whatever is made of these is a number of Python's as often as not.
_STATIC = frozenset({"shape", "ndim", "size", "len", "range", "int", "float"})


def by_full_names(tree: ast.Module) -> ast.Module:
    """`jax.numpy.sum` in place of `jnp.sum`."""
    aliases = {
        alias.asname or alias.name: f"{it.module}.{alias.name}"
        for it in tree.body
        if isinstance(it, ast.ImportFrom) and it.module == "jax"
        for alias in it.names
        if alias.name in ("lax", "random", "numpy", "nn", "tree")
    } | {
        alias.asname: alias.name
        for it in tree.body
        if isinstance(it, ast.Import)
        for alias in it.names
        if alias.asname and alias.name.startswith("jax.")
    }

    class Full(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            full = aliases.get(node.id)
            if full is None:
                return node
            return ast.copy_location(ast.parse(full, mode="eval").body, node)

    return Full().visit(tree)


def by_imported_names(tree: ast.Module) -> ast.Module:
    """`from jax.numpy import sum as jax_sum` in place of `jnp.sum`."""
    wanted: dict[tuple[str, str], str] = {}

    class Short(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            if isinstance(node.value, ast.Name) and node.value.id in ("jnp", "lax"):
                name = f"jax_{node.attr}"
                wanted[_MODULES[node.value.id], node.attr] = name
                return ast.copy_location(ast.Name(name, ast.Load()), node)
            self.generic_visit(node)
            return node

    tree = Short().visit(tree)
    imports: list[ast.stmt] = [
        ast.ImportFrom(module, [ast.alias(name, new)], 0) for (module, name), new in wanted.items()
    ]
    last = max(n for n, it in enumerate(tree.body) if isinstance(it, ast.Import | ast.ImportFrom))
    tree.body[last + 1 : last + 1] = imports
    return tree


def _is_static(node: ast.expr) -> bool:
    named = {it.id for it in ast.walk(node) if isinstance(it, ast.Name)}
    named |= {it.attr for it in ast.walk(node) if isinstance(it, ast.Attribute)}
    return bool(named & _STATIC) or not any(isinstance(it, ast.Name) for it in ast.walk(node))


class _Operators(InFunctions):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = _BINARY.get(type(node.op))
        if name is None or _is_static(node.left) or _is_static(node.right):
            return node
        return numpy_call(name, [node.left, node.right], node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        name = _COMPARED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if name is None or _is_static(node.left):
            return node
        return numpy_call(name, [node.left, node.comparators[0]], node)


def operators_as_functions(tree: ast.Module) -> ast.Module:
    """`jnp.add(a, b)` in place of `a + b`."""
    return _Operators().visit(tree)


class _Methods(InFunctions):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = node.func
        is_numpy = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
        if is_numpy and called.value.id == "jnp" and called.attr in _METHODS and node.args:
            first, *others = node.args
            if isinstance(first, ast.Name | ast.Call | ast.BinOp | ast.Subscript):
                method = ast.Attribute(first, called.attr, ast.Load())
                return ast.copy_location(ast.Call(method, others, node.keywords), node)
        return node


def functions_as_methods(tree: ast.Module) -> ast.Module:
    """`x.sum()` in place of `jnp.sum(x)`."""
    return _Methods().visit(tree)


class _Functions(InFunctions):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in _METHODS:
            module = isinstance(called.value, ast.Name) and called.value.id in ("jnp", "np", "lax")
            if not module and not isinstance(called.value, ast.Attribute):
                given = node.args
                if called.attr in ("reshape", "transpose") and len(given) > 1:
                    given = [ast.copy_location(ast.Tuple(given, ast.Load()), node)]
                call = numpy_call(called.attr, [called.value, *given], node)
                assert isinstance(call, ast.Call)
                call.keywords = node.keywords
                return call
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return numpy_call("transpose", [node.value], node) if node.attr == "T" else node


def methods_as_functions(tree: ast.Module) -> ast.Module:
    """`jnp.sum(x)` in place of `x.sum()`."""
    return _Functions().visit(tree)


class _Swapped(InFunctions):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        sequences = (ast.Tuple, ast.List, ast.Constant, ast.JoinedStr)
        if isinstance(node.op, ast.Add | ast.Mult) and not isinstance(node.left, sequences):
            node.left, node.right = node.right, node.left
        return node


def operands_swapped(tree: ast.Module) -> ast.Module:
    """`b + a` in place of `a + b`."""
    return _Swapped().visit(tree)


class _Flipped(InFunctions):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.func) == "jnp.where" and len(node.args) == 3 and not node.keywords:
            condition, yes, no = node.args
            node.args = [numpy_call("logical_not", [condition], condition), no, yes]
        return node


def choices_flipped(tree: ast.Module) -> ast.Module:
    """`jnp.where(jnp.logical_not(c), b, a)` in place of `jnp.where(c, a, b)`."""
    return _Flipped().visit(tree)


def by_keywords(tree: ast.Module) -> ast.Module:
    """Functions of the module are called with the names of their parameters."""
    known = {it.name: names for it in functions(tree) if (names := plain_parameters(it))}

    class Named(InFunctions):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            names = known.get(node.func.id) if isinstance(node.func, ast.Name) else None
            starred = any(isinstance(it, ast.Starred) for it in node.args)
            if names and not starred and not node.keywords and len(node.args) == len(names):
                pairs = zip(names, node.args, strict=True)
                node.keywords = [ast.keyword(name, value) for name, value in pairs]
                node.args = []
            return node

    return Named().visit(tree)


def sums_in_place(tree: ast.Module) -> ast.Module:
    """`x += y` in place of `x = x + y`."""

    class InPlace(InFunctions):
        def visit_Assign(self, node: ast.Assign) -> ast.stmt:
            value, target = node.value, node.targets[0]
            if isinstance(value, ast.BinOp) and isinstance(target, ast.Name):
                left = value.left
                if isinstance(left, ast.Name) and left.id == target.id and len(node.targets) == 1:
                    new = ast.AugAssign(target, value.op, value.right)
                    return ast.copy_location(new, node)
            return node

    return InPlace().visit(tree)


def annotated(tree: ast.Module) -> ast.Module:
    """Variables are declared as arrays."""
    name = unused_name(tree, "Value")

    class Declared(InFunctions):
        def visit_Assign(self, node: ast.Assign) -> ast.stmt:
            target = node.targets[0]
            if isinstance(target, ast.Name) and len(node.targets) == 1:
                kind = ast.copy_location(ast.Name(name, ast.Load()), target)
                return ast.copy_location(ast.AnnAssign(target, kind, node.value, 1), node)
            return node

    tree = Declared().visit(tree)
    at = next(n for n, it in enumerate(tree.body) if isinstance(it, ast.FunctionDef | ast.ClassDef))
    tree.body[at:at] = ast.parse(f"from typing import Any as {name}").body
    return tree
