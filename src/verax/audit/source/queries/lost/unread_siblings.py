"""One of several values is used where two are asked for, and one that came with it is unread.

A name that nothing reads is no mistake by itself, where it came along with others: `carry, _ = …`
is written with a name as well. It is one if what came with it takes its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...graph import Node
from ...parameters import FunctionSyntax, NamedFunction, positional
from ...remember import each, remembered, walked
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
                for it in (*_joins(function, name), *_mixtures(function, name)):
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
    for lost in unread:
        for name in _alike(lost, every, frame.environment):
            yield from ((it, name, lost) for it in _joins(function, name))
        for group in groups:
            for name in _alike(lost, group, frame.environment):
                for it in (*_handed_twice(facts, frame, function, name), *_sums(function, name)):
                    yield it, name, lost
        for name in names if lost in names else ():
            yield from ((it, name, lost) for it in _mixtures(function, name) if _is_whole(it))
        for name in _alike(lost, names, frame.given) if frame.is_staged else ():
            yield from ((it, name, lost) for it in _same_calls(facts, frame, function, name))


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


def _alike(unread: str, names: list[str], values: Mapping[str, Value]) -> Iterator[str]:
    """Names beside one that nothing reads, whose values are made like its own."""
    lost = values.get(unread) if unread in names else None
    if not isinstance(lost, Data) or lost.node.is_key or lost.node.operation in _GIVEN:
        return
    for name in dict.fromkeys(names):
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


def _joins(function: FunctionSyntax, name: str) -> Iterator[ast.expr]:
    """`jnp.concatenate([a, a])`."""
    for call in _calls(function):
        given = call.args[0] if call.args else None
        parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else []
        is_merge = isinstance(call.func, ast.Attribute) and call.func.attr in MERGES
        if is_merge and sum(_is(it, name) for it in parts) > 1:
            yield call


def _handed_twice(
    facts: SourceFacts, frame: Frame, function: NamedFunction, name: str
) -> Iterator[ast.expr]:
    """`Film(1.0 + a, a)`, of what the project defines."""
    for call in _calls(function):
        given = [*call.args, *(it.value for it in call.keywords)]
        is_twice = sum(_holds(it, name) for it in given) > 1 and any(_is(it, name) for it in given)
        if is_twice and _is_own(facts, frame, call.func):
            yield call


def _sums(function: NamedFunction, name: str) -> Iterator[ast.expr]:
    """`x * a + a`."""
    for it in walked(function):
        if isinstance(it, ast.BinOp) and isinstance(it.op, ast.Add):
            for one, other in ((it.left, it.right), (it.right, it.left)):
                if _is(one, name) and isinstance(other, ast.BinOp) and _holds(other, name):
                    yield it


def _mixtures(function: FunctionSyntax, name: str) -> Iterator[ast.expr]:
    """`(1 - r) * a + r * a`."""
    for it in walked(function):
        if isinstance(it, ast.BinOp) and isinstance(it.op, (ast.Add, ast.Sub)):
            sides = [side for side in (it.left, it.right) if isinstance(side, ast.BinOp)]
            # A square is no weight.
            if sum(_is(one.left, name) is not _is(one.right, name) for one in sides) > 1:
                yield it


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


def _same_calls(
    facts: SourceFacts, frame: Frame, function: NamedFunction, name: str
) -> Iterator[ast.expr]:
    """The second of `encode(p, a)` and `encode(q, a)`."""
    seen: set[tuple[str, int]] = set()
    for call in sorted(_calls(function), key=lambda it: (it.lineno, it.col_offset)):
        at = [number for number, it in enumerate(call.args) if _is(it, name)]
        if len(at) != 1 or not isinstance(call.func, ast.Name):
            continue
        known = (call.func.id, at[0])
        if known in seen and _is_own(facts, frame, call.func):
            yield call
        seen.add(known)


def _calls(function: FunctionSyntax) -> list[ast.Call]:
    return each(function, ast.Call)


def _is_own(facts: SourceFacts, frame: Frame, called: ast.expr) -> bool:
    found = facts.machine.lookup(frame, called.id) if isinstance(called, ast.Name) else None
    return isinstance(found, (Function, Class))


def _is(syntax: ast.expr, name: str) -> bool:
    return isinstance(syntax, ast.Name) and syntax.id == name


def _holds(syntax: ast.expr, name: str) -> bool:
    return any(isinstance(it, ast.Name) and it.id == name for it in walked(syntax))
