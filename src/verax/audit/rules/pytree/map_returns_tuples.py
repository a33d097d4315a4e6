"""A `tree.map` of a function with several results, unpacked as if it returned several trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.classes import innermost_function
from ...source.events import Fact
from ...source.queries.nodes import users_of
from ...source.queries.structures.taken_apart import is_handed_on_whole
from ...source.queries.structures.tuples_as_leaves import (
    stopped_above_leaves,
    tuples_taken_for_leaves,
)
from ...source.remember import walked
from ...source.text import text_of
from ...source.values import Data, Instance, Mapping, Sequence, Value, nodes_of
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame

# How far up the result of a map is followed that a function returns.
_CALLERS = 4


def check(facts: Facts) -> Iterator[Finding]:
    """Maps whose function returned tuples, unpacked; and those that stop above such tuples."""
    yield from _stopped_above(facts)
    for seen in facts.traced.observations:
        if seen.kind != "mapped to tuples" or seen.place is None:
            continue
        statement = facts.sources.statement(seen.place)
        is_dict = seen.data.root == "dict"
        names = _names_in(statement.text, is_dict) if statement is not None else None
        if names is None or len(names) != seen.data.length:
            continue
        text = statement.text if statement else ""
        yield RULE.finding(
            seen.place,
            current=f"`{text}` maps a function that returns {seen.data.length} values, and takes "
            f"the result apart at the top of the tree (a {seen.data.root} of "
            f"{seen.data.children}), where its own children are",
            expected="the function's results are at the leaves: a tree of tuples, not a tuple of "
            "trees",
            fix="Make a tuple of trees of it with `jax.tree.transpose`, or map once for each "
            "result.",
        )


def _stopped_above(facts: Facts) -> Iterator[Finding]:
    for seen in facts.traced.observations:
        if seen.kind != "stopped above" or seen.place is None:
            continue
        made, around = seen.data.made, seen.data.around
        yield RULE.finding(
            seen.place,
            current=f"`is_leaf` holds for the {made} that a map has put at each leaf, and for a "
            f"{around} of the tree above: that is taken for one of them",
            expected="the tree is taken apart down to what the mapped function returned",
            fix="Let the function return a class that the tree has nowhere else, and ask for that "
            "in `is_leaf`; or make a tuple of trees of it with `jax.tree.transpose`.",
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Maps of a function that returns tuples, unpacked under the names of trees."""
    yield from _taken_at_leaves(facts)
    yield from _taken_above_leaves(facts)
    arrays = _mapped_arrays(facts)
    for fact in facts.events(Fact):
        if fact.kind != "tree map" or not isinstance(fact.syntax, ast.Call):
            continue
        tree, results = fact.data["trees"][0], fact.data["results"]
        is_leaf = isinstance(tree, Data) and (fact.syntax in arrays or _is_array(facts, fact, tree))
        is_tuples = bool(results) and all(
            isinstance(it, Sequence) and it.kind == "tuple" and it.type is None for it in results
        )
        if is_leaf or not is_tuples:
            continue
        for frame, statement in _unpackings(fact):
            names = _names_of_whole_trees(fact, frame, statement)
            if names is None or any(it.length != len(names) for it in results):
                continue
            yield RULE.finding(
                frame.place(statement),
                current=f"`{text_of(statement)}` takes a tree apart at its top, where its own "
                f"children are; the function that was mapped returns {len(names)} values, at the "
                "leaves",
                expected="the function's results are at the leaves: a tree of tuples, not a tuple "
                "of trees",
                fix="Make a tuple of trees of it with `jax.tree.transpose`, or map once for each "
                "result.",
                evidence=(Evidence("the function is mapped here", fact.place),),
                engine=Engine.SOURCE,
            )
            break


def _mapped_arrays(facts: SourceFacts) -> set[ast.AST]:
    """The calls of maps that are given an array in some run of their function."""
    return {
        fact.syntax
        for fact in facts.events(Fact)
        if fact.kind == "tree map"
        and isinstance(tree := fact.data["trees"][0], Data)
        and tree.is_array
    }


def _is_array(facts: SourceFacts, fact: Fact, tree: Data) -> bool:
    """Whether the function around a map computes with what is mapped, or with what is made of it.

    No operator takes a tree, nor a tuple of a tree's children.
    """
    users = users_of(facts)
    made = [tree.node, *(it for result in fact.data["results"] for it in nodes_of(result))]
    return any(
        user.frame is fact.frame and isinstance(user.syntax, _OPERATORS)
        for node in made
        for user in users.get(node, ())
    )


