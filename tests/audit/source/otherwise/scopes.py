"""What a rewriting has to know of names: who binds them, and where they are free."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.Lambda
# What has names of its own, or may not be evaluated where it stands.
DELAYED = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.IfExp,
    ast.BoolOp,
    ast.NamedExpr,
    ast.Await,
    ast.Yield,
    ast.YieldFrom,
)
# What `entry` is called with, and what says so, is not the program under audit.
FRAME = frozenset({"inputs", "AXES", "entry"})


def bound_names(node: ast.AST) -> set[str]:
    """All names that are bound somewhere below a node, also in functions within."""
    names: set[str] = set()
    for it in ast.walk(node):
        if isinstance(it, ast.Name) and not isinstance(it.ctx, ast.Load):
            names.add(it.id)
        elif isinstance(it, ast.arg):
            names.add(it.arg)
        elif isinstance(it, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler) and it is not node:
            names |= {it.name} if it.name else set()
    return names


def read_names(node: ast.AST) -> list[str]:
    """The names that are read below a node, each once, in order."""
    names = (it.id for it in ast.walk(node) if isinstance(it, ast.Name))
    return list(dict.fromkeys(names))


def unused_name(tree: ast.Module, stem: str) -> str:
    """A name that the program does not have yet."""
    taken = bound_names(tree) | set(read_names(tree))
    taken |= {it.name for it in tree.body if isinstance(it, ast.FunctionDef | ast.ClassDef)}
    number = 1
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of a module, without those that only say how it is called."""
    return [it for it in tree.body if isinstance(it, ast.FunctionDef) and it.name not in FRAME]


def audited(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a module, `entry` among them, that the audit is about."""
    for it in tree.body:
        if isinstance(it, ast.FunctionDef | ast.ClassDef) and it.name != "inputs":
            yield it


def blocks(node: ast.AST, *, in_function: bool = False) -> Iterator[list[ast.stmt]]:
    """The lists of statements in functions at or below a node, each once."""
    in_function = in_function or isinstance(node, ast.FunctionDef)
    if in_function and not isinstance(node, ast.ClassDef):
        for name in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, name, None), list):
                yield block
    inside = in_function and not isinstance(node, ast.ClassDef)
    for child in list(ast.iter_child_nodes(node)):
        yield from blocks(child, in_function=inside)


def plain_parameters(function: ast.FunctionDef) -> list[str] | None:
    """The names of parameters without defaults, stars or slashes; otherwise nothing."""
    given = function.args
    odd = given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults
    return None if odd else [it.arg for it in given.args]


def place(new: ast.AST, old: ast.AST) -> None:
    """Say of all nodes that know no line that they came from where another one was."""
    for it in ast.walk(new):
        if isinstance(it, ast.expr | ast.stmt | ast.arg) and not hasattr(it, "lineno"):
            ast.copy_location(it, old)


def parsed(text: str, where: ast.AST | None = None) -> list[ast.stmt]:
    """New statements, which come from where another node was, or from nowhere."""
    made = ast.parse(text).body
    for statement in made:
        for it in ast.walk(statement):
            if isinstance(it, ast.expr | ast.stmt | ast.arg):
                it.lineno = getattr(where, "lineno", 0)
    return made


def first_definition(tree: ast.Module) -> int:
    """Where the first function or class of a module stands."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next(n for n, it in enumerate(tree.body) if isinstance(it, kinds))


def with_import(tree: ast.Module, text: str, needed_by: str) -> ast.Module:
    """A program with an import, if it has come to need it."""
    if needed_by in ast.unparse(tree):
        tree.body.insert(first_definition(tree), parsed(text)[0])
    return tree


def movable(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that may be defined elsewhere: nothing of the module needs them while it is run."""
    needed: set[str] = set()
    for it in tree.body:
        if isinstance(it, ast.FunctionDef):
            for part in (*it.decorator_list, *it.args.defaults, *it.args.kw_defaults):
                needed |= set(read_names(part)) if part else set()
        elif isinstance(it, ast.ClassDef):
            needed |= set(read_names(it))
        else:
            needed |= set(read_names(it))
    return [
        it for it in functions(tree)
        if not it.decorator_list and it.name not in needed and not it.args.defaults
        and not it.args.kw_defaults
    ]  # fmt: skip


def numpy_call(name: str, arguments: list[ast.expr], node: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name("jnp", ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, arguments, []), node)


class InFunctions(ast.NodeTransformer):
    """Changes expressions in the functions that are audited, and nowhere else."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for it in audited(node):
            self.generic_visit(it)
        return node
