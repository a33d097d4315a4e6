"""The same values, kept in records, dicts and objects on their way."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .scopes import (
    audited,
    bound_names,
    first_definition,
    functions,
    parsed,
    place,
    plain_parameters,
    read_names,
    unused_name,
    with_import,
)


def parameters_in_dicts(tree: ast.Module) -> ast.Module:
    """Functions take one dict, and take it apart."""
    return _packed(tree, lambda _, name: f"given[{name!r}]", _dict_of, lambda _: "")


def parameters_in_records(tree: ast.Module) -> ast.Module:
    """Functions take one named tuple, and take it apart."""

    def declared(it: ast.FunctionDef) -> str:
        fields = "".join(f"\n    {name}: Any" for name in plain_parameters(it) or ())
        return f"class Given_{it.name}(NamedTuple):{fields}"

    tree = _packed(tree, lambda _, name: f"given.{name}", _record_of, declared)
    return with_import(tree, "from typing import Any, NamedTuple", "Given_")


def _dict_of(_: str, names: list[str], values: list[ast.expr]) -> ast.expr:
    return ast.Dict([ast.Constant(it) for it in names], values)


def _record_of(function: str, names: list[str], values: list[ast.expr]) -> ast.expr:
    fields = [ast.keyword(*it) for it in zip(names, values, strict=True)]
    return ast.Call(ast.Name(f"Given_{function}", ast.Load()), [], fields)


def _packed(
    tree: ast.Module,
    take: Callable[[str, str], str],
    pack: Callable[[str, list[str], list[ast.expr]], ast.expr],
    declare: Callable[[ast.FunctionDef], str],
) -> ast.Module:
    known = {
        it.name: names
        for it in functions(tree)
        if (names := plain_parameters(it)) and not it.decorator_list and _is_only_called(tree, it)
        if not any(one.annotation for one in it.args.args)
    }

    class Packed(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            names = known.get(node.func.id) if isinstance(node.func, ast.Name) else None
            if names is not None and isinstance(node.func, ast.Name):
                packed = pack(node.func.id, names, node.args)
                place(packed, node)
                node.args = [packed]
            return node

    tree = Packed().visit(tree)
    for it in [it for it in functions(tree) if it.name in known]:
        declared = parsed(declare(it))
        names, it.args.args = it.args.args, [ast.arg("given")]
        taken = [parsed(f"{n.arg} = {take(it.name, n.arg)}", it)[0] for n in names]
        at = 1 if ast.get_docstring(it) is not None else 0
        it.body[at:at] = taken
        where = tree.body.index(it)
        tree.body[where:where] = declared
    return tree


def _is_only_called(tree: ast.Module, function: ast.FunctionDef) -> bool:
    """Whether a function is nowhere handed on, and always given all that it takes, in order."""
    count = len(function.args.args)
    calls = [
        it
        for it in ast.walk(tree)
        if isinstance(it, ast.Call)
        and isinstance(it.func, ast.Name)
        and it.func.id == function.name
        and len(it.args) == count
        and not it.keywords
        and not any(isinstance(one, ast.Starred) for one in it.args)
    ]
    named = [it for it in ast.walk(tree) if isinstance(it, ast.Name) and it.id == function.name]
    return bool(calls) and len(calls) == len(named)


def in_two_halves(tree: ast.Module) -> ast.Module:
    """The second half of a function is another function."""
    for it in [it for it in audited(tree) if isinstance(it, ast.FunctionDef)]:
        if (cut := _middle(it)) is None:
            continue
        call = f"rest_of_{it.name}({', '.join(_live(it, cut))})"
        second = parsed(f"def {call}:\n    pass", it)[0]
        assert isinstance(second, ast.FunctionDef)
        second.body = it.body[cut:]
        it.body[cut:] = parsed(f"return {call}", it)
        tree.body.insert(tree.body.index(it), second)
    return tree


def _middle(function: ast.FunctionDef) -> int | None:
    """Where a function can be cut in two: all of it ends with its last statement."""
    cut = (len(function.body) + 1) // 2
    first = [it for statement in function.body[:cut] for it in ast.walk(statement)]
    ends = isinstance(function.body[-1], ast.Return)
    if len(function.body) < 3 or not ends or any(isinstance(it, ast.Return) for it in first):
        return None
    if any(isinstance(it, ast.Nonlocal | ast.Global | ast.Yield) for it in ast.walk(function)):
        return None
    if function.args.vararg or function.args.kwarg or function.args.kwonlyargs:
        return None
    return cut


def _live(function: ast.FunctionDef, cut: int) -> list[str]:
    """The names that the first part of a function has given values, and that the rest reads."""
    before = {it.arg for it in function.args.args}
    for it in function.body[:cut]:
        own = it.name if isinstance(it, ast.FunctionDef | ast.ClassDef) else None
        before |= {own} if own else bound_names(it)
    return [it for it in read_names(ast.Module(function.body[cut:], [])) if it in before]


def literals_in_a_class(tree: ast.Module) -> ast.Module:
    """Numbers have names, in a class of settings."""
    values: dict[str, str] = {}
    name = unused_name(tree, "Settings")

    class Named(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            if type(node.value) not in (int, float):
                return node
            short = values.setdefault(repr(node.value), f"VALUE_{len(values)}")
            owner = ast.Name(name, ast.Load())
            new = ast.Attribute(owner, short, ast.Load())
            place(new, node)
            return new

        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
            return node

    for it in audited(tree):
        it.body = [Named().visit(one) for one in it.body]
    if values:
        lines = "".join(f"\n    {short} = {value}" for value, short in values.items())
        tree.body.insert(first_definition(tree), parsed(f"class {name}:{lines}")[0])
    return tree
