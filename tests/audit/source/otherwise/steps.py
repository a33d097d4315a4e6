"""The same expressions, in more or in fewer statements, or by way of a container."""

from __future__ import annotations

import ast
from collections import Counter

from .scopes import DELAYED, audited, blocks, place, unused_name

_WORK = (ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp)


class _Hoisted(ast.NodeTransformer):
    """Takes the calls within an expression out of it, in the order in which they happen."""

    def __init__(self, stem: str) -> None:
        self.stem, self.count = stem, 0
        self.before: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> ast.AST:
        return node if isinstance(node, DELAYED) else super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = f"{self.stem}{self.count}"
        self.count += 1
        new = ast.Assign([ast.Name(name, ast.Store())], node)
        place(new, node)
        self.before.append(new)
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def one_call_a_line(tree: ast.Module) -> ast.Module:
    """What a call gives has a name before it is used."""
    hoisted = _Hoisted(unused_name(tree, "part") + "_")
    for it in audited(tree):
        for block in blocks(it):
            for number in range(len(block) - 1, -1, -1):
                statement = block[number]
                if isinstance(statement, ast.Assign | ast.Return | ast.Expr) and statement.value:
                    value, hoisted.before = statement.value, []
                    if isinstance(value, DELAYED):
                        continue
                    hoisted.generic_visit(value)
                    block[number:number] = hoisted.before
    return tree


def results_named(tree: ast.Module) -> ast.Module:
    """What is returned has a name first."""
    name = unused_name(tree, "result")
    for it in audited(tree):
        for block in blocks(it):
            last = block[-1] if block else None
            if isinstance(last, ast.Return) and isinstance(last.value, (*_WORK, ast.Tuple)):
                new = ast.Assign([ast.Name(name, ast.Store())], last.value)
                place(new, last)
                last.value = ast.copy_location(ast.Name(name, ast.Load()), last)
                block.insert(-1, new)
    return tree


def inlined(tree: ast.Module) -> ast.Module:
    """What is used once, by the next statement, has no name."""
    for it in audited(tree):
        uses = Counter(node.id for node in ast.walk(it) if isinstance(node, ast.Name))
        for block in blocks(it):
            for number in range(len(block) - 2, -1, -1):
                _inline(block, number, uses)
    return tree


def _inline(block: list[ast.stmt], number: int, uses: Counter[str]) -> None:
    first, second = block[number : number + 2]
    simple = isinstance(first, ast.Assign) and isinstance(first.targets[0], ast.Name)
    if not simple or not isinstance(second, ast.Assign | ast.Return) or second.value is None:
        return
    name = first.targets[0].id
    if uses[name] != 2 or isinstance(second.value, DELAYED):
        return

    class Put(ast.NodeTransformer):
        done = False

        def visit(self, node: ast.AST) -> ast.AST:
            return node if isinstance(node, DELAYED) else super().visit(node)

        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id != name:
                return node
            self.done = True
            return first.value

    put = Put()
    second.value = put.visit(second.value)
    if put.done:
        del block[number]


def _through(tree: ast.Module, into: str, out: str, before: str = "") -> ast.Module:
    """Each value that is named goes through a container."""
    box = unused_name(tree, "box")
    for it in audited(tree):
        for block in blocks(it):
            for number in range(len(block) - 1, -1, -1):
                statement = block[number]
                if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                    continue
                target = statement.targets[0]
                if isinstance(target, ast.Name) and isinstance(statement.value, _WORK):
                    put = ast.parse(f"{box} = {into.format('VALUE')}").body[0]
                    take = ast.parse(f"{target.id} = {out.format(box)}").body[0]
                    for new in (put, take):
                        for node in ast.walk(new):
                            if isinstance(node, ast.expr | ast.stmt):
                                ast.copy_location(node, statement)
                    value = statement.value
                    block[number : number + 1] = [_filled(put, value), take]
    at = next(n for n, it in enumerate(tree.body) if isinstance(it, ast.FunctionDef | ast.ClassDef))
    tree.body[at:at] = ast.parse(before).body
    return tree


def _filled(statement: ast.stmt, value: ast.expr) -> ast.stmt:
    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return value if node.id == "VALUE" else node

    return Fill().visit(statement)


def through_tuples(tree: ast.Module) -> ast.Module:
    """A value is put into a tuple and taken out again."""
    return _through(tree, "({},)", "{}[0]")


def through_records(tree: ast.Module) -> ast.Module:
    """A value is put into a named tuple and taken out again."""
    name = unused_name(tree, "Held")
    before = f"from typing import NamedTuple\nclass {name}(NamedTuple):\n    held: jax.Array"
    return _through(tree, name + "(held={})", "{}.held", before)


def through_identity(tree: ast.Module) -> ast.Module:
    """A value goes through a function that gives it back."""
    name = unused_name(tree, "kept")
    before = f"def {name}(held):\n    return held"
    return _through(tree, name + "({})", "{}", before)


def unpacked_by_index(tree: ast.Module) -> ast.Module:
    """`a = pair[0]; b = pair[1]` in place of `a, b = pair`."""
    name = unused_name(tree, "pair")
    for it in audited(tree):
        for block in blocks(it):
            for number in range(len(block) - 1, -1, -1):
                statement = block[number]
                if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                    continue
                target = statement.targets[0]
                if isinstance(target, ast.Tuple) and isinstance(
                    statement.value, ast.Call | ast.Name
                ):
                    if not all(isinstance(each, ast.Name) for each in target.elts):
                        continue
                    new: list[ast.stmt] = [
                        ast.Assign([ast.Name(name, ast.Store())], statement.value)
                    ]
                    for index, each in enumerate(target.elts):
                        part = ast.Subscript(
                            ast.Name(name, ast.Load()), ast.Constant(index), ast.Load()
                        )
                        new.append(ast.Assign([each], part))
                    for each in new:
                        place(each, statement)
                    block[number : number + 1] = new
    return tree


def _indexed(statement: ast.Assign, targets: list[ast.expr], name: str) -> list[ast.stmt]:
    new: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], statement.value)]
    for index, target in enumerate(targets):
        part = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(index), ast.Load())
        new.append(ast.Assign([target], part))
    for it in new:
        place(it, statement)
    return new


def in_named_scopes(tree: ast.Module) -> ast.Module:
    """The statements of functions stand in a `with` block."""
    for it in audited(tree):
        for function in ast.walk(it):
            if isinstance(function, ast.FunctionDef):
                with_ = ast.parse("with jax.named_scope('work'):\n    pass").body[0]
                assert isinstance(with_, ast.With)
                has_doc = ast.get_docstring(function) is not None
                head = function.body[: 1 if has_doc else 0]
                for node in ast.walk(with_):
                    if isinstance(node, ast.expr | ast.stmt):
                        ast.copy_location(node, function)
                with_.body = function.body[len(head) :]
                if with_.body and not any(
                    isinstance(s, ast.Nonlocal | ast.Global) for s in with_.body
                ):
                    function.body = [*head, with_]
    return tree
