"""Whether a function names certain of its variables once, between one assignment and the next."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import cast

from ...parameters import FunctionSyntax, NamedFunction
from ...remember import children, each, walked
from ..reads import own_names

# What was used of a variable: all of it, or the parts with certain numbers.
_All = None
_Used = dict[str, frozenset[int | None]]

# These tell of an array without its numbers.
_ABOUT = frozenset(("shape", "dtype", "ndim", "size"))
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class _TwiceError(Exception):
    """A variable is used again, or in a way that is not followed."""


def names_once(function: NamedFunction, names: Iterable[str]) -> bool:
    """Whether on every way each of these variables is named at most once after it is assigned.

    All of them have to be the function's own. `keys[0]` and `keys[1]` are different parts.
    """
    wanted = frozenset(names)
    if not wanted <= own_names(function) | _comprehended(function):
        return False
    try:
        _Ways(wanted).block(function.body, {})
    except _TwiceError:
        return False
    return True


def _comprehended(function: NamedFunction) -> set[str]:
    """The variables of a function's comprehensions."""
    targets = [it.target for it in each(function, ast.comprehension)]
    return {it.id for target in targets for it in each(target, ast.Name)}


class _Ways:
    """Goes all ways through a function, each loop twice, with what was used so far."""

    def __init__(self, names: frozenset[str]):
        self._names = names
        # What was used at each `break` and `continue` of the innermost loop.
        self._left: list[_Used] = []

    def block(self, statements: Iterable[ast.stmt], used: _Used | None) -> _Used | None:
        """What is used after some statements; `None` where they do not come to their end."""
        for statement in statements:
            if used is None:
                return None
            used = self._statement(statement, used)
        return used

    def _statement(self, node: ast.stmt, used: _Used) -> _Used | None:
        match node:
            case ast.If():
                used = self._load(node.test, used)
                return _either(self.block(node.body, used), self.block(node.orelse, used))
            case ast.For() | ast.AsyncFor():
                return self._loop(node, self._load(node.iter, used))
            case ast.While():
                return self._loop(node, used)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    used = self._assign(item.optional_vars, self._load(item.context_expr, used))
                return self.block(node.body, used)
            case ast.Assign():
                used = self._load(node.value, used)
                for target in node.targets:
                    used = self._assign(target, used)
                return used
            case ast.Return():
                self._load(node.value, used)
                return None
            case ast.Raise():
                return None
            case ast.Break() | ast.Continue():
                self._left.append(used)
                return None
            case ast.Expr() | ast.Assert():
                return self._load(node, used)
            case ast.AugAssign():
                self._forbid(node.target)
                return self._load(node.value, used)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._forbid_inside(node)
                return used
            case _:
                self._forbid(node)
                return used

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, used: _Used) -> _Used | None:
        outer, self._left = self._left, []
        after: _Used | None = used
        for _ in range(2):
            if after is None:
                break
            if isinstance(node, ast.While):
                start = self._load(node.test, after)
            else:
                start = self._assign(node.target, after)
            after = self.block(node.body, start)
            for left in self._left:
                after = _either(after, left)
        self._left = outer
        return self.block(node.orelse, _either(used, after))

    def _assign(self, target: ast.expr | None, used: _Used) -> _Used:
        """Names are new; what is stored inside of something names it."""
        match target:
            case None:
                return used
            case ast.Name():
                return {name: parts for name, parts in used.items() if name != target.id}
            case ast.Tuple() | ast.List():
                for item in target.elts:
                    used = self._assign(item, used)
                return used
            case ast.Starred():
                return self._assign(target.value, used)
            case _:
                return self._load(target, used)

    def _load(self, node: ast.AST | None, used: _Used) -> _Used:
        """What is used after an expression."""
        match node:
            case None:
                return used
            case ast.Name():
                return self._use(node, _All, used)
            case ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=int(number))):
                return self._use(name, number, used)
            case ast.Attribute(value=ast.Name() as name, attr=attr) if attr in _ABOUT:
                return used
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name()]):
                return used
            case ast.IfExp():
                used = self._load(node.test, used)
                either = _either(self._load(node.body, used), self._load(node.orelse, used))
                return cast(_Used, either)
            case ast.NamedExpr():
                return self._assign(node.target, self._load(node.value, used))
            case ast.Lambda():
                self._forbid_inside(node)
                return used
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node, used)
            case _:
                for child in children(node):
                    used = self._load(child, used)
                return used

    def _comprehension(self, node: _Comprehension, used: _Used) -> _Used:
        """Its first iterable is used once, what it takes from there once in each turn."""
        first = node.generators[0].iter
        used = self._load(first, used)
        taken = {
            it.id
            for generator in node.generators
            for it in walked(generator.target)
            if isinstance(it, ast.Name)
        }
        rest = [it for it in children(node) if it is not node.generators[0]]
        rest += node.generators[0].ifs
        for it in rest:
            self._forbid(it, taken)
        inner = _Ways(self._names & taken)
        turn: _Used = {}
        for it in rest:
            turn = inner._load(it, turn)
        return used

    def _use(self, name: ast.Name, part: int | None, used: _Used) -> _Used:
        if name.id not in self._names:
            return used
        before = used.get(name.id, frozenset())
        is_again = bool(before) if part is _All else part in before or _All in before
        if is_again:
            raise _TwiceError
        return {**used, name.id: before | {part}}

    def _forbid(self, node: ast.AST, but: Iterable[str] = ()) -> None:
        """What may run several times, or in another order, must not name any of the variables."""
        names = self._names.difference(but)
        for it in walked(node):
            if isinstance(it, ast.Name) and it.id in names:
                raise _TwiceError

    def _forbid_inside(self, function: FunctionSyntax) -> None:
        """The same for a function that is defined here, and has names of its own."""
        own = own_names(function)
        for it in children(function):
            # Defaults are worked out here, where its names mean ours.
            self._forbid(it, () if isinstance(it, ast.arguments) else own)


def _either(one: _Used | None, other: _Used | None) -> _Used | None:
    """What may have been used after one way or another."""
    if one is None or other is None:
        return other if one is None else one
    return {
        name: one.get(name, frozenset()) | other.get(name, frozenset()) for name in {**one, **other}
    }
