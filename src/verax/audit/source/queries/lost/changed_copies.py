"""Arguments of a traced function that it changes in place, which nobody outside gets to see.

They are taken apart into leaves and put together again inside: the dict, list or object there is a
copy. What is changed in it is lost unless the function reads it after, or gives the copy back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Applied, Mutation
from ...frame import Frame
from ...remember import each, remembered
from ...values import Bound, Instance, Mapping, Sequence, Value
from ..loops.bodies import calls
from ..reads import reads_of
from ..structures.structure import parts_of
from ..syntax import holds, statement_around

if TYPE_CHECKING:
    from ...facts import SourceFacts

_COPYING = frozenset(("jit", "vmap", "pmap"))
_CHANGES = frozenset("attribute item append extend insert add update setdefault".split())
_DEPTH = 4


@dataclass(frozen=True)
class ChangedCopy:
    """A change to the copy that a transformed function has of one of its arguments."""

    change: Mutation
    argument: str
    applied: Applied


def changed_copies(facts: SourceFacts) -> Iterator[ChangedCopy]:
    """All changes of arguments that nothing reads after."""
    changes = [it for it in facts.events(Mutation) if it.how in _CHANGES]
    for applied in facts.events(Applied) if changes else ():
        if applied.transformed.kind not in _COPYING or applied.transformed.is_filtered:
            continue
        given_back = _containers(applied.result)
        for name, copies in _copies(applied).items():
            for change in changes:
                region = change.frame.region
                is_inside = region is not None and applied.region in region.chain()
                is_copy = id(change.target) in copies and id(change.target) not in given_back
                if is_inside and is_copy and _is_lost(change, applied):
                    yield ChangedCopy(change, name, applied)


def _copies(applied: Applied) -> dict[str, set[int]]:
    """The containers that a transformed function has copies of, by its parameters."""
    outer = [*applied.args, *applied.keywords.values()]
    if isinstance(applied.transformed.function, Bound):
        outer.append(applied.transformed.function.owner)
    same = set[int]().union(*map(_containers, outer))
    inner = {name: _containers(value) - same for name, value in applied.inner.items()}
    return {name: copies for name, copies in inner.items() if copies}


def _containers(value: Value | None, depth: int = _DEPTH) -> set[int]:
    """The containers in a value, itself included, by which they are told from others alike."""
    if not isinstance(value, (Instance, Mapping, Sequence)) or depth == 0:
        return set()
    inner = (_containers(it, depth - 1) for it in parts_of(value).values())
    return {id(value)}.union(*inner)


def _is_lost(change: Mutation, applied: Applied) -> bool:
    """Whether no function between a change and the transformation reads what was changed after."""
    for frame, syntax in calls(change):
        if frame.region is None or applied.region not in frame.region.chain():
            return True
        if frame.yields:
            return False  # A context changes something for a while, and takes that back.
        if frame.function is None:
            continue
        own = syntax if frame is change.frame else None
        if _is_read_after(frame, syntax, change.target, own):
            return False
    return True


def _is_read_after(
    frame: Frame, syntax: ast.AST, target: Value | None, changed: ast.AST | None
) -> bool:
    """Whether a function reads a container once some syntax in it has run.

    `changed` is the item or attribute that is set there: other ones may be read.
    """
    statement = statement_around(frame, syntax)
    if statement is None or frame.function is None:
        return True
    reads, others = reads_of(frame.function), _parts_by_name(frame.function)
    for name in _names_of(frame, target):
        needed = [
            it
            for it in reads.lines.get(name, ())
            if not holds(statement, it) and not _reads_another(changed, others.get(it))
        ]
        if reads.after(statement, name, needed):
            return True
    return False


def _names_of(frame: Frame, target: Value | None) -> list[str]:
    """The names of a function for something, or for what holds it."""
    return [
        name
        for name, value in (*frame.environment.items(), *frame.given.items())
        if id(target) in _containers(value)
    ]


@dataclass(frozen=True)
class _Part:
    """An item or attribute of something with a name; `is_called` if it is a method that runs."""

    syntax: ast.Attribute | ast.Subscript
    is_called: bool


@remembered
def _parts_by_name(function: ast.AST) -> dict[ast.AST, _Part]:
    """The items and attributes that a function names, by the name that each is taken from."""
    called = {it.func for it in each(function, ast.Call)}
    return {
        it.value: _Part(it, it in called) for it in each(function, ast.Attribute, ast.Subscript)
    }


def _reads_another(changed: ast.AST | None, read: _Part | None) -> bool:
    """Whether a part is set, or one is read that was not changed; a method may read any."""
    if read is None:
        return False
    if isinstance(read.syntax.ctx, ast.Store):
        return True
    if isinstance(changed, ast.Attribute) and isinstance(read.syntax, ast.Attribute):
        return changed.attr != read.syntax.attr and not read.is_called
    if isinstance(changed, ast.Subscript) and isinstance(read.syntax, ast.Subscript):
        one, other = changed.slice, read.syntax.slice
        if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
            return one.value != other.value
    return False
