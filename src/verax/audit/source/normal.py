"""One form for what Python lets one write in several, so that nobody has to know all of them.

`name: type = value` does what `name = value` does and says a little more. It becomes an assignment
that has a type, everywhere but in the body of a class, where it declares a field.

`pair = f(x)`, `a = pair[0]`, `b = pair[1]` becomes the assignment of what `f` gives to `a, b`, that
knows that this need not be all.

`result = (a, b)`, `return result` becomes the return of `a, b`.

`with jax.named_scope("layer"):` only gives a name to what is computed in it, which then stands in
the block around it.

`g((y := f(x)))` becomes `y = f(x)` and `g(y)`.

`with contextlib.suppress(Error):` becomes `try:` with an `except Error:` that does nothing.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from .named_expressions import named_apart
from .suppressed import caught, names_of_suppress


class Declaration(ast.Assign):
    """An assignment that says what it assigns: `name: type = value`."""

    annotation: ast.expr


class Unpacking(ast.Assign):
    """An assignment of the first parts of something: `a, b = f(x)`, be there more than these.

    `held` is the name under which the whole is taken apart, by `taken`, one for each target.
    """

    held: ast.Name
    taken: list[ast.expr]


# Syntax is dispatched on by the name of its class where Python turns it into text.
Declaration.__name__ = Unpacking.__name__ = ast.Assign.__name__

# They give a name to what runs in them, for whoever looks at a profile.
_NAMING = frozenset(("named_scope", "TraceAnnotation", "StepTraceAnnotation"))

# Statements that hold statements.
_HOLDERS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)


def normalise(tree: ast.Module, text: str) -> ast.Module:
    """Rewrite the tree of a text, in place, to the forms that everything else expects.

    Few programs name values on the way (`:=`); in others nobody has to look for that.
    """
    has_named, suppressing = ":=" in text, names_of_suppress(tree, text)
    pending: list[tuple[ast.AST, bool, ast.AST | None]] = [(tree, False, None)]
    apart: dict[ast.AST, list[_Apart]] = {}
    while pending:
        node, in_class, function = pending.pop()
        for block in _blocks(node):
            _open_scopes(block)
            if has_named:
                named_apart(block)
            if suppressing:
                caught(block, suppressing)
            if not in_class:
                block[:] = [_plain(it) for it in block]
            if function is not None and len(block) > 1:
                apart.setdefault(function, []).extend(_taken_apart(block))
            for statement in block:
                if isinstance(statement, _FUNCTIONS):
                    pending.append((statement, False, function or statement))
                elif isinstance(statement, _HOLDERS):
                    is_class = isinstance(statement, ast.ClassDef)
                    pending.append((statement, is_class or in_class, function))
    for function, found in apart.items():
        _join_parts(function, found)
    return tree


@dataclass
class _Apart:
    """Something that gets a name for the sake of the statements after it, and of nothing else.

    They take the parts of what a call gives, one after the other, or return a tuple.
    """

    block: list[ast.stmt]
    first: ast.Assign
    held: ast.Name
    after: list[ast.stmt]


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.Try | ast.TryStar):
        yield from (handler.body for handler in node.handlers)
    if isinstance(node, ast.Match):
        yield from (case.body for case in node.cases)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block


def _plain(statement: ast.stmt) -> ast.stmt:
    """A declaration as an assignment, if it has a value."""
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return statement
    new = Declaration([statement.target], statement.value)
    new.annotation = statement.annotation
    return ast.copy_location(new, statement)


def _open_scopes(block: list[ast.stmt]) -> None:
    """Put the statements of blocks that only have a name in the place of these."""
    number = 0
    while number < len(block):
        statement = block[number]
        if isinstance(statement, ast.With) and all(map(_only_names, statement.items)):
            names = [ast.Expr(it.context_expr) for it in statement.items]
            told = [ast.copy_location(new, new.value) for new in names]
            block[number : number + 1] = [*told, *statement.body]
        else:
            number += 1


def _only_names(item: ast.withitem) -> bool:
    call = item.context_expr
    called = call.func if isinstance(call, ast.Call) and item.optional_vars is None else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _NAMING


def _taken_apart(block: list[ast.stmt]) -> Iterator[_Apart]:
    for number, first in enumerate(block[:-1]):
        match first:
            case ast.Assign(targets=[ast.Name() as held], value=ast.Call()):
                taking = _taking(block, number, held.id)
                if len(taking) > 1:
                    yield _Apart(block, first, held, taking)
            case ast.Assign(targets=[ast.Name() as held], value=ast.Tuple()):
                match block[number + 1]:
                    case ast.Return(value=ast.Name(id=name)) as end if name == held.id:
                        yield _Apart(block, first, held, [end])
                    case _:
                        pass
            case _:
                pass


def _join_parts(function: ast.AST, found: list[_Apart]) -> None:
    """Assign what calls give at once, where nothing reads the names but what takes the parts."""
    if not found:
        return
    names = (it for it in ast.walk(function) if isinstance(it, ast.Name))
    reads = Counter(it.id for it in names if not isinstance(it.ctx, ast.Store))
    for it in found:
        reads[it.held.id] -= len(it.after)
    for it in found:
        if not reads[it.held.id]:
            at = it.block.index(it.first)
            it.block[at : at + len(it.after) + 1] = [_joined(it)]


def _taking(block: list[ast.stmt], number: int, held: str) -> list[ast.stmt]:
    """The statements after one that give the parts of a thing to names, the first part first."""
    found: list[ast.stmt] = []
    for at in range(number + 1, len(block)):
        statement = block[at]
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=taker)],
                value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))),
            ) if name == held != taker and index == len(found):
                found.append(statement)
            case _:
                break
    return found


def _joined(apart: _Apart) -> ast.stmt:
    """One statement for all of it, from the start of the first to the end of the last."""
    first, last = apart.first, apart.after[-1]
    taking = [it for it in apart.after if isinstance(it, ast.Assign)]
    new: ast.stmt = ast.Return(first.value)
    if taking:
        names = ast.Tuple([it.targets[0] for it in taking], ast.Store())
        new = Unpacking([ast.copy_location(names, apart.held)], first.value)
        new.held, new.taken = apart.held, [it.value for it in taking]
    ast.copy_location(new, first)
    new.end_lineno, new.end_col_offset = last.end_lineno, last.end_col_offset
    return new
