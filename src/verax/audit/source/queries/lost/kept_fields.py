"""Fields that a record keeps although the same function has computed them anew.

A new version is known by the field's name, and by what it is made of: one more than the field, a
mixture of the field and something else, or made from other fields' new values that the record gets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...parameters import NamedFunction, positional
from ...remember import each, remembered
from ...text import text_of
from ...values import Instance, Sequence, Value
from ..exclusion import exclude_each_other
from ..structures.structure import parts_of
from ..syntax import stores_in
from .dropped_states import is_version_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True)
class Kept:
    """A record that is made with an old field; `new` is the name of its new value."""

    place: Place
    old: str
    new: str


def kept_fields(facts: SourceFacts) -> Iterator[Kept]:
    """All such records of a file."""
    for function, runs in facts.functions():
        if _reads_fields(function):
            told: set[Place] = set()
            for it in (it for frame in runs for it in _of_function(frame, function)):
                if it.place not in told:
                    told.add(it.place)
                    yield it


def _reads_fields(function: NamedFunction) -> bool:
    return bool(each(function, ast.Attribute))


def _of_function(frame: Frame, function: NamedFunction) -> Iterator[Kept]:
    made: dict[str, list[ast.Assign]] = {}
    for statement, _ in frame.steps:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            made.setdefault(statement.targets[0].id, []).append(statement)
    # What gets a value twice may have been used for something else in between.
    once = {name: found[0] for name, found in made.items() if len(set(map(id, found))) == 1}
    for record in _records(function):
        for name, statement in once.items():
            if record.syntax.lineno <= (statement.end_lineno or statement.lineno):
                continue
            old = _held(frame, record.owner, name)
            if not record.keeps(name, old is not None) or _is_set_before(function, record, name):
                continue
            if exclude_each_other(frame, statement, record.syntax):
                continue
            is_new = _is_update(statement, record, name) or _follows(statement, record, name)
            if is_new or _is_made_of(frame, statement, old):
                kept = record.given.get(name, record.syntax)
                yield Kept(frame.place(kept), f"{record.owner}.{name}", name)


@dataclass(frozen=True)
class _Record:
    """A record that is made from an older one: its fields by name, as far as they are told."""

    syntax: ast.expr
    owner: str
    given: dict[str, ast.expr]
    fields: frozenset[str]
    is_copy: bool = False

    def keeps(self, field: str, is_field: bool) -> bool:
        """Whether it has the older one's value for a field that is known to be one."""
        if field not in self.given:
            return field in self.fields or (is_field and self.is_copy)
        return _is_field(self.given[field], self.owner, field)


@remembered
def _records(function: NamedFunction) -> list[_Record]:
    """Copies with some fields replaced, records with fields of another one, and states given back.

    In `Record(a, old.b)` a field is known by having the name of what it is given.
    """
    fields = _fields_of_names(function)
    given = {it.arg for it in positional(function)}
    found: list[_Record] = []
    for node in each(function, ast.Call, ast.Return):
        if isinstance(node, ast.Call):
            found += _of_call(node, fields)
        elif isinstance(node.value, ast.Tuple):
            for element in node.value.elts:
                if isinstance(element, ast.Name) and element.id in given:
                    own = fields.get(element.id, frozenset[str]())
                    found.append(_Record(element, element.id, {}, own))
    return found


def _of_call(call: ast.Call, fields: dict[str, frozenset[str]]) -> Iterator[_Record]:
    if any(it.arg is None for it in call.keywords):
        return
    named = {it.arg: it.value for it in call.keywords if it.arg is not None}
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr in ("replace", "_replace"):
        if named and not call.args and isinstance(called.value, ast.Name):
            owner = called.value.id
            yield _Record(call, owner, named, fields.get(owner, frozenset()), True)
        return
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if name.lstrip("_")[:1].isupper():
        for it in call.args:
            if isinstance(it, (ast.Name, ast.Attribute)):
                named.setdefault(it.id if isinstance(it, ast.Name) else it.attr, it)
        owners = {it for it in map(_owner, named.values()) if it}
        # Of one value alone something else is made, and no new version of its owner.
        if len(owners) == 1 and len(named) > 1:
            yield _Record(call, owners.pop(), named, frozenset())


def _is_set_before(function: ast.AST, record: _Record, field: str) -> bool:
    """Whether the older record, or its field, gets another value before the new record is made."""

    def is_set(it: ast.Name | ast.Attribute) -> bool:
        if isinstance(it, ast.Name):
            return it.id == record.owner
        return _is_field(it, record.owner, field)

    return any(it.lineno < record.syntax.lineno and is_set(it) for it in stores_in(function))


def _owner(value: ast.expr) -> str:
    """What a value is a field of, by name."""
    base = value.value if isinstance(value, ast.Attribute) else None
    return base.id if isinstance(base, ast.Name) else ""


def _is_field(value: ast.expr, owner: str, field: str) -> bool:
    return (
        isinstance(value, ast.Attribute)
        and value.attr == field
        and isinstance(value.value, ast.Name)
        and value.value.id == owner
    )


def _fields_of_names(function: NamedFunction) -> dict[str, frozenset[str]]:
    """The fields that a function reads of what it has a name for."""
    found: dict[str, set[str]] = {}
    for node in each(function, ast.Attribute):
        if isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return {owner: frozenset(names) for owner, names in found.items()}


def _held(frame: Frame, owner: str, field: str) -> Value | None:
    """The record in a field of a parameter, as the function was given it."""
    given = frame.given.get(owner)
    held = parts_of(given).get(field) if isinstance(given, (Instance, Sequence)) else None
    return held if isinstance(held, (Instance, Sequence)) else None


def _is_made_of(frame: Frame, statement: ast.Assign, old: Value | None) -> bool:
    """Whether a value is a later version of a record: an array may be a noisy one for once."""
    if old is None:
        return False
    values = [value for step, value in frame.steps if step is statement]
    return bool(values) and all(it is not old and is_version_of(it, old) for it in values)


def _is_update(statement: ast.Assign, record: _Record, field: str) -> bool:
    """Whether a value is one more than a field, or a mixture of it and something else."""
    value = statement.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return False
    for one, other in ((value.left, value.right), (value.right, value.left)):
        if _is_field(one, record.owner, field):
            return isinstance(other, ast.Constant) and other.value == 1
        factor = _factor_of(one, record.owner, field)
        if factor is not None:
            return _multiplies(other, f"1 - {factor}") or _multiplies(other, f"1.0 - {factor}")
    return False


def _factor_of(value: ast.expr, owner: str, field: str) -> str | None:
    """What a field is multiplied with."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        if _is_field(value.right, owner, field):
            return text_of(value.left)
        if _is_field(value.left, owner, field):
            return text_of(value.right)
    return None


def _multiplies(value: ast.expr, factor: str) -> bool:
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return False
    return factor in (text_of(value.left), text_of(value.right))


def _follows(statement: ast.Assign, record: _Record, field: str) -> bool:
    """Whether a value is made from others that the record has, and not from the older record."""
    if not isinstance(statement.value, (ast.Call, ast.BinOp)):
        return False
    names = {it.id for it in each(statement.value, ast.Name)}
    if record.owner in names:
        return False
    new = {
        name
        for name, value in record.given.items()
        if isinstance(value, ast.Name) and value.id == name and name != field
    }
    return bool(names & new)
