"""One of several values is used where two are asked for, and one that came with it is unread.

A name that nothing reads is no mistake by itself, where it came along with others: `carry, _ = …`
is written with a name as well. It is one if what came with it takes its place.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...graph import Node
from ...parameters import FunctionSyntax, NamedFunction, positional
from ...remember import each, remembered
from ...values import Class, Data, Function, Value
from ..reads import reads_of
from ..syntax import statements_in
from .joined_twice import MERGES, joined_twice

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True)
class Doubled:
    """A name that is used twice, at a place, and the one that nothing reads."""

    place: Place
    name: str
    unread: str


@remembered
def doubled(facts: SourceFacts) -> list[Doubled]:
    """All such names of functions of the file; one a line."""
    return list(_each_doubled(facts))


def _each_doubled(facts: SourceFacts) -> Iterator[Doubled]:
    told: set[Place] = set()
    for function, runs in facts.functions():
        groups, names = _unpacked(function), [it.arg for it in positional(function)]
        unread = _unread(function, [*names, *(name for group in groups for name in group)])
        for frame in runs if unread else ():
            for syntax, name, lost in _doubled(facts, function, frame, groups, names, unread):
                place = frame.place(syntax)
                if place not in told:
                    told.add(place)
                    yield Doubled(place, name, lost)
    joined = (Doubled(it.place(at), name, lost) for it, at, name, lost in joined_twice(facts))
    for it in (*_of_leaves(facts), *joined):
        if it.place not in told:
            told.add(it.place)
            yield it


def _of_leaves(facts: SourceFacts) -> Iterator[Doubled]:
    """`jax.tree.map(lambda a, b: jnp.concatenate([a, a]), one, other)`: the leaves are alike."""
    for call in facts.calls(("jax.tree.map",)):
        given = call.args[0] if len(call.args) > 2 else None
        if not isinstance(given, Function) or call.frame.module is not facts.module:
            continue
        function = given.syntax
        names = [it.arg for it in positional(function)]
        for lost in _unread(function, names):
            for name in names:
                for it in (*_joins(function).get(name, ()), *_mixtures(function).get(name, ())):
                    yield Doubled(given.frame.place(it), name, lost)


def _doubled(
    facts: SourceFacts,
    function: NamedFunction,
    frame: Frame,
    groups: list[list[str]],
    names: list[str],
    unread: list[str],
) -> Iterator[tuple[ast.expr, str, str]]:
    every = [name for group in groups for name in group]
    joins, sums, mixtures = _joins(function), _sums(function), _mixtures(function)
    handed, calls = _handed_twice(function), _same_calls(function)
    values, given = frame.environment, frame.given if frame.is_staged else {}
    # Pairs of names are many, names that are used twice few.
    joined = [it for it in every if it in joins]
    twice = [(set(group), [it for it in group if it in handed or it in sums]) for group in groups]
    parameters, siblings = set(names), set(every)
    mixed, called = [it for it in names if it in mixtures], [it for it in names if it in calls]
    for lost in unread:
        for name in _alike(lost, siblings, joined, values):
            yield from ((it, name, lost) for it in joins[name])
        for group, some in twice:
            for name in _alike(lost, group, some, values):
                own = (it for it in handed.get(name, ()) if _is_own(facts, frame, it.func))
                yield from ((it, name, lost) for it in (*own, *sums.get(name, ())))
        for name in mixed if lost in parameters else ():
            yield from ((it, name, lost) for it in mixtures[name] if _is_whole(it))
        for name in _alike(lost, parameters, called, given):
            own = (it for it in calls[name] if _is_own(facts, frame, it.func))
            yield from ((it, name, lost) for it in own)


def _unpacked(function: NamedFunction) -> list[list[str]]:
    """Names that get parts of one result together."""
    return [
        [it.id for it in target.elts if isinstance(it, ast.Name)]
        for statement in statements_in(function)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [])
        if isinstance(target, (ast.Tuple, ast.List))
    ]


def _unread(function: FunctionSyntax, names: list[str]) -> list[str]:
    reads = reads_of(function)
    return [
        it
        for it in dict.fromkeys(names if reads.is_clear else ())
        if not it.startswith("_") and not reads.count(it) and it not in reads.deleted
    ]


def _alike(
    unread: str, names: set[str], some: list[str], values: Mapping[str, Value]
) -> Iterator[str]:
    """Some of the names beside one that nothing reads, whose values are made like its own."""
    lost = values.get(unread) if some and unread in names else None
    if not isinstance(lost, Data) or lost.node.is_key or lost.node.operation in _GIVEN:
        return
    for name in dict.fromkeys(some):
        own = values.get(name)
        if name == unread or not isinstance(own, Data) or own.node.is_key:
            continue
        if _are_factors(lost.node, own.node):
            continue
        shapes = (lost.node.shape, own.node.shape)
        if lost.node.operation == own.node.operation and (None in shapes or shapes[0] == shapes[1]):
            yield name


def _are_factors(one: Node, other: Node) -> bool:
    """Whether they are what a matrix is decomposed into, of which each is something else."""
    made = one.inputs[0] if one.operation == "item" and one.inputs else None
    return made is not None and ".linalg." in made.operation and made in other.inputs


# Of these nobody knows whether they are alike.
_GIVEN = frozenset(("parameter", "argument", "static", "counter"))


_ByName = dict[str, list[ast.expr]]


@remembered
def _joins(function: FunctionSyntax) -> _ByName:
    """`jnp.concatenate([a, a])`, by the name."""
    found: _ByName = {}
    for call in _calls(function):
        given = call.args[0] if call.args else None
        parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else []
        if isinstance(call.func, ast.Attribute) and call.func.attr in MERGES:
            for name, times in Counter(it.id for it in parts if isinstance(it, ast.Name)).items():
                if times > 1:
                    found.setdefault(name, []).append(call)
    return found


@remembered
def _handed_twice(function: NamedFunction) -> dict[str, list[ast.Call]]:
    """`Film(1.0 + a, a)`, by the name."""
    found: dict[str, list[ast.Call]] = {}
    for call in _calls(function):
        given = [*call.args, *(it.value for it in call.keywords)]
        plain = {it.id for it in given if isinstance(it, ast.Name)}
        times = Counter(name for it in given if plain for name in _names_in(it))
        for name in plain:
            if times[name] > 1:
                found.setdefault(name, []).append(call)
    return found


@remembered
def _sums(function: NamedFunction) -> _ByName:
    """`x * a + a`, by the name."""
    found: _ByName = {}
    for it in each(function, ast.BinOp):
        if isinstance(it.op, ast.Add):
            for one, other in ((it.left, it.right), (it.right, it.left)):
                if not isinstance(one, ast.Name) or not isinstance(other, ast.BinOp):
                    continue
                if one.id in _names_in(other):
                    found.setdefault(one.id, []).append(it)
    return found


@remembered
def _mixtures(function: FunctionSyntax) -> _ByName:
    """`(1 - r) * a + r * a`, by the name."""
    found: _ByName = {}
    for it in each(function, ast.BinOp):
        if isinstance(it.op, (ast.Add, ast.Sub)):
            times = Counter[str]()
            for side in (it.left, it.right):
                if isinstance(side, ast.BinOp):
                    names = {_name(side.left)} ^ {_name(side.right)}  # A square is no weight.
                    times.update(names - {""})
            for name in times:
                if times[name] > 1:
                    found.setdefault(name, []).append(it)
    return found


def _is_whole(mixture: ast.expr) -> bool:
    """Whether the weights of two products add up to one, so that nothing is mixed."""
    sides = [mixture.left, mixture.right] if isinstance(mixture, ast.BinOp) else []
    factors = [
        ast.unparse(factor)
        for side in sides
        if isinstance(side, ast.BinOp)
        for factor in (side.left, side.right)
    ]
    return any(f"{one} - {it}" in factors for one in ("1", "1.0") for it in factors)


@remembered
def _same_calls(function: NamedFunction) -> dict[str, list[ast.Call]]:
    """The second of `encode(p, a)` and `encode(q, a)`, and those after it, by the name."""
    found: dict[str, list[ast.Call]] = {}
    seen: set[tuple[str, str, int]] = set()
    for call in sorted(_calls(function), key=lambda it: (it.lineno, it.col_offset)):
        if not isinstance(call.func, ast.Name):
            continue
        times = Counter(map(_name, call.args))
        for number, name in enumerate(map(_name, call.args)):
            known = (name, call.func.id, number)
            if not name or times[name] > 1:
                continue
            if known in seen:
                found.setdefault(name, []).append(call)
            seen.add(known)
    return found


def _calls(function: FunctionSyntax) -> list[ast.Call]:
    return each(function, ast.Call)


def _is_own(facts: SourceFacts, frame: Frame, called: ast.expr) -> bool:
    found = facts.machine.lookup(frame, called.id) if isinstance(called, ast.Name) else None
    return isinstance(found, (Function, Class))


def _name(syntax: ast.expr) -> str:
    return syntax.id if isinstance(syntax, ast.Name) else ""


def _names_in(syntax: ast.expr) -> set[str]:
    return {it.id for it in each(syntax, ast.Name)}