_OPERATORS = (ast.BinOp, ast.UnaryOp)


def _names_of_whole_trees(fact: Fact, frame: Frame, statement: ast.Assign) -> list[str] | None:
    """The names that the result of a map is unpacked to, if they are meant for trees."""
    target, tree = statement.targets[0], fact.data["trees"][0]
    assert isinstance(fact.syntax, ast.Call)
    names = (
        _names_of_trees(target, fact.syntax)
        or _names_of_results(target, fact.data["function"])
        or _names_of_no_field(target, fact.data["result"])
    )
    if names is None and _has_no_children_to_unpack(tree):
        names = _names_unpacked(target)
    if names is None and isinstance(tree, Data) and not _is_unpacked(fact.frame, tree):
        names = _names_used_whole(frame, statement)
    return names


def _has_no_children_to_unpack(tree: Value) -> bool:
    """Whether what is unpacked are no children of a tree: a dict gives its keys, a module none."""
    return isinstance(tree, (Mapping, Instance))


def _is_unpacked(frame: Frame, tree: Data) -> bool:
    """Whether a function unpacks a tree itself, so that its children have names there."""
    return any(
        isinstance(value, Data) and value.node is tree.node and _names_unpacked(it.targets[0])
        for it, value in frame.steps
        if isinstance(it, ast.Assign)
    )


def _names_used_whole(frame: Frame, statement: ast.Assign) -> list[str] | None:
    """The names that a map is unpacked to, if what they stand for is handed on as a whole.

    Of a tree with as many children, each would be one of the tuples that were mapped to.
    """
    names = _names_unpacked(statement.targets[0])
    return names if names is not None and is_handed_on_whole(frame, names) else None


def _unpackings(fact: Fact) -> Iterator[tuple[Frame, ast.Assign]]:
    """The statements that take the result of a map apart, here or where it is returned to."""
    for frame, _ in zip(fact.frame.callers(), range(_CALLERS), strict=False):
        for statement, value in frame.steps:
            if isinstance(statement, ast.Assign) and _is_all_of(fact, value):
                yield frame, statement


def _is_all_of(fact: Fact, value: Value) -> bool:
    """Whether a value is what a map gives, or the tuple of its children: `pairs[0], pairs[1]`."""
    tree: Value = fact.data["result"]
    if any(tree is it for it in fact.data["results"]):
        return value is tree  # Of a tree that is not known, it stands for each tuple in it.
    if value is tree or not isinstance(tree, Sequence) or not isinstance(value, Sequence):
        return value is tree
    children, items = tree.items or [], value.items or []
    is_same = len(children) == len(items) > 1
    return is_same and all(a is b for a, b in zip(children, items, strict=True))


def _taken_at_leaves(facts: SourceFacts) -> Iterator[Finding]:
    """Maps that take items of each tuple, over tuples that are trees of their own."""
    for it in tuples_taken_for_leaves(facts):
        items = "item" if len(it.items) == 1 else "items"
        yield RULE.finding(
            it.fact.place,
            current=f"`{it.fact.text}` takes {items} {' and '.join(map(str, it.items))} of each "
            "leaf; the tuples in this tree are no leaves, so it is an item of each array in them",
            expected="what is taken apart tuple by tuple has tuples for leaves",
            fix="Say what a leaf is, `is_leaf=lambda it: isinstance(it, tuple)`, or make a tuple "
            "of trees of it with `jax.tree.transpose`.",
            evidence=(Evidence("the tuples are made here", it.made_by.place),)
            if it.made_by is not None
            else (),
            engine=Engine.SOURCE,
        )


def _taken_above_leaves(facts: SourceFacts) -> Iterator[Finding]:
    """Maps that take items of what `is_leaf` says is a leaf, and of what holds these."""
    for it in stopped_above_leaves(facts):
        yield RULE.finding(
            it.fact.place,
            current=f"`{it.fact.text}` takes item {it.item} of each leaf; its `is_leaf` is also "
            "true of a part of the tree above, which holds what was made for each leaf",
            expected="what is taken apart is what the other map has made, and nothing above it",
            fix="Give what the function returns a class of its own, and let `is_leaf` ask for it; "
            "or make a tuple of trees of it with `jax.tree.transpose`.",
            evidence=(Evidence("the leaves are made here", it.made_by.place),),
            engine=Engine.SOURCE,
        )


