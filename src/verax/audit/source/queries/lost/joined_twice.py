"""One thing is joined with itself, and another that was made to be joined is read by nobody.

`jnp.stack([audio, audio])` may be meant; it is not where `video` has been computed for nothing.
Among other things that are joined, and where a thing is multiplied by itself, what was lost has to
be made in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...frame import Frame
from ...graph import Node
from ...operations import CONTRACTIONS, JOINS, bare
from ...parameters import NamedFunction
from ...remember import each, walked
from ...values import Data, Value
from ..reads import reads_of
from ..structures.structure import parts_of
from ..syntax import statements_in
from .dropped import live_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

# As they are written, which may be by the other name of one.
MERGES = bare(JOINS) | {"concat"}


# Of a thing and itself these give nothing new, or what is seldom asked for.
_PAIRS = (ast.MatMult, ast.Sub, ast.Div)
_PRODUCTS = bare(CONTRACTIONS) | {"outer"}


def joined_twice(facts: SourceFacts) -> Iterator[tuple[Frame, ast.expr, str, str]]:
    """The expression of each such function that joins, what it joins twice, and what is lost."""
    for function, runs in facts.functions():
        for joined, part, is_all in _repeated(function):
            for frame in runs:
                for lost, value in _lost_beside(facts, function, frame, part):
                    if is_all or _are_alike(value, _value_of(frame, part)):
                        yield frame, joined, ast.unparse(part), lost


def _repeated(function: NamedFunction) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Expressions that join something with itself, and whether they join nothing else.

    `jnp.concatenate([x.left, x.left])`, `z["one"] @ z["one"].T`.
    """
    for it in each(function, ast.Call, ast.BinOp):
        if isinstance(it, ast.Call) and it.args:
            called = it.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in MERGES:
                for written in _displays(function, it.args[0]):
                    joined = it if written is it.args[0] else written
                    yield from _twice(joined, written.elts, is_join=True)
            elif name in _PRODUCTS:
                yield from _twice(it, [_turned(one) for one in it.args])
        elif isinstance(it, ast.BinOp) and isinstance(it.op, _PAIRS):
            yield from _twice(it, [_turned(it.left), _turned(it.right)])


def _twice(
    joined: ast.expr, parts: list[ast.expr], is_join: bool = False
) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """An expression with the first of its parts that is there twice."""
    texts = [ast.unparse(one) for one in parts if _owner(one) is not None]
    twice = next((one for one in texts if texts.count(one) > 1), None)
    if twice is not None:
        is_all = is_join and len(parts) == texts.count(twice)
        yield joined, next(one for one in parts if ast.unparse(one) == twice), is_all


def _displays(function: NamedFunction, given: ast.expr) -> Iterator[ast.List | ast.Tuple]:
    """The lists that are joined: written there, or under a name, or one added to another."""
    if isinstance(given, (ast.List, ast.Tuple)):
        yield given
    elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        yield from _displays(function, given.left)
        yield from _displays(function, given.right)
    elif isinstance(given, ast.Name):
        for it in statements_in(function):
            if not isinstance(it, ast.Assign) or not isinstance(it.value, (ast.List, ast.Tuple)):
                continue
            if any(_is(target, given.id) for target in it.targets):
                yield it.value


def _turned(syntax: ast.expr) -> ast.expr:
    """A matrix, of one that is turned: `x` of `x.T`."""
    is_turned = isinstance(syntax, ast.Attribute) and syntax.attr in ("T", "mT")
    return syntax.value if is_turned and isinstance(syntax, ast.Attribute) else syntax


def _value_of(frame: Frame, part: ast.expr) -> Value | None:
    owner = _owner(part)
    whole = frame.environment.get(owner.id) if owner is not None else None
    if part is owner or whole is None:
        return whole
    return parts_of(whole).get(_key(part))


def _are_alike(lost: Value | None, own: Value | None) -> bool:
    """Whether two values are computed by the same operation, and one would fit for the other."""
    if not isinstance(lost, Data) or not isinstance(own, Data) or lost.node is own.node:
        return False
    shapes = (lost.node.shape, own.node.shape)
    return _are_made_alike(lost.node, own.node) and (None in shapes or shapes[0] == shapes[1])


