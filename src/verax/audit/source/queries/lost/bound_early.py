"""Functions that hold a value which has since got a later version.

`validate = partial(error, params)` keeps the parameters of that moment. Where `params` are updated
afterwards, it goes on with the first ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...frame import Frame
from ...graph import Node
from ...parameters import NamedFunction
from ...remember import walked
from ...text import text_of
from ...values import Partial, Sequence, Transformed, nodes_of
from ..reads import reads_of
from ..syntax import holds, statements_in

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...values import Class

# Of these the first version is wanted.
_KEPT = frozenset(
    "old ref reference initial init base baseline frozen fixed target prev previous teacher start "
    "first original prior behavior behaviour anchor".split()
)


@dataclass(frozen=True)
class BoundEarly:
    """A function that binds `value`; `changed_at` is where that gets its later version."""

    place: Place
    function: str
    value: str
    changed_at: Place


def bound_early(facts: SourceFacts) -> Iterator[BoundEarly]:
    """All of them, in functions and in the objects of classes."""
    for function, runs in facts.functions():
        place, made = runs[0].place, set[ast.stmt]()
        for statement, name, value in _held_partials(runs[0]):
            made.update(_made_from(runs[0], value))
            changed = _changed_before_use(function, statement, name, value, made)
            if changed is not None:
                yield BoundEarly(place(statement), name, value, place(changed))
        for statement in statements_in(function):
            for name, value in _bindings(statement, ast.Name):
                changed = _changed_before_use(function, statement, name, value, made)
                if changed is not None:
                    yield BoundEarly(place(statement), name, value, place(changed))
    for cls in facts.record.classes:
        if cls.frame.module is facts.module:
            yield from _of_class(cls)


def _bindings(
    statement: ast.stmt, kind: type[ast.Name] | type[ast.Attribute]
) -> Iterator[tuple[str, str]]:
    """The name that a statement gives to a partial, with what that binds."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return
    target, call = statement.targets[0], _partial(statement.value)
    if call is None or not isinstance(target, kind):
        return
    name = text_of(target)
    if not _KEPT.isdisjoint(words_of(name)):
        return
    for it in (*call.args[1:], *(it.value for it in call.keywords)):
        if isinstance(it, kind) and _KEPT.isdisjoint(words_of(text_of(it))):
            yield name, text_of(it)


def _partial(value: ast.expr) -> ast.Call | None:
    """The partial that a value is, be it under a transformation."""
    while isinstance(value, ast.Call):
        if text_of(value.func).rpartition(".")[2] in ("partial", "Partial"):
            return value
        if not value.args:
            return None
        value = value.args[0]
    return None


def _held_partials(frame: Frame) -> Iterator[tuple[ast.Assign, str, str]]:
    """Names that get a partial which was made elsewhere, each with the name of what it binds."""
    known = {name: nodes_of(it) for name, it in frame.given.items() if not isinstance(it, Partial)}
    for statement, value in frame.steps:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            continue
        held = value
        while isinstance(held, Transformed):
            held = held.function
        if isinstance(held, Partial) and _partial(statement.value) is None:
            bound = [nodes_of(it) for it in (*held.args, *held.keywords.values())]
            for name in [it for it, nodes in known.items() if nodes and nodes in bound]:
                if _KEPT.isdisjoint((*words_of(target.id), *words_of(name))):
                    yield statement, target.id, name
        known[target.id] = [] if isinstance(held, (Partial, Sequence)) else nodes_of(value)


def _made_from(frame: Frame, name: str) -> Iterator[ast.stmt]:
    """The statements that give a parameter's name a value which is made from it."""
    given = set(nodes_of(frame.given[name])) if name in frame.given else set[Node]()
    for statement, value in frame.steps if given else ():
        nodes = nodes_of(value) if name in _stored(statement) else []
        if any(it not in given and not given.isdisjoint(it.ancestors()) for it in nodes):
            yield statement


def _changed_before_use(
    function: NamedFunction,
    statement: ast.stmt,
    name: str,
    value: str,
    made: set[ast.stmt],
) -> ast.stmt | None:
    """Where a value gets a later version after a statement, and before its function is used."""
    reads = reads_of(function)
    if name in reads.within or value in reads.within:
        return None
    uses = [it for it in reads.lines.get(name, ()) if it.lineno > statement.lineno]
    stores = [it for it in statements_in(function) if name in _stored(it) and it is not statement]
    if not uses or stores or reads.around(statement):
        return None
    for it in statements_in(function):
        is_update = _is_update(it, value) or (it in made and value in _stored(it))
        if it.lineno > statement.lineno and is_update:
            loops = reads.around(it)
            if any(use.lineno > it.lineno or any(holds(one, use) for one in loops) for use in uses):
                return it
    return None


def _stored(statement: ast.stmt) -> set[str]:
    """What a statement itself gives values, by name or as an attribute."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    found: set[str] = set()
    while targets:
        it = targets.pop()
        if isinstance(it, (ast.Tuple, ast.List)):
            targets += it.elts
        elif isinstance(it, (ast.Name, ast.Attribute)):
            found.add(text_of(it))
    return found


def _is_update(statement: ast.stmt, name: str) -> bool:
    """Whether a statement makes a later version of a value from it: `params = f(params)`."""
    if name not in _stored(statement):
        return False
    if not isinstance(statement, ast.Assign):
        return True  # `params -= rate * grads`
    read = (it for it in walked(statement.value) if isinstance(it, (ast.Name, ast.Attribute)))
    return any(text_of(it) == name for it in read)


def _of_class(cls: Class) -> Iterator[BoundEarly]:
    """`self.policy = partial(apply, self.params)`, where another method updates `self.params`."""
    methods = [it for it in cls.syntax.body if isinstance(it, NamedFunction)]
    start = next((it for it in methods if it.name == "__init__"), None)
    if start is None:
        return
    others = [it for it in methods if it is not start]
    for statement in statements_in(start):
        for name, value in _bindings(statement, ast.Attribute):
            if not (name.startswith("self.") and value.startswith("self.")):
                continue
            inner = [it for method in others for it in statements_in(method)]
            updates = [it for it in inner if _is_update(it, value)]
            is_remade = any(name in _stored(it) for it in inner)
            if updates and not is_remade and any(_reads(it, name) for it in others):
                place = Frame(cls.frame.module, f"{cls.name}.__init__").place
                yield BoundEarly(place(statement), name, value, place(updates[0]))


def _reads(function: NamedFunction, attribute: str) -> bool:
    return any(
        isinstance(it, ast.Attribute) and isinstance(it.ctx, ast.Load) and text_of(it) == attribute
        for it in walked(function)
    )
