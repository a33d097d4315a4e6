"""An attribute of an object that cannot be changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Mutation
from ...source.queries.structures.freezing import frozen_class, is_still_made, is_unlocked
from ...source.queries.syntax import is_guarded
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Attributes that are set on objects of frozen classes, not while these are made."""
    for change in facts.events(Mutation):
        if change.how != "attribute" or change.target is None:
            continue
        cls, replace = frozen_class(change.target, getattr(change.syntax, "attr", ""))
        if cls is None or is_still_made(change, cls) or is_unlocked(change):
            continue
        if is_guarded(change.frame, change.syntax):
            continue
        yield RULE.finding(
            change.place,
            current=f"`{change.text}` is set, but objects of `{cls.name}` are frozen",
            expected="an object that crosses transformations is replaced, not changed",
            fix=f"Make a new one with {replace}.",
            evidence=(Evidence(f"`{cls.name}` is defined here", cls.frame.place(cls.syntax)),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="PT204",
    name="frozen-assigned",
    title="Attribute of a frozen object is set",
    family="pytree",
    severity=Severity.ERROR,
    preview=True,
    explanation="""\
Dataclasses of flax, equinox modules, named tuples and `dataclass(frozen=True)` refuse to be changed
after they were made: setting an attribute raises. New values go into a new object, which the
function returns.
""",
    wrong="""\
import dataclasses

import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    x: jax.Array
    count: jax.Array

@jax.jit
def step(state: State):
    state.x = 0.9 * state.x
    return state

def entry(x):
    return step(State(x, jnp.int32(0)))

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import dataclasses

import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    x: jax.Array
    count: jax.Array

@jax.jit
def step(state: State):
    return dataclasses.replace(state, x=0.9 * state.x)

def entry(x):
    return step(State(x, jnp.int32(0)))

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
