"""Maps over trees of tuples by functions that take each leaf for such a tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...classes import innermost_function
from ...events import Fact
from ...remember import walked
from ...values import Data, Instance, Mapping, Sequence, Value

if TYPE_CHECKING:
    from ...facts import SourceFacts

_DEPTH = 8


@dataclass(frozen=True, eq=False)
class TakenForLeaves:
    """A map that takes items of each leaf, and the map that has made the tuples, if one has."""

    fact: Fact
    items: list[int]
    made_by: Fact | None


def tuples_taken_for_leaves(facts: SourceFacts) -> Iterator[TakenForLeaves]:
    """Maps without `is_leaf` over tuples of arrays, by functions that take items of a tuple.

    One item is enough where another map has made the tuples; of other tuples it has to be all.
    """
    maps = [it for it in facts.events(Fact) if it.kind == "tree map"]
    made = {id(tree): fact for fact in maps for tree in fact.data["results"]}
    for fact in maps:
        call, tree = fact.syntax, fact.data["trees"][0]
        if not isinstance(call, ast.Call) or any(it.arg == "is_leaf" for it in call.keywords):
            continue
        items = _items_taken(fact.data["function"])
        tuples = _tuples_in(tree) if items else None
        if not items or not tuples:
            continue
        makers = [made.get(id(it)) for it in tuples]
        are_made = None not in makers and (tuples[0] is not tree or _is_of_any(makers[0]))
        are_all = tuples[0] is not tree and all(items == list(range(it.length)) for it in tuples)
        if are_made or are_all:
            yield TakenForLeaves(fact, items, makers[0])


@dataclass(frozen=True, eq=False)
class StoppedAbove:
    """A map that stops at what holds the leaves that another map has made."""

    fact: Fact
    item: int
    made_by: Fact


def stopped_above_leaves(facts: SourceFacts) -> Iterator[StoppedAbove]:
    """Maps whose `is_leaf` is also true of a part of the tree that holds what they are to take."""
    maps = [it for it in facts.events(Fact) if it.kind == "tree map"]
    # What one map has made another may hand on.
    made = {id(tree): fact for fact in reversed(maps) for tree in fact.data["results"]}
    for fact in maps:
        above = [it for it in fact.data["called leaves"] if id(it) not in made]
        makers = [made[id(part)] for it in above for part in _parts(it) if id(part) in made]
        items = _items_taken(fact.data["function"]) if makers else []
        if items and makers[0] is not fact:
            yield StoppedAbove(fact, items[0], makers[0])


def _parts(value: Value, depth: int = 0) -> Iterator[Value]:
    """What a container holds, at any depth."""
    held: Iterable[Value] = ()
    if isinstance(value, Sequence):
        held = value.items or ()
    elif isinstance(value, Mapping):
        held = value.items.values()
    elif isinstance(value, Instance):
        held = value.attributes.values()
    for it in held if depth < _DEPTH else ():
        yield it
        yield from _parts(it, depth + 1)


def _is_of_any(fact: Fact | None) -> bool:
    """Whether a map goes over a tree of which nothing is known, and one result stands for all."""
    first = fact.data["trees"][0] if fact is not None else None
    return isinstance(first, Data) and not first.is_array


def _items_taken(function: Value) -> list[int]:
    """The items that a function takes of its first parameter, if it does nothing else with it."""
    inner = innermost_function(function)
    parameters = inner.syntax.args.args if inner is not None else []
    if inner is None or len(parameters) != 1:
        return []
    nodes = [it for it in walked(inner.syntax) if not isinstance(it, ast.arguments)]
    reads = [it for it in nodes if isinstance(it, ast.Name) and it.id == parameters[0].arg]
    indices = [
        it.slice.value
        for it in nodes
        if isinstance(it, ast.Subscript)
        and any(it.value is read for read in reads)
        and isinstance(it.slice, ast.Constant)
    ]
    numbers = sorted({it for it in indices if type(it) is int and it >= 0})
    is_item = isinstance(inner.syntax, ast.Lambda) and isinstance(inner.syntax.body, ast.Subscript)
    is_only = len(indices) == len(reads) and len(numbers) == len(set(indices))
    return numbers if is_only and (len(numbers) > 1 or is_item) else []


def _tuples_in(tree: Value, depth: int = 0) -> list[Sequence] | None:
    """The tuples of arrays that a tree is of; `None` if it has other leaves, or may have."""
    if depth > _DEPTH:
        return None
    if isinstance(tree, Sequence) and tree.kind == "tuple" and tree.type is None:
        arrays = tree.items or []
        return [tree] if len(arrays) > 1 and all(_is_no_tuple(it, tree) for it in arrays) else None
    if isinstance(tree, Mapping) and not tree.is_open:
        parts = list(tree.items.values())
    elif isinstance(tree, Sequence) and tree.items is not None:
        parts = tree.items
    elif isinstance(tree, Instance):
        parts = list(tree.attributes.values())
    else:
        return None
    found = [_tuples_in(it, depth + 1) for it in parts]
    return [it for some in found for it in some or ()] if None not in found else None


def _is_no_tuple(value: Value, around: Sequence) -> bool:
    """Whether something is an array, and not one of as many rows as the tuple has items."""
    shape = value.node.shape if isinstance(value, Data) else None
    return isinstance(value, Data) and not (
        isinstance(shape, tuple) and shape[:1] == (around.length,)
    )
