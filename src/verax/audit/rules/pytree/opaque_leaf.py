"""An object with arrays inside that JAX takes for a leaf."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Confidence, Evidence, Finding, Place, Severity
from ...trace.facts import Facts
from .._rule import Rule


def check(facts: Facts) -> Iterator[Finding]:
    """Leaves that hold arrays, in trees that the user's code takes apart."""
    told: set[tuple[Place, type]] = set()
    for seen in facts.traced.observations:
        if seen.kind != "opaque leaf" or seen.place is None:
            continue
        leaf = seen.data
        if (seen.place, leaf.cls) in told:
            continue
        told.add((seen.place, leaf.cls))
        what = "dataclass" if leaf.is_dataclass else "class"
        fields = ", ".join(f"`{name}`" for name in leaf.fields)
        register = (
            "`@jax.tree_util.register_dataclass`"
            if leaf.is_dataclass
            else "`@jax.tree_util.register_pytree_node_class`"
        )
        defined = leaf.class_place
        yield RULE.finding(
            seen.place,
            current=f"`{leaf.function}` takes the {leaf.cls.__name__} at {leaf.path} for one leaf, "
            f"and does not see its arrays {fields}: the {what} is not registered",
            expected="every array of the tree is a leaf",
            fix=f"Register {leaf.cls.__name__} with {register}, or make it a NamedTuple.",
            evidence=(Evidence(f"`{leaf.cls.__name__}` is defined here", defined),)
            if defined
            else (),
        )


RULE = Rule(
    code="PT104",
    name="opaque-leaf",
    title="Arrays hidden in a leaf",
    family="pytree",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
NamedTuples are pytrees, dataclasses are not until they are registered. Functions on trees take an
instance for a single leaf, so that its arrays are skipped by a penalty, a norm or a count.
""",
    wrong="""\
import dataclasses

import jax
import jax.numpy as jnp

@dataclasses.dataclass
class Layer:
    w: jax.Array

def entry(w, head):
    model = {"layer": Layer(w), "head": head}
    return sum(jnp.sum(x**2) for x in jax.tree.leaves(model) if isinstance(x, jax.Array))

def inputs():
    return jnp.ones((3, 2)), jnp.ones(2)
""",
    right="""\
import dataclasses

import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: jax.Array

def entry(w, head):
    model = {"layer": Layer(w), "head": head}
    return sum(jnp.sum(x**2) for x in jax.tree.leaves(model) if isinstance(x, jax.Array))

def inputs():
    return jnp.ones((3, 2)), jnp.ones(2)
""",
    trace=check,
)
