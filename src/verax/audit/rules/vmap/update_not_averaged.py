"""Replicas that apply their own gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...finding import Confidence, Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step, Value

_COLLECTIVES = ("psum", "pmean", "pmax", "pmin", "all_gather", "reduce_scatter", "ppermute")


def check(facts: Facts) -> Iterator[Verdict]:
    """Named maps that update what all replicas share, each with its own gradient."""
    from ...trace.describe import name_of

    for step in facts.steps:
        names = _axis_names(step)
        collectives = [it for it in _inside(step) if _uses(it, names)] if names else []
        if not collectives:
            continue
        differing = _differing(step, set(collectives))
        shared = _shared(step)
        for gradient in _inside(step):
            if gradient.kind != "derivative" or gradient.detail is None:
                continue
            for (outer, _), grad in zip(
                gradient.detail.detail.differentiated, gradient.outputs, strict=False
            ):
                update = _update(step, outer, grad, differing) if outer in shared else None
                if update is not None and grad in differing:
                    name = name_of(facts, outer)
                    yield RULE.finding(
                        facts.place(update),
                        current=f"each replica along {'/'.join(names)} updates its copy of {name} "
                        "with its own gradient, so the copies drift apart",
                        expected=f"all replicas apply the same gradient, averaged over "
                        f"{'/'.join(names)}",
                        fix=f"`grads = jax.lax.pmean(grads, {names[0]!r})` before the update",
                        evidence=(
                            Evidence(f"the gradient for {name} is taken here", gradient.place),
                            Evidence(
                                f"{collectives[0].primitive} over {names[0]} here, for another "
                                "value",
                                collectives[0].place,
                            ),
                        ),
                    )


def _axis_names(step: Step) -> list[str]:
    """The names over which a map or shard_map lets its elements speak to each other."""
    if step.kind == "shard":
        return [str(name) for name in step.detail.mesh]
    if step.kind == "map" and step.detail.axis_name is not None:
        return [str(step.detail.axis_name)]
    return []


def _inside(step: Step) -> Iterator[Step]:
    for body in step.bodies:
        yield from body.walk()


def _uses(step: Step, names: list[str]) -> bool:
    if not step.primitive.startswith(_COLLECTIVES):
        return False
    axes: Any = step.params.get("axes", step.params.get("axis_name", ()))
    used = axes if isinstance(axes, (tuple, list)) else (axes,)
    return any(str(axis) in names for axis in used)


def _shared(step: Step) -> set[Value]:
    """Arguments that every replica gets whole."""
    if step.kind == "map":
        return set(step.detail.broadcast)
    return {outer for outer, inner, _ in step.detail.inputs if outer is inner}


def _differing(step: Step, collectives: set[Step]) -> set[Value]:
    """Values that can differ from one replica to the next."""
    from ...trace.variation import edges

    if step.kind == "map":
        differing = {inner for _, inner, _ in step.detail.mapped}
    else:
        differing = {inner for outer, inner, _ in step.detail.inputs if outer is not inner}
    # Steps come in the order of the program; loops inside may hand values back, hence twice.
    for _ in range(2):
        for inner in _inside(step):
            if inner in collectives:
                continue
            for source, target, _ in edges(inner):
                if source in differing:
                    differing.add(target)
    return differing


def _update(step: Step, shared: Value, grad: Value, differing: set[Value]) -> Step | None:
    """The step that combines what is shared with its gradient, if its result comes out."""
    from ...trace.liveness import needed_for

    outputs = step.bodies[0].outputs
    for output in outputs:
        if output not in differing or output.dtype != shared.dtype:
            continue
        needed = needed_for([output])
        if grad not in needed or shared not in needed:
            continue
        for inner in step.bodies[0].walk():
            made = inner.kind == "operation" and inner.outputs and inner.outputs[0] in needed
            if made and shared in inner.inputs and inner.outputs[0].shape == shared.shape:
                others = [it for it in inner.inputs if it is not shared]
                if any(grad in needed_for([other]) for other in others):
                    return inner
    return None


RULE = Rule(
    code="VM004",
    name="update-not-averaged",
    title="Replicas apply their own gradients",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
In data-parallel training every device computes a gradient on its own part of the batch. Parameters
that are given whole to all of them stay equal only if all apply the same update; when the gradient
does not go through `pmean` or `psum`, the copies drift apart and one of them is used in the end.

Reported for `pmap`, `shard_map` and vmaps with an axis name whose body uses a collective for
something else (a loss, say): where there is none, several models are trained side by side.""",
    wrong="""\
import jax
import jax.numpy as jnp


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * grad, jax.lax.pmean(loss, "replica")


def entry(w, x):
    return jax.vmap(step, in_axes=(None, 0), axis_name="replica")(w, x)


def inputs():
    return jnp.ones(3), jnp.ones((2, 4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    loss, grad = jax.lax.pmean((loss, grad), "replica")
    return w - 0.1 * grad, loss


def entry(w, x):
    return jax.vmap(step, in_axes=(None, 0), axis_name="replica")(w, x)


def inputs():
    return jnp.ones(3), jnp.ones((2, 4, 3))
""",
    trace=check,
)
