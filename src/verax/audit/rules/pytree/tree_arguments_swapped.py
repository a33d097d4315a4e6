"""A function over trees whose arguments are in the wrong order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Finding, Severity
from ...source.edits import swapped
from ...source.events import Fact
from ...source.values import Data, Function, Mapping, Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value

_STRUCTURES = frozenset(("treedef", "jax.tree.structure"))


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Leaves where a structure belongs, and trees where a function belongs."""
    for fact in facts.events(Fact):
        if fact.kind == "unflatten" and _leaves_first(fact.data["args"]):
            yield RULE.finding(
                fact.place,
                current=f"`{fact.text}` gets the leaves first and the structure second",
                expected="`jax.tree.unflatten(treedef, leaves)`",
                fix="swap the two arguments",
                engine=Engine.SOURCE,
                edit=_first_two_swapped(fact),
            )
        elif fact.kind == "tree map" and _tree_first(fact.data["function"], fact.data["trees"]):
            yield RULE.finding(
                fact.place,
                current=f"`{fact.text}` gets a tree first and the function second",
                expected="`jax.tree.map(function, tree, *more)`",
                fix="pass the function first",
                engine=Engine.SOURCE,
                edit=_first_two_swapped(fact),
            )


def _first_two_swapped(fact: Fact) -> Edit | None:
    call = fact.syntax
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return None
    return swapped(fact.frame, call.args[0], call.args[1])


def _leaves_first(args: list[Value]) -> bool:
    if len(args) != 2:
        return False
    first, second = args
    is_structure = isinstance(second, Data) and second.node.operation in _STRUCTURES
    return is_structure and isinstance(first, Sequence)


def _tree_first(function: Value, trees: list[Value]) -> bool:
    is_tree = isinstance(function, (Sequence, Mapping)) or (
        isinstance(function, Data) and function.is_array
    )
    return is_tree and isinstance(trees[0], Function)


RULE = Rule(
    code="PT205",
    name="tree-arguments-swapped",
    title="Tree function with its arguments in the wrong order",
    family="pytree",
    severity=Severity.ERROR,
    explanation="""\
`jax.tree.unflatten` takes the structure first and the leaves second, which is the other way round
than `jax.tree.flatten` returns them; `jax.tree.map` takes the function first.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(params):
    leaves, treedef = jax.tree.flatten(params)
    return jax.tree.unflatten([0.5 * leaf for leaf in leaves], treedef)

def inputs():
    return ({"w": jnp.ones(3), "b": jnp.ones(1)},)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(params):
    leaves, treedef = jax.tree.flatten(params)
    return jax.tree.unflatten(treedef, [0.5 * leaf for leaf in leaves])

def inputs():
    return ({"w": jnp.ones(3), "b": jnp.ones(1)},)
""",
    source=check_source,
)
