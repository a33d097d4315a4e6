"""A module or an optimiser with state of its own that is changed in a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Applied, Call
from ...source.values import Data, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts

# Methods that change objects of flax's, and what these are.
_CHANGES = {
    f"flax.nnx.{name}.{method}"
    for name in ("Optimizer", "ModelAndOptimizer", "MultiMetric", "metrics.Average")
    for method in ("update", "reset")
}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
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


RULE = Rule(
    code="PT107",
    name="changed-copy",
    title="State of a module is changed in a copy",
    family="pytree",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
Modules, optimisers and metrics of `flax.nnx` hold their state, and methods change it. A plain
transformation of JAX takes them apart into leaves and puts them together again inside: the object
there is a copy, and its new state is lost unless it is returned. `nnx.jit` brings it back.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

def loss(model, x):
    return (model(x) ** 2).mean()

@jax.jit
def step(model, optimizer, x):
    grads = nnx.grad(loss)(model, x)
    optimizer.update(model, grads)
    return loss(model, x)

def entry(x):
    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    return step(model, optimizer, x)

def inputs():
    return (jnp.ones((2, 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

def loss(params, x):
    return (x @ params["kernel"] + params["bias"]).var()

@jax.jit
def step(params, state, x):
    grads = jax.grad(loss)(params, x)
    updates, state = optax.sgd(0.1).update(grads, state, params)
    return optax.apply_updates(params, updates), state

def entry(x):
    params = {"kernel": jnp.ones((3, 1)), "bias": jnp.zeros(1)}
    return step(params, optax.sgd(0.1).init(params), x)

def inputs():
    return (jnp.arange(6.0).reshape(2, 3),)
""",
    source=check_source,
)
