"""The same code, in other functions, classes and scopes."""

from __future__ import annotations

import ast

from .scopes import (
    DELAYED,
    audited,
    blocks,
    bound_names,
    functions,
    movable,
    place,
    read_names,
    unused_name,
)

_WORK = (ast.Call, ast.BinOp, ast.Compare)


def in_helpers(tree: ast.Module) -> ast.Module:
    """Each expression that is named or returned is computed by a function of its own."""
    stem = unused_name(tree, "helper") + "_"
    count = 0
    body: list[ast.stmt] = []
    for statement in tree.body:
        helpers: list[ast.stmt] = []
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name != "inputs":
            local = bound_names(statement)
            for block in blocks(statement):
                for inner in block:
                    if not isinstance(inner, ast.Assign | ast.Return):
                        continue
                    if isinstance(inner.value, _WORK) and not _delayed(inner.value):
                        name = f"{stem}{count}"
                        count += 1
                        helpers.append(_outlined(inner, name, local))
        body += [*helpers, statement]
    tree.body = body
    return tree


def _delayed(node: ast.expr) -> bool:
    allowed = (ast.IfExp, ast.BoolOp)
    return any(isinstance(it, DELAYED) and not isinstance(it, allowed) for it in ast.walk(node))


def _outlined(statement: ast.Assign | ast.Return, name: str, local: set[str]) -> ast.FunctionDef:
    value = statement.value
    assert value is not None
    needed = [it for it in read_names(value) if it in local]
    parameters = [ast.arg(it) for it in needed]
    helper = _function(name, statement)
    helper.args.args = parameters
    returned = helper.body[0]
    assert isinstance(returned, ast.Return)
    returned.value = value
    arguments: list[ast.expr] = [ast.Name(it, ast.Load()) for it in needed]
    call = ast.Call(ast.Name(name, ast.Load()), arguments, [])
    place(call, statement)
    statement.value = call
    return helper


def _function(name: str, where: ast.AST) -> ast.FunctionDef:
    """A function that returns nothing yet."""
    made = ast.parse(f"def {name}():\n    return None").body[0]
    assert isinstance(made, ast.FunctionDef)
    for node in ast.walk(made):
        if isinstance(node, ast.expr | ast.stmt):
            ast.copy_location(node, where)
    return made


def as_methods(tree: ast.Module) -> ast.Module:
    """Functions are methods of an object."""
    moved = movable(tree)
    names = {it.name for it in moved}
    if not moved:
        return tree
    class_name, object_name = unused_name(tree, "Work"), unused_name(tree, "work")

    class Refer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in names:
                return node
            owner = ast.copy_location(ast.Name(object_name, ast.Load()), node)
            return ast.copy_location(ast.Attribute(owner, node.id, ast.Load()), node)

    shadowed = {name for it in audited(tree) for name in bound_names(it)}
    if shadowed & names:
        return tree
    at = tree.body.index(moved[0])
    tree = Refer().visit(tree)
    for it in moved:
        tree.body.remove(it)
        it.args.args.insert(0, ast.arg("self"))
    holder = ast.parse(f"class {class_name}:\n    pass\n{object_name} = {class_name}()").body
    assert isinstance(holder[0], ast.ClassDef)
    holder[0].body = [*moved]
    tree.body[at:at] = holder
    return tree


def from_factories(tree: ast.Module) -> ast.Module:
    """Functions are made by functions."""
    for it in movable(tree):
        maker = ast.parse(f"def make_{it.name}():\n    return {it.name}").body[0]
        made = ast.parse(f"{it.name} = make_{it.name}()").body[0]
        assert isinstance(maker, ast.FunctionDef)
        at = tree.body.index(it)
        maker.body.insert(0, it)
        tree.body[at : at + 1] = [maker, made]
    return tree


def decorators_called(tree: ast.Module) -> ast.Module:
    """`f = jax.jit(f)` in place of `@jax.jit`."""
    body: list[ast.stmt] = []
    for it in tree.body:
        body.append(it)
        if isinstance(it, ast.FunctionDef):
            for decorator in reversed(it.decorator_list):
                given: ast.expr = ast.Name(it.name, ast.Load())
                new = ast.Assign([ast.Name(it.name, ast.Store())], ast.Call(decorator, [given], []))
                place(new, decorator)
                body.append(new)
            it.decorator_list = []
    tree.body = body
    return tree


def entry_delegates(tree: ast.Module) -> ast.Module:
    """`entry` hands its arguments to another function."""
    entry = next((it for it in tree.body if getattr(it, "name", "") == "entry"), None)
    if not isinstance(entry, ast.FunctionDef) or entry.args.kwonlyargs or entry.args.vararg:
        return tree
    entry.name = unused_name(tree, "inner")
    names = [it.arg for it in entry.args.args]
    outer = ast.parse(
        f"def entry({', '.join(names)}):\n    return {entry.name}({', '.join(names)})"
    ).body[0]
    tree.body.insert(tree.body.index(entry) + 1, outer)
    return tree


