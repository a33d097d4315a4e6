"""A method of one object, called on those that a map has made side by side."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.loops.stacked_objects import called_as_one
from ...source.text import text_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls of methods that reduce what several objects have to one number."""
    told: set[ast.AST] = set()
    for it in called_as_one(facts):
        caller, call = it.method.caller, it.method.called_at
        if caller is None or call is None or call in told:
            continue
        told.add(call)
        name = it.cls.name
        yield RULE.finding(
            caller.place(call),
            current=f"`{text_of(call)}` is one number for all: the map has made many of `{name}` "
            f"side by side, and `{it.reduction.text}` is over all of them",
            expected=f"a method of one `{name}` is mapped over many, as its making was",
            fix="Call the method inside of a `jax.vmap` over the objects and its arguments.",
            evidence=(
                Evidence("they are made here", it.region.place),
                Evidence("all of them are reduced here", it.reduction.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="VM009",
    name="batch-called-as-one",
    title="A method of one object is called on many",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A map over a constructor gives one object whose arrays have one more axis. Its methods were written
for one: `jnp.sum(z**2)` in `log_prob` is then a sum over the whole batch as well, and every row
gets the same number.

Reported where a method without a map around it is given one row for each of the objects, and
reduces a table that is made of them over all of its axes.""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Normal(NamedTuple):
    loc: jax.Array

    def log_prob(self, x):
        return -0.5 * jnp.sum((x - self.loc) ** 2)

def entry(locs, xs):
    return jax.vmap(Normal)(locs).log_prob(xs)

def inputs():
    return jnp.ones((5, 2)), jnp.zeros((5, 2))
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Normal(NamedTuple):
    loc: jax.Array

    def log_prob(self, x):
        return -0.5 * jnp.sum((x - self.loc) ** 2)

    def distances(self, x):
        return jnp.sum((x - self.loc) ** 2, axis=-1)

def entry(locs, xs):
    many = jax.vmap(Normal)(locs)
    return jax.vmap(lambda it, x: it.log_prob(x))(many, xs), many.distances(xs)

def inputs():
    return jnp.ones((5, 2)), jnp.zeros((5, 2))
""",
    source=check_source,
)
