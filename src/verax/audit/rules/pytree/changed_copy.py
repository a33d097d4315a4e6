"""A change to an argument of a traced function, which is a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Applied, Call, Mutation
from ...source.values import Bound, Data, Instance, Mapping, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Attributes and items of arguments that are set, and read by nobody after."""
    yield from _lost_updates(facts)
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


# Methods that change objects of flax's, and what these are.
_CHANGES = {
    f"flax.nnx.{name}.{method}"
    for name in ("Optimizer", "ModelAndOptimizer", "MultiMetric", "metrics.Average")
    for method in ("update", "reset")
}


def _lost_updates(facts: SourceFacts) -> Iterator[Finding]:
    """Objects of flax that a method changes, under a transformation that knows only copies."""
    calls = [it for it in facts.events(Call) if it.name in _CHANGES]
    for applied in facts.events(Applied) if calls else ():
        transformed = applied.transformed
        if transformed.kind not in ("jit", "vmap", "pmap") or transformed.is_filtered:
            continue
        given = {it.node for it in applied.inner.values() if isinstance(it, Data)}
        kept = set(nodes_of(applied.result))
        for call in calls:
            region, owner = call.frame.region, call.args[0]
            if region is None or applied.region not in region.chain():
                continue
            if isinstance(owner, Data) and owner.node in given - kept:
                yield RULE.finding(
                    call.place,
                    current=f"`{call.text}` changes a copy: `{facts.name_of(owner)}` was taken "
                    f"apart and put together for the `{transformed.kind}`, and is not returned",
                    expected="a traced function returns what it has changed",
                    fix=f"Use `nnx.{transformed.kind}`, which brings changes of modules and "
                    "optimisers back to the caller.",
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
        if not isinstance(parent, (ast.Attribute, ast.Subscript)) or parent.value is not node:
            return False
        is_stored = isinstance(parent.ctx, ast.Store)
        if not is_stored and not _is_another_field(syntax, parent, parents.get(parent)):
            return False
    return True


def _is_another_field(
    changed: ast.Attribute | ast.Subscript,
    read: ast.Attribute | ast.Subscript,
    around: ast.AST | None,
) -> bool:
    """Whether a field is read that was not changed; a method, or a computed key, may read any."""
    is_called = isinstance(around, ast.Call) and around.func is read
    if isinstance(changed, ast.Attribute) and isinstance(read, ast.Attribute):
        return changed.attr != read.attr and not is_called
    if isinstance(changed, ast.Subscript) and isinstance(read, ast.Subscript):
        one, other = changed.slice, read.slice
        if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
            return one.value != other.value
    return False


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