def entry_of_an_object(tree: ast.Module) -> ast.Module:
    """`entry` is the method of an object, which it makes."""
    entry = next((it for it in tree.body if getattr(it, "name", "") == "entry"), None)
    if not isinstance(entry, ast.FunctionDef) or entry.args.kwonlyargs or entry.args.vararg:
        return tree
    if entry.args.defaults or len(entry.decorator_list) > 1:
        return tree
    names = [it.arg for it in entry.args.args]
    class_name = unused_name(tree, "Runner")
    made = ast.parse(
        f"class {class_name}:\n    pass\n"
        f"def entry({', '.join(names)}):\n"
        f"    runner = {class_name}()\n    return runner.run({', '.join(names)})"
    ).body
    assert isinstance(made[0], ast.ClassDef)
    assert isinstance(made[1], ast.FunctionDef)
    made[1].decorator_list, entry.decorator_list = entry.decorator_list, []
    entry.name = "run"
    entry.args.args.insert(0, ast.arg("self"))
    at = tree.body.index(entry)
    made[0].body = [entry]
    tree.body[at : at + 1] = made
    return tree


class _Named(ast.NodeTransformer):
    """Gives each lambda of a statement a name, and keeps the functions that these become."""

    def __init__(self, stem: str) -> None:
        self.stem, self.count = stem, 0
        self.made: list[ast.stmt] = []

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        name = f"{self.stem}{self.count}"
        self.count += 1
        made = _function(name, node)
        made.args = node.args
        returned = made.body[0]
        assert isinstance(returned, ast.Return)
        returned.value = node.body
        self.made.append(made)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return node  # Its lambdas see its own names.

    visit_GeneratorExp = visit_DictComp = visit_SetComp = visit_ListComp


def lambdas_as_functions(tree: ast.Module) -> ast.Module:
    """A function within a function has a name."""
    named = _Named(unused_name(tree, "inner") + "_")
    for it in audited(tree):
        for block in blocks(it):
            for number in range(len(block) - 1, -1, -1):
                if isinstance(block[number], ast.Assign | ast.Return | ast.Expr):
                    named.made = []
                    block[number] = named.visit(block[number])
                    block[number:number] = named.made
    return tree


def _decorated(tree: ast.Module, decorator: str) -> ast.Module:
    for it in movable(tree):
        it.decorator_list = [ast.parse(decorator, mode="eval").body]
        ast.copy_location(it.decorator_list[0], it)
    return tree


def jitted_helpers(tree: ast.Module) -> ast.Module:
    """Functions that `entry` calls are compiled on their own."""
    return _decorated(tree, "jax.jit")


def checkpointed_helpers(tree: ast.Module) -> ast.Module:
    """Functions that `entry` calls are computed again for derivatives."""
    return _decorated(tree, "jax.checkpoint")


def partial_helpers(tree: ast.Module) -> ast.Module:
    """Functions are bound once more before they are called."""
    for it in movable(tree):
        inner = it.name
        it.name = f"{inner}_unbound"
        bound = ast.parse(f"{inner} = functools.partial({it.name})").body[0]
        tree.body.insert(tree.body.index(it) + 1, bound)
    tree.body.insert(_after_docs(tree), ast.parse("import functools").body[0])
    return tree


def _after_docs(tree: ast.Module) -> int:
    at = 1 if ast.get_docstring(tree) is not None else 0
    future = [n for n, it in enumerate(tree.body) if getattr(it, "module", "") == "__future__"]
    return max([at, *(n + 1 for n in future)])


def nested_in_entry(tree: ast.Module) -> ast.Module:
    """Functions are defined within the one that calls them."""
    entry = next((it for it in tree.body if getattr(it, "name", "") == "entry"), None)
    if not isinstance(entry, ast.FunctionDef):
        return tree
    outside: set[str] = set()
    for it in tree.body:
        if not isinstance(it, ast.FunctionDef) or it.name == "inputs":
            outside |= set(read_names(it))
    moved = [it for it in movable(tree) if it.name not in outside]
    kept = [it for it in functions(tree) if it not in moved]
    used_by_kept = {name for it in kept for name in read_names(it)}
    moved = [it for it in moved if it.name not in used_by_kept]
    if bound_names(entry) & {it.name for it in moved}:
        return tree
    for it in moved:
        tree.body.remove(it)
    at = 1 if ast.get_docstring(entry) is not None else 0
    entry.body[at:at] = moved
    return tree