def _are_made_alike(one: Node, other: Node) -> bool:
    """Whether two values are made by the same operation, or are rows of what is."""
    operation = one.operation
    if operation != other.operation:
        return False
    if operation != "item":
        return operation not in _GIVEN
    # Rows of one array by other numbers are alike, parts of a thing need not be.
    if one.inputs[:1] == other.inputs[:1]:
        return True
    is_gathered = len(one.inputs) == 2 == len(other.inputs)
    return is_gathered and _are_made_alike(one.inputs[0], other.inputs[0])


# Of what comes into being by these nobody knows how it is made.
_GIVEN = frozenset("parameter argument static counter field item element call".split())


def _owner(part: ast.expr) -> ast.Name | None:
    """The name behind a name, a field or a key."""
    if isinstance(part, ast.Name):
        return part
    inner = part.value if isinstance(part, (ast.Attribute, ast.Subscript)) else None
    is_part = isinstance(part, ast.Attribute) or _key(part) is not None
    return inner if is_part and isinstance(inner, ast.Name) else None


def _lost_beside(
    facts: SourceFacts, function: NamedFunction, frame: Frame, part: ast.expr
) -> Iterator[tuple[str, Value | None]]:
    """What is computed beside a thing that is joined twice, and read by nobody."""
    owner = _owner(part)
    if owner is None or not reads_of(function).is_clear:
        return
    if part is owner:
        yield from _unread_names(function, frame)
        return
    whole, own = frame.environment.get(owner.id), _key(part)
    held = parts_of(whole) if whole is not None else {}
    read = _keys_read(facts, function, owner.id)
    others = [key for key in held if key != own] if own in held else []
    if read is None or not others or not _is_computed(held[own]):
        return
    is_given = owner.id in frame.given
    for key in others:
        value = held[key]
        is_unread = key not in read or (is_given and _is_dead(frame, value))
        if is_unread and _is_computed(value):
            yield _written(part, key), value


def _is_dead(frame: Frame, value: Value) -> bool:
    """Whether nothing that a whole program returns is made from a value."""
    outermost = next((it for it in reversed([*frame.callers()]) if it.returns), frame)
    if outermost is frame or not isinstance(value, Data):
        return False
    return value.node not in live_in(outermost)


def _unread_names(function: NamedFunction, frame: Frame) -> Iterator[tuple[str, Value | None]]:
    reads = reads_of(function)
    for statement in statements_in(function):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else "_"
        if name.startswith("_") or reads.count(name) or name in reads.deleted:
            continue
        if _is_computed(frame.environment.get(name)):
            yield name, frame.environment.get(name)


def _keys_read(facts: SourceFacts, function: NamedFunction, owner: str) -> set[object] | None:
    """The fields and keys of a thing that are read; `None` if it may be read as a whole.

    Of what a function is given, all that is read anywhere in the file counts.
    """
    reads = reads_of(function)
    if owner in reads.within:
        return None
    is_made_here = any(
        isinstance(it, ast.Assign) and any(_is(target, owner) for target in it.targets)
        for it in statements_in(function)
    )
    scope = function if is_made_here else facts.module.syntax
    taken = {
        it.value: _key(it)
        for it in walked(scope)
        if isinstance(it, (ast.Attribute, ast.Subscript)) and isinstance(it.ctx, ast.Load)
    }
    if any(taken.get(it) is None for it in reads.lines.get(owner, ())):
        return None
    if is_made_here:
        return {taken[it] for it in reads.lines.get(owner, ())}
    return set(taken.values())


def _key(part: ast.expr) -> object:
    if isinstance(part, ast.Attribute):
        return part.attr
    key = part.slice if isinstance(part, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) else None


def _written(part: ast.expr, key: object) -> str:
    return str(key) if isinstance(part, ast.Attribute) else repr(key)


def _is(syntax: ast.expr, name: str) -> bool:
    return isinstance(syntax, ast.Name) and syntax.id == name


def _is_computed(value: Value | None) -> bool:
    """Whether something is an array, or may be one, that is made from others."""
    return isinstance(value, Data) and bool(value.node.inputs) and not value.node.is_key
