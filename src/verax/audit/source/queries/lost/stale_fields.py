"""Old fields of a state that a call is given beside the new versions of others.

A step computes the fields of the next state one after the other. What is called with the new value
of one and the old value of another, which has its new one by then, is asked about a state that
never is.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...looping import assigned_names
from ...parameters import NamedFunction, parameters
from ...remember import each, walked
from ...text import text_of
from ..syntax import statements_in, stores_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Words that say of which step something is.
_STEP = re.compile(r"^(new|next|updated|current|curr|cur|last|prev|old)_(?=\w)")
# Modules of functions that compute with numbers, whatever these belong to.
_NUMERIC = frozenset("jax jnp lax np jp numpy nn jsp".split())


@dataclass(frozen=True)
class StaleField:
    """A call that gets an old field; `new` is its new version, which is made at `made_at`.

    `beside` is the new version of another field; empty where a record is made of both.
    """

    place: Place
    old: str
    new: str
    beside: str
    made_at: Place


@dataclass(frozen=True)
class _Version:
    """A name for the new value of a field that is made from the old one."""

    name: str
    field: str
    made: ast.Assign


def stale_fields(facts: SourceFacts) -> Iterator[StaleField]:
    """All such calls of a file."""
    for function, runs in facts.functions():
        versions = _versions(function)
        if len(versions) > 1:
            yield from _of_function(runs[0], function, versions)
        yield from _of_records(runs[0], function)


def _of_records(frame: Frame, function: NamedFunction) -> Iterator[StaleField]:
    """`s.replace(gain=gain, total=s.gain + s.base)`: a field of the record that was is added up.

    What goes on from its own old value, or compares the old with the new, may need the old one.
    """
    for call in each(function, ast.Call):
        called = call.func
        if not isinstance(called, ast.Attribute):
            continue
        if called.attr not in ("replace", "_replace") or not isinstance(called.value, ast.Name):
            continue
        new = {it.arg: it.value.id for it in call.keywords if isinstance(it.value, ast.Name)}
        sums = [it for it in call.keywords if isinstance(it.value, ast.BinOp)]
        for it in sums:
            read = _fields_read(it.value, called.value.id)
            names = {one.id for one in each(it.value, ast.Name)}
            for field, syntax in read.items() if len(read) > 1 and it.arg not in read else ():
                made = _made_before(function, call, field) if new.get(field) == field else None
                if made is not None and field not in names:
                    place, made_at = frame.place(syntax), frame.place(made)
                    yield StaleField(place, text_of(syntax), field, "", made_at)


def _fields_read(expression: ast.expr, owner: str) -> dict[str, ast.Attribute]:
    """The fields that an expression reads from something with a name."""
    return {
        it.attr: it
        for it in walked(expression)
        if isinstance(it, ast.Attribute) and isinstance(it.value, ast.Name) and it.value.id == owner
    }


def _made_before(function: NamedFunction, call: ast.Call, name: str) -> ast.stmt | None:
    """The statement that gives a name its value before a call."""
    made = [
        it
        for it in statements_in(function)
        if isinstance(it, ast.Assign) and it.lineno < call.lineno and name in assigned_names(it)
    ]
    return made[-1] if made else None


def _versions(function: NamedFunction) -> dict[str, _Version]:
    """The new versions of fields of a function's parameters, by the text of the old ones."""
    given = {it.arg for it in parameters(function)} - {"self", "cls"}
    stored = Counter(it.id for it in stores_in(function) if isinstance(it, ast.Name))
    found: dict[str, _Version] = {}
    for statement in statements_in(function):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            continue
        if stored[target.id] > 1:
            continue
        for read in each(statement.value, ast.Attribute):
            if isinstance(read.value, ast.Name):
                is_version = _STEP.sub("", target.id) == _STEP.sub("", read.attr)
                # A name for the field itself is no new version of it.
                is_version = is_version and read is not statement.value
                if is_version and read.value.id in given and read.value.id not in stored:
                    found[text_of(read)] = _Version(target.id, read.attr, statement)
    return found


def _of_function(
    frame: Frame, function: NamedFunction, versions: dict[str, _Version]
) -> Iterator[StaleField]:
    calls = each(function, ast.Call)
    names = {it.name: old for old, it in versions.items()}
    for call in calls:
        arguments = [*call.args, *(it.value for it in call.keywords)]
        given = {it.id for it in arguments if isinstance(it, ast.Name)}
        beside = next((it for it in names if it in given), None)
        if beside is None or _is_numeric(call):
            continue
        for argument in arguments:
            old = text_of(argument) if isinstance(argument, ast.Attribute) else ""
            version = versions.get(old)
            if version is None or version.name in given or version.name == beside:
                continue
            is_made = (version.made.end_lineno or 0) < call.lineno
            others = [it for it in calls if it is not call]
            if is_made and _goes_on(others, version) and not _is_asked_too(call, others, version):
                made_at = frame.place(version.made)
                yield StaleField(frame.place(argument), old, version.name, beside, made_at)


def _is_numeric(call: ast.Call) -> bool:
    root = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return not isinstance(root, ast.Name) or root.id in _NUMERIC


def _goes_on(calls: list[ast.Call], version: _Version) -> bool:
    """Whether a record is given the new version for its field."""
    return any(
        it.arg == version.field and isinstance(it.value, ast.Name) and it.value.id == version.name
        for call in calls
        for it in call.keywords
    )


def _is_asked_too(call: ast.Call, others: list[ast.Call], version: _Version) -> bool:
    """Whether the same function is called with the new version as well: both are compared."""
    same = [it for it in others if ast.dump(it.func) == ast.dump(call.func)]
    return any(
        isinstance(node, ast.Name) and node.id == version.name for it in same for node in walked(it)
    )
