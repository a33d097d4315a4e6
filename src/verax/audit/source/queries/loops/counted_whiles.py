"""How often a `while` of Python's turns that counts up or down to a number."""

from __future__ import annotations

import ast

from ...events import Fact
from ...frame import Frame
from ...values import Constant, Data
from ..lost.dropped_states import named_parts_of


def turns_of_while(fact: Fact) -> int | None:
    """The number of turns of `while i < n:`, if `i` starts at a number and each turn adds to it.

    Or of `while i >= 0:`, if each turn takes something from it.
    """
    loop, frame = fact.syntax, fact.frame
    test = loop.test if isinstance(loop, ast.While) else None
    if not isinstance(loop, ast.While) or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    counter, limit = test.left, _number(frame, test.comparators[0])
    if not isinstance(counter, ast.Name) or type(test.ops[0]) not in _COUNTS:
        return None
    start, step = _start(fact, counter.id), _step(loop, counter.id)
    direction, more = _COUNTS[type(test.ops[0])]
    if limit is None or start is None or step is None or step * direction < 0:
        return None
    distance = limit - start if step > 0 else start - limit
    return max(-(-(distance + more) // abs(step)), 0)


# The way a counter goes until a comparison fails, and whether its last turn is at the limit.
_COUNTS: dict[type[ast.cmpop], tuple[int, int]] = {
    ast.Lt: (1, 0),
    ast.LtE: (1, 1),
    ast.Gt: (-1, 0),
    ast.GtE: (-1, 1),
    ast.NotEq: (0, 0),
}


def _number(frame: Frame, written: ast.expr) -> int | None:
    """The number that an expression is, if it is written as one, named, or the size of an array."""
    value: object = written.value if isinstance(written, ast.Constant) else None
    if isinstance(written, (ast.Subscript, ast.Call)):
        return _size(frame, written)
    scope: Frame | None = frame
    while isinstance(written, ast.Name) and scope is not None:
        if written.id in scope.environment:
            known = scope.environment[written.id]
            value = known.value if isinstance(known, Constant) else None
            break
        scope = scope.outer
    return value if type(value) is int else None


def _size(frame: Frame, written: ast.Subscript | ast.Call) -> int | None:
    """The size that `x.shape[0]` or `len(x)` asks for."""
    if isinstance(written, ast.Subscript):
        of, index = written.value, written.slice
        array = of.value if isinstance(of, ast.Attribute) and of.attr == "shape" else None
        axis = index.value if isinstance(index, ast.Constant) else None
    else:
        is_length = isinstance(written.func, ast.Name) and written.func.id == "len"
        array, axis = (written.args[0] if is_length and written.args else None), 0
    known = frame.environment.get(array.id) if isinstance(array, ast.Name) else None
    shape = known.node.shape if isinstance(known, Data) else None
    if (
        not isinstance(shape, tuple)
        or type(axis) is not int
        or not -len(shape) <= axis < len(shape)
    ):
        return None
    return shape[axis] if type(shape[axis]) is int else None


def _start(fact: Fact, name: str) -> int | None:
    """What the statement before a loop gives to its counter."""
    found: int | None = None
    line = getattr(fact.syntax, "lineno", 0)
    for statement, value in fact.frame.steps:
        if statement.lineno >= line or not isinstance(statement, ast.Assign):
            continue
        parts = (part for it in statement.targets for part in named_parts_of(it, value))
        for target, part in parts:
            if isinstance(target, ast.Name) and target.id == name:
                known = part.value if isinstance(part, Constant) else None
                found = known if type(known) is int else None
    return found


def _step(loop: ast.While, name: str) -> int | None:
    """How much each turn adds to a counter, if it does so once, whatever else happens."""
    parts = [part for statement in loop.body for part in _apart(statement)]
    steps = [it for it in map(_added, parts) if it is not None and it[0] == name]
    return steps[0][1] if len(steps) == 1 else None


def _apart(statement: ast.stmt) -> list[ast.stmt]:
    """A statement; those that it stands for, if it assigns several things to as many names."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
            targets
        ) == len(values):
            pairs = zip(targets, values, strict=True)
            return [ast.copy_location(ast.Assign([it], value), statement) for it, value in pairs]
        case _:
            return [statement]


def _added(statement: ast.stmt) -> tuple[str, int] | None:
    """The counter that a statement changes by a number, and that number: `i -= 1`, `i = i - 1`."""
    if isinstance(statement, ast.AugAssign):
        target, change, by = statement.target, statement.op, statement.value
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        target, change, by = statement.targets[0], statement.value.op, statement.value.right
        if ast.unparse(statement.value.left) != ast.unparse(target):
            return None
    else:
        return None
    number = by.value if isinstance(by, ast.Constant) else None
    if not isinstance(target, ast.Name) or type(number) is not int or number <= 0:
        return None
    sign = 1 if isinstance(change, ast.Add) else -1 if isinstance(change, ast.Sub) else 0
    return (target.id, sign * number) if sign else None
