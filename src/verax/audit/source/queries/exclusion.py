"""Whether two places of a function exclude each other by the conditions around them."""

from __future__ import annotations

import ast
from typing import cast

from ..frame import Frame
from ..remember import remembered, walked
from .syntax import holds, statements_in


def exclude_each_other(frame: Frame, one: ast.AST, other: ast.AST) -> bool:
    """Whether conditions with opposite tests stand around two places.

    `if train: … draw …` and, later, `if not train: … draw …` never run both, and neither do
    `draw(key) if train else None` and `None if train else draw(key)`, nor does what comes after
    `if train: return …` run together with what is in there.
    """
    function = frame.function or frame.module.syntax
    if any(_chooses(sides, one, other) for sides in _selections(function)):
        return True
    first, second = _conditions(function, one), _conditions(function, other)
    return any(_contradict(a, b) for a in first for b in second)


def comes_with(frame: Frame, one: ast.AST, other: ast.AST) -> bool:
    """Whether a place is reached whenever another one is, as far as conditions decide on it."""
    function = frame.function or frame.module.syntax
    known = {(ast.dump(test), truth) for test, truth in _conditions(function, other)}
    return all((ast.dump(test), truth) in known for test, truth in _conditions(function, one))


_CHOICES = ("where", "select", "cond")


@remembered
def _selections(function: ast.AST) -> list[tuple[set[int], set[int]]]:
    """The syntax of the two sides of calls that take one of them: `where(flag, f(key), g(key))`."""
    calls = [it for it in walked(function) if isinstance(it, ast.Call) and len(it.args) == 3]
    taking = [it for it in calls if _name_of(it) in _CHOICES]
    values = _read_once(function) if taking else {}
    return [(_side(it.args[1], values), _side(it.args[2], values)) for it in taking]


def _name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _side(argument: ast.expr, values: dict[str, ast.expr]) -> set[int]:
    """The syntax of an argument, and of what a name stands for that nothing else reads."""
    value = values.get(argument.id) if isinstance(argument, ast.Name) else None
    return {id(it) for part in (argument, value) if part is not None for it in walked(part)}


def _read_once(function: ast.AST) -> dict[str, ast.expr]:
    """The values of names that are set once and read once, so that the read is all they are for."""
    reads: dict[str, int] = {}
    stores: dict[str, int] = {}
    values: dict[str, ast.expr] = {}
    for node in walked(function):
        if isinstance(node, ast.Name):
            count = reads if isinstance(node.ctx, ast.Load) else stores
            count[node.id] = count.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
    return {
        name: value for name, value in values.items() if stores[name] == 1 and reads.get(name) == 1
    }


def _chooses(sides: tuple[set[int], set[int]], one: ast.AST, other: ast.AST) -> bool:
    """Whether a call takes one of two places."""
    return any(id(one) in a and id(other) in b for a, b in (sides, sides[::-1]))


def _conditions(function: ast.AST, wanted: ast.AST) -> list[tuple[ast.expr, bool]]:
    """The tests that have to hold, or not to hold, for a place to be reached."""
    found: list[tuple[ast.expr, bool]] = []
    if isinstance(wanted, (ast.expr, ast.stmt)):
        for node in _decisions(function):
            if holds(node, wanted):
                for branch, truth in ((node.body, True), (node.orelse, False)):
                    ways = branch if isinstance(branch, list) else [branch]
                    if any(holds(it, wanted) for it in ways):
                        found += [(it, truth) for it in _parts(node.test, truth)]
        for node, after in _left_early(function):
            if any(holds(it, wanted) for it in after):
                found.append((node.test, False))
    return found


@remembered
def _left_early(function: ast.AST) -> list[tuple[ast.If, list[ast.stmt]]]:
    """Conditions under which a block is left, with what comes after them in it."""
    holders = (function, *statements_in(function))
    blocks = [getattr(it, name, None) for it in holders for name in _BLOCKS]
    return [
        (it, block[number + 1 :])
        for block in blocks
        if isinstance(block, list)  # A lambda's body is none.
        for number, it in enumerate(cast("list[ast.stmt]", block))
        if isinstance(it, ast.If) and isinstance(it.body[-1], _LEAVING)
    ]


_BLOCKS = ("body", "orelse", "finalbody")
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@remembered
def _decisions(function: ast.AST) -> list[ast.If | ast.IfExp]:
    """What takes one of two ways in a function itself, or in an expression of it."""
    statements = [it for it in statements_in(function) if isinstance(it, ast.If)]
    return [*statements, *(it for it in walked(function) if isinstance(it, ast.IfExp))]


def _parts(test: ast.expr, truth: bool) -> list[ast.expr]:
    """What holds if a test does: each part of `a and b`."""
    if truth and isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [test, *test.values]
    return [test]


def _contradict(one: tuple[ast.expr, bool], other: tuple[ast.expr, bool]) -> bool:
    (first, a), (second, b) = _plain(*one), _plain(*other)
    if ast.dump(first) == ast.dump(second):
        return a is not b
    if not (a and b and isinstance(first, ast.Compare) and isinstance(second, ast.Compare)):
        return False
    equal = [it for it in (first, second) if len(it.ops) == 1 and isinstance(it.ops[0], ast.Eq)]
    if len(equal) != 2 or ast.dump(first.left) != ast.dump(second.left):
        return False
    values = [it.comparators[0] for it in equal]
    constants = [it.value for it in values if isinstance(it, ast.Constant)]
    return len(constants) == 2 and constants[0] != constants[1]


def _plain(test: ast.expr, truth: bool) -> tuple[ast.expr, bool]:
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    return test, truth
