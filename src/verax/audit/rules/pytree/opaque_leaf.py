"""An object with arrays inside that JAX takes for a leaf."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.classes import innermost_function, is_template
from ...source.events import Applied, Event, Fact
from ...source.library.options import DERIVATIVES
from ...source.queries.structures.registration import holds_arrays, may_be_derived, opaque_objects
from ...source.remember import walked
from ...source.values import Instance, Value
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts

# What is noted of functions that go through the leaves of a tree.
_WALKS = ("leaves", "tree map", "tree reduce", "arrays of")

# Functions that compute with all leaves of their first argument.
_WALKING = (
    "jax.device_put",
    "jax.flatten_util.ravel_pytree",
    "jax.lax.stop_gradient",
    "optax.apply_updates",
    "optax.global_norm",
    "optax.tree.norm",
    "optax.tree_utils.tree_l2_norm",
)


def check(facts: Facts) -> Iterator[Finding]:
    """Leaves that hold arrays, in trees that the user's code takes apart."""
    told: set[tuple[Place, type]] = set()
    for seen in facts.traced.observations:
        if seen.kind != "opaque leaf" or seen.place is None:
            continue
        leaf = seen.data
        at = leaf.class_place if leaf.is_handed_in else seen.place
        if (at, leaf.cls) in told:
            continue
        told.add((at, leaf.cls))
        what = "dataclass" if leaf.is_dataclass else "class"
        fields = ", ".join(f"`{name}`" for name in leaf.fields)
        register = (
            "`jax.tree_util.register_dataclass`"
            if leaf.is_dataclass
            else "`jax.tree_util.register_pytree_node_class`"
        )
        yield RULE.finding(
            at,
            current=f"`{leaf.function}` takes the {leaf.cls.__name__}"
            f"{f' at {leaf.path}' if leaf.path else ''} for one leaf, and does not see "
            f"its arrays {fields}: the {what} is not registered",
            expected="every array of the tree is a leaf",
            fix=f"Register {leaf.cls.__name__} with {register}, or make it a NamedTuple.",
            evidence=(_elsewhere(at, leaf.cls.__name__, leaf.class_place, seen.place),),
        )


def _elsewhere(at: Place, name: str, defined: Place, walked_at: Place) -> Evidence:
    """The other of the two places, the class and where its objects are not looked into."""
    if at == defined:
        return Evidence("the tree is taken apart here", walked_at)
    return Evidence(f"`{name}` is defined here", defined)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Objects with arrays in trees that are taken apart, of classes that are not registered."""
    told: set[tuple[Place, str]] = set()
    for event, trees, function in _walks(facts):
        for path, leaf in [found for tree in trees for found in opaque_objects(tree)]:
            fields = holds_arrays(facts, leaf)
            if not fields or may_be_derived(leaf) or is_template(leaf.cls):
                continue
            if _takes_apart(function, leaf):
                continue
            name = leaf.cls.name
            listed = ", ".join(f"`{field}`" for field in fields)
            defined = leaf.cls.frame.place(leaf.cls.syntax)
            at = defined if _is_handed_in(event, leaf) else event.place
            if (at, name) in told:
                continue
            told.add((at, name))
            yield RULE.finding(
                at,
                current=f"`{event.text}` takes the {name}{f' at {path}' if path else ''} for one "
                f"leaf, and does not see its arrays {listed}: the class is not registered",
                expected="every array of the tree is a leaf",
                fix=f"Register {name} with `jax.tree_util.register_dataclass`, or make it a "
                "NamedTuple.",
                evidence=(_elsewhere(at, name, defined, event.place),),
                engine=Engine.SOURCE,
            )


def _is_handed_in(event: Event, leaf: Instance) -> bool:
    """Whether a function is given the tree that it walks: it would be right for other classes."""
    return any(
        found.cls is leaf.cls
        for given in event.frame.given.values()
        for _, found in opaque_objects(given)
    )


def _walks(facts: SourceFacts) -> Iterator[tuple[Event, list[Value], object]]:
    """What goes through the leaves of trees, the trees, and the function that is mapped if any."""
    for fact in facts.events(Fact):
        if fact.kind in _WALKS and not _has_own_leaves(fact.syntax):
            trees = fact.data["trees"] if fact.kind == "tree map" else [fact.data["tree"]]
            yield fact, trees, fact.data.get("function")
    for call in facts.calls(_WALKING):
        yield call, call.args[:1], None
    for applied in facts.events(Applied):
        # A derivative by the arrays of a model alone leaves everything else as it is.
        if applied.transformed.is_filtered and applied.transformed.kind in DERIVATIVES:
            yield applied, applied.args[:1], None


def _takes_apart(mapped: object, leaf: Instance) -> bool:
    """Whether a mapped function knows that it is given objects, by their fields or their class."""
    function = innermost_function(mapped) if isinstance(mapped, Value) else None
    known = {leaf.cls.name, *leaf.attributes}
    return function is not None and any(
        getattr(node, "attr", getattr(node, "id", None)) in known
        for node in walked(function.syntax)
    )


def _has_own_leaves(syntax: ast.AST) -> bool:
    """Whether a call says itself what its leaves are."""
    return isinstance(syntax, ast.Call) and any(it.arg == "is_leaf" for it in syntax.keywords)


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

Reported where a tree that holds such an object is taken apart; at the class, if that is in a
function that is given the tree and would do right with a registered one.
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
    source=check_source,
)