def _names_in(text: str, is_dict: bool) -> list[str] | None:
    """The names of trees that a statement unpacks a map to; of a dict it gets no more than keys."""
    try:
        node = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        return None
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    target = node.targets[0]
    return _names_unpacked(target) if is_dict else _names_of_trees(target, node.value)


def _names_unpacked(target: ast.expr) -> list[str] | None:
    """The names on the left of `a, b = …`."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    names = [it.id for it in target.elts if isinstance(it, ast.Name)]
    return names if len(names) == len(target.elts) else None


def _names_of_trees(target: ast.expr, call: ast.Call) -> list[str] | None:
    """The names that a map is unpacked to, if they speak of whole trees.

    They do where one of them, perhaps with a word before it, is the name of a tree that is mapped
    over: `params, momentum = jax.tree.map(f, params, momentum)`.
    """
    names = _names_unpacked(target)
    if names is None:
        return None
    trees = [text_of(it).rpartition(".")[2] for it in call.args[1:]]
    speaks = any(name.endswith(tree) or tree.endswith(name) for name in names for tree in trees)
    in_order = len(trees) >= len(names) and all(map(_stands_for, names, trees))
    return names if speaks or in_order else None


def _names_of_results(target: ast.expr, function: Value) -> list[str] | None:
    """The names that a map is unpacked to, if one is what the mapped function calls a result.

    `samples, costs = jax.tree.map(draw, tree)`, of a function that returns `sample, cost`.
    """
    inner = innermost_function(function)
    returns = [it for it in walked(inner.syntax) if isinstance(it, ast.Return)] if inner else []
    given = returns[-1].value if returns else None
    names = _names_unpacked(target)
    if names is None or not isinstance(given, ast.Tuple):
        return None
    results = [it.id if isinstance(it, ast.Name) else "" for it in given.elts]
    if len(names) != len(results):
        return None
    same = [
        own != "" and name.removesuffix("s") == own.removesuffix("s")
        for name, own in zip(names, results, strict=True)
    ]
    return names if any(same) else None


def _names_of_no_field(target: ast.expr, tree: Value) -> list[str] | None:
    """The names that a map is unpacked to, if the tree has other names for its own children."""
    fields = list(tree.type.fields) if isinstance(tree, Sequence) and tree.type is not None else []
    if not fields or not isinstance(target, (ast.Tuple, ast.List)):
        return None
    names = [it.id for it in target.elts if isinstance(it, ast.Name) and len(it.id) > 1]
    is_one = any(_stands_for(name, field) for name in names for field in fields)
    return names if len(names) == len(target.elts) and not is_one else None


def _stands_for(name: str, tree: str) -> bool:
    """Whether a name is short for a tree's: `p_new` or `new_p` for `params`."""
    words = [it for it in name.split("_") if it not in ("new", "next", "updated", "")]
    return any(tree.startswith(it) or it.startswith(tree) for it in words)


RULE = Rule(
    code="PT103",
    name="map-returns-tuples",
    title="Tree of tuples unpacked as a tuple of trees",
    family="pytree",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`jax.tree.map` puts what its function returns at the leaves. If that is a pair, the result is a
tree of pairs. Unpacking it gives the children of the tree instead, and nothing complains if there
are as many of them. Mapping over such a tree goes on into the pairs, whose arrays are then taken
for pairs (`lambda pair: pair[0] - pair[1]`) where nobody says by `is_leaf` that they are leaves. An
`is_leaf` that asks for any tuple stops at those of the tree itself, which hold the pairs.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(params, velocity):
    step = lambda p, v: (p - 0.1 * v, 0.9 * v)
    params, velocity = jax.tree.map(step, params, velocity)
    return params, velocity

def inputs():
    return (jnp.ones(2), jnp.ones(2)), (jnp.zeros(2), jnp.zeros(2))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(params, velocity):
    new = jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity)
    velocity = jax.tree.map(lambda v: 0.9 * v, velocity)
    return new, velocity

def inputs():
    return (jnp.ones(2), jnp.ones(2)), (jnp.zeros(2), jnp.zeros(2))
""",
    trace=check,
    source=check_source,
)
