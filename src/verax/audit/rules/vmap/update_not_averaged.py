"""Replicas that apply their own gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.training.replicas import own_statistics, own_updates
from .._rule import Rule, Verdict
from ._replicas import differing, named_maps, shared_by, steps_inside

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Named maps that update what all replicas share, each with its own gradient."""
    from ...trace.describe import name_of

    for names, step, collectives in named_maps(facts):
        varying = differing(step, set(collectives))
        shared = shared_by(step)
        for gradient in steps_inside(step):
            if gradient.kind != "derivative" or gradient.detail is None:
                continue
            for (outer, _), grad in zip(
                gradient.detail.detail.differentiated, gradient.outputs, strict=False
            ):
                update = _update(step, outer, grad, varying) if outer in shared else None
                if update is not None and grad in varying:
                    name = name_of(facts, outer)
                    yield RULE.finding(
                        facts.place(update),
                        current=f"each replica along {'/'.join(names)} updates its copy of {name} "
                        "with its own gradient, so the copies drift apart",
                        expected=f"all replicas apply the same gradient, averaged over "
                        f"{'/'.join(names)}",
                        fix=f"average the gradients over {names[0]!r} with `jax.lax.pmean` before "
                        "the update",
                        evidence=(
                            Evidence(f"the gradient for {name} is taken here", gradient.place),
                            *(
                                Evidence(f"{it.primitive} here, but of another value", it.place)
                                for it in collectives[:2]
                            ),
                        ),
                    )


def _update(step: Step, shared: Value, grad: Value, varying: set[Value]) -> Step | None:
    """The step that combines what is shared with its gradient, if its result comes out."""
    from ...trace.liveness import needed_for

    outputs = step.bodies[0].outputs
    for output in outputs:
        if output not in varying or output.dtype != shared.dtype:
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


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, where the update of a mapped function can be read."""
    for found in own_updates(facts):
        name, axis = found.name, found.region.axis_name
        over = f" over {axis}" if axis is not None else ""
        yield RULE.finding(
            found.place,
            current=f"each replica{over.replace('over', 'along')} updates its copy of {name} with "
            "its own gradient, so the copies drift apart",
            expected=f"all replicas apply the same gradient, averaged{over}",
            fix=f"average the gradients{over} with `jax.lax.pmean` before the update",
            evidence=(Evidence(f"the gradient for {name} is taken here", found.gradient),),
            engine=Engine.SOURCE,
        )
    for found in own_statistics(facts):
        axis = found.region.axis_name or "devices"
        yield RULE.finding(
            found.place,
            current=f"each replica renews its copy of {found.name} from its own data, while other "
            "parts of the same record are united: the copies drift apart",
            expected=f"what all replicas share is renewed from what is united over {axis}",
            fix=f"average what {found.name} is updated from with `jax.lax.pmean`",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="VM004",
    name="update-not-averaged",
    title="Replicas apply their own gradients",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    preview=True,
    by_absence=True,
    explanation="""\
In data-parallel training every device computes a gradient on its own part of the batch. Parameters
that are given whole to all of them stay equal only if all apply the same update; when the gradient
does not go through `pmean` or `psum`, the copies drift apart and one of them is used in the end.

The same holds for other parts of a record that all replicas share, as running statistics of what
they observe, if some of its parts are united.

Reported for `pmap`, `shard_map` and vmaps with an axis name. A vmap without one cannot average, and
trains several models side by side.""",
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
    source=check_source,
)
