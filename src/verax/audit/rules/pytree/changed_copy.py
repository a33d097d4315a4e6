"""A change to an argument of a traced function, which is a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Mutation
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Attributes and items of arguments that are set, and read by nobody after."""
    from ...source.events import Applied, Mutation
    from ...source.values import Bound, Instance, Mapping

    changes = [it for it in facts.events(Mutation) if it.how in ("attribute", "item")]
    for applied in facts.events(Applied):
        transformed = applied.transformed
        if transformed.kind not in ("jit", "vmap", "pmap") or transformed.is_filtered:
            continue
        outer = [*applied.args, *applied.keywords.values()]
        if isinstance(transformed.function, Bound):
            outer.append(transformed.function.owner)
        for name, value in applied.inner.items():
            if not isinstance(value, (Instance, Mapping)) or any(it is value for it in outer):
                continue
            for change in changes:
                region = change.frame.region
                is_inside = region is not None and applied.region in region.chain()
                if change.target is value and is_inside and _is_lost(change, name):
                    yield RULE.finding(
                        change.place,
                        current=f"`{change.text}` changes a copy: `{name}` was taken apart and put "
                        f"together for the `{transformed.kind}`, and nothing reads it after",
                        expected="a traced function returns what it has changed",
                        fix=f"Return `{name}`, and take it from the result of the call.",
                        evidence=(Evidence("it is called here", applied.place),),
                        engine=Engine.SOURCE,
                    )


def _is_lost(change: Mutation, name: str) -> bool:
    """Whether nothing in the function reads what was set, nor the whole argument, after it."""
    function = change.frame.function
    syntax = change.syntax
    if not isinstance(function, ast.FunctionDef) or not isinstance(
        syntax, (ast.Attribute, ast.Subscript)
    ):
        return False
    if not isinstance(syntax.value, ast.Name) or syntax.value.id != name:
        return False
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    position: ast.AST | None = syntax
    while position is not None:
        if isinstance(position, (ast.For, ast.While)):
            return False
        position = parents.get(position)
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name or node.lineno <= syntax.lineno:
            continue
        parent = parents.get(node)
        is_part = isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node
        if not is_part or not isinstance(getattr(parent, "ctx", None), ast.Store):
            return False  # A method, or a key that is computed, may read it.
    return True


RULE = Rule(
    code="PT107",
    name="changed-copy",
    title="Change to a copy is lost",
    family="pytree",
    severity=Severity.CRITICAL,
    explanation="""\
The arguments of a transformed function are taken apart into leaves and put together again inside:
the dict or object there is a new one. Setting an item or an attribute of it changes nothing
outside, and is lost unless it is returned.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def step(state, x):
    y = x * state["scale"]
    state["count"] = state["count"] + 1
    return y

def entry(x):
    state = {"scale": jnp.float32(2.0), "count": jnp.int32(0)}
    y = step(state, x)
    return y, state["count"]

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def step(state, x):
    y = x * state["scale"]
    state["count"] = state["count"] + 1
    return y, state

def entry(x):
    state = {"scale": jnp.float32(2.0), "count": jnp.int32(0)}
    y, state = step(state, x)
    return y, state["count"]

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
