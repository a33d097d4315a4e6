"""One thing is joined with itself, and another that was made to be joined is read by nobody.

`jnp.stack([audio, audio])` may be meant; it is not where `video` has been computed for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...frame import Frame
from ...parameters import NamedFunction
from ...remember import walked
from ...values import Data, Value
from ..reads import reads_of
from ..structures.structure import parts_of
from ..syntax import statements_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

MERGES = frozenset(("concatenate", "stack", "hstack", "vstack", "column_stack", "dstack"))


def joined_twice(facts: SourceFacts) -> Iterator[tuple[Frame, ast.expr, str, str]]:
    """The call of each such function that joins, what it joins twice, and what is lost."""
    for function, runs in facts.functions():
        for call, part in _repeated(function):
            for frame in runs:
                for lost in _lost_beside(facts, function, frame, part):
                    yield frame, call, ast.unparse(part), lost


def _repeated(function: NamedFunction) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that join something with itself: `jnp.concatenate([x.left, x.left])`."""
    for call in walked(function):
        if not isinstance(call, ast.Call):
            continue
        called = call.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        given = call.args[0] if name in MERGES and call.args else None
        parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else []
        texts = [ast.unparse(it) for it in parts] if len(parts) > 1 else []
        if texts and len(set(texts)) == 1 and _owner(parts[0]) is not None:
            yield call, parts[0]


def _owner(part: ast.expr) -> ast.Name | None:
    """The name behind a name, a field or a key."""
    if isinstance(part, ast.Name):
        return part
    inner = part.value if isinstance(part, (ast.Attribute, ast.Subscript)) else None
    is_part = isinstance(part, ast.Attribute) or _key(part) is not None
    return inner if is_part and isinstance(inner, ast.Name) else None


def _lost_beside(
    facts: SourceFacts, function: NamedFunction, frame: Frame, part: ast.expr
) -> Iterator[str]:
    """What is computed like a thing that is joined twice, and read by nobody."""
    owner = _owner(part)
    if owner is None or not reads_of(function).is_clear:
        return
    if part is owner:
        yield from _unread_names(function, frame)
        return
    whole, own = frame.environment.get(owner.id), _key(part)
    held = parts_of(whole) if whole is not None else {}
    read = _keys_read(facts, function, owner.id)
    for key, value in held.items() if read is not None and own in held else ():
        if key not in read and _is_computed(value) and _is_computed(held[own]):
            yield _written(part, key)


def _unread_names(function: NamedFunction, frame: Frame) -> Iterator[str]:
    reads = reads_of(function)
    for statement in statements_in(function):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else "_"
        if name.startswith("_") or reads.count(name) or name in reads.deleted:
            continue
        if _is_computed(frame.environment.get(name)):
            yield name


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
