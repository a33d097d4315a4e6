"""A list of trees that is mapped over as one tree, by a function that joins arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Fact
from ...source.operations import JOINS, bare
from ...source.remember import walked
from ...source.values import Data, External, Function, Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value

_NAMES = bare(JOINS) | {"concat"}
_STACKS = frozenset(("jax.numpy.stack", "numpy.stack"))


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Maps over one tree whose function wants as many arrays as there are trees."""
    for fact in facts.events(Fact):
        if fact.kind != "tree map" or not _is_of_one_tree(fact):
            continue
        function, tree = fact.data["function"], fact.data["trees"][0]
        if not (_takes_many(function) or _joins_one(function, tree)):
            continue
        yield RULE.finding(
            fact.place,
            current=f"`{fact.text}` goes through one tree, so that the function gets each leaf "
            "alone and joins nothing",
            expected="the trees that are joined are an argument each",
            fix="give `jax.tree.map` each tree as an argument of its own, and a function that "
            "joins the leaves that it gets",
            engine=Engine.SOURCE,
        )


def _is_of_one_tree(fact: Fact) -> bool:
    """Whether a map is given one tree for certain, whose leaves are what JAX takes for one."""
    call = fact.syntax
    return (
        isinstance(call, ast.Call)
        and len(fact.data["trees"]) == 1
        and len(call.args) == 2
        and not any(isinstance(it, ast.Starred) for it in call.args)
        and not call.keywords
    )


def _takes_many(function: Value) -> bool:
    """Whether a function joins all the leaves that it is given: `lambda *xs: jnp.stack(xs)`."""
    vararg = function.syntax.args.vararg if isinstance(function, Function) else None
    if not isinstance(function, Function) or vararg is None or function.syntax.args.args:
        return False
    return any(
        isinstance(it, ast.Call)
        and isinstance(it.func, ast.Attribute)
        and it.func.attr in _NAMES
        and bool(it.args)
        and isinstance(it.args[0], ast.Name)
        and it.args[0].id == vararg.arg
        for it in walked(function.syntax)
    )


def _joins_one(function: Value, tree: Value) -> bool:
    """Whether a function joins the rows of one array.

    A concatenation of these merges two axes of an array, unless it is one of several in a list.
    """
    name = function.name if isinstance(function, External) else ""
    if name in _STACKS:
        return True
    if name not in JOINS or not isinstance(tree, Sequence) or tree.kind != "list":
        return False
    items = tree.items if tree.items is not None else [tree.element]
    return bool(items) and not any(it is None or isinstance(it, Data) for it in items)


RULE = Rule(
    code="PT206",
    name="joined-leaf-by-leaf",
    title="A list of trees mapped over as one tree",
    family="pytree",
    severity=Severity.CRITICAL,
    explanation="""\
`jax.tree.map` takes a list of trees for one tree: its function gets every leaf alone. To stack or
join the leaves of several trees, each of them is an argument of its own: `jax.tree.map(lambda
*leaves: jnp.stack(leaves), *trees)`. Without the stars the result is the list itself, and scalars
raise an error.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(first, second):
    return jax.tree.map(jnp.stack, [first, second])

def inputs():
    return {"w": jnp.ones((3, 2))}, {"w": jnp.zeros((3, 2))}
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(first, second):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), first, second)

def inputs():
    return {"w": jnp.ones((3, 2))}, {"w": jnp.zeros((3, 2))}
""",
    source=check_source,
)
