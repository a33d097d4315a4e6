"""A tree of shapes that is gone through as if each shape were a leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.edits import with_argument
from ...source.queries.structures.shape_trees import shapes_taken_apart
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Functions over the leaves of a tree of shapes whose leaves are taken for shapes."""
    for fact, call in shapes_taken_apart(facts):
        yield RULE.finding(
            fact.place,
            current=f"`{fact.text}` goes through the sizes in each shape, as a tuple is no leaf; "
            f"`{call.text}` takes one of them for a shape",
            expected="each shape is a leaf",
            fix="Say what a leaf is: `is_leaf=lambda it: isinstance(it, tuple)`.",
            evidence=(Evidence("a size is taken for a shape here", call.place),),
            engine=Engine.SOURCE,
            edit=with_argument(
                fact.frame, fact.syntax, "is_leaf", "lambda it: isinstance(it, tuple)"
            ),
        )


RULE = Rule(
    code="PT207",
    name="shapes-taken-apart",
    title="Shapes in a tree are no leaves",
    family="pytree",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    explanation="""\
A shape is a tuple, and tuples are nodes of a tree. `jax.tree.map(jnp.zeros, shapes)` makes a vector
for each size in each shape, and a tuple of these in the place of an array, unless `is_leaf` says
that a tuple is a leaf.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(x):
    shapes = {"w": (3, 2), "b": (2,)}
    params = jax.tree.map(jnp.zeros, shapes)
    return x @ params["w"] + params["b"]

def inputs():
    return (jnp.ones((4, 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(x):
    shapes = {"w": (3, 2), "b": (2,)}
    params = jax.tree.map(jnp.zeros, shapes, is_leaf=lambda it: isinstance(it, tuple))
    return x @ params["w"] + params["b"]

def inputs():
    return (jnp.ones((4, 3)),)
""",
    source=check_source,
)
