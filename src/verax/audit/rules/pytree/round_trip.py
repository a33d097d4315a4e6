"""A registered class that does not survive being taken apart and put together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.parameters import FunctionSyntax
from ...source.queries.structures.round_trips import trips, unnamed_fields
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check(facts: Facts) -> Iterator[Finding]:
    """What the observer saw when it put instances together again."""
    for seen in facts.traced.observations:
        if seen.kind == "round trip":
            name = seen.data.cls.__name__
            place = seen.place or seen.data.class_place
            if place is None:
                continue
            defined = seen.data.class_place
            yield RULE.finding(
                place,
                current=f"`{name}` is registered as a pytree, but {seen.data.problem}",
                expected="taken apart and put together, an instance is what it was",
                fix="Let `tree_flatten` and `tree_unflatten` name the same fields in the same "
                "order, arrays as children and everything else as static data.",
                evidence=(Evidence(f"`{name}` is defined here", defined),) if defined else (),
            )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Classes whose own functions, one after the other, give another object."""
    for cls, call, field in unnamed_fields(facts):
        yield RULE.finding(
            cls.frame.place(call),
            current=f"`{cls.name}` is registered without its field `{field}`, which is neither in "
            "`data_fields` nor in `meta_fields`",
            expected="every field is a child or static data",
            fix=f"Add `{field}` to `data_fields` if it holds arrays, or else to `meta_fields`.",
            evidence=(Evidence(f"`{cls.name}` is defined here", cls.frame.place(cls.syntax)),),
            engine=Engine.SOURCE,
        )
    for trip in trips(facts):
        name = trip.cls.name
        yield RULE.finding(
            trip.function.frame.place(_first_line(trip.function.syntax)),
            current=f"`{name}` is registered as a pytree, but {trip.problem}",
            expected="taken apart and put together, an instance is what it was",
            fix="Let `tree_flatten` and `tree_unflatten` name the same fields in the same order, "
            "arrays as children and everything else as static data.",
            evidence=(
                Evidence(f"`{name}` is defined here", trip.cls.frame.place(trip.cls.syntax)),
            ),
            engine=Engine.SOURCE,
        )


def _first_line(function: FunctionSyntax) -> ast.AST:
    """The first statement of a function that says something."""
    if isinstance(function, ast.Lambda):
        return function
    body = function.body
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    rest = body[1:] if is_text and len(body) > 1 else body
    return rest[0]


RULE = Rule(
    code="PT101",
    name="round-trip",
    title="Registered class does not come back as it was",
    family="pytree",
    severity=Severity.CRITICAL,
    exact="an instance is taken apart, put together and compared",
    explanation="""\
Every transformation takes its arguments apart and puts them together again. A class whose
`tree_unflatten` reads its children in another order than `tree_flatten` wrote them, or forgets a
field, changes silently at every `jit`, `scan` and `tree.map`.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        high, low = children
        return cls(low, high)

@jax.jit
def width(box):
    return box.high - box.low

def entry(low, high):
    return width(Box(low, high))

def inputs():
    return jnp.zeros(3), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        low, high = children
        return cls(low, high)

@jax.jit
def width(box):
    return box.high - box.low

def entry(low, high):
    return width(Box(low, high))

def inputs():
    return jnp.zeros(3), jnp.ones(3)
""",
    trace=check,
    source=check_source,
)
