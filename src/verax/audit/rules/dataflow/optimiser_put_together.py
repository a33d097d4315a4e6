"""Optimisers whose parts are in the wrong order, or whose rate never changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.training.optimiser_parts import clipped_after, rates_asked_once
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Chains that clip steps for gradients, and schedules that are asked for one step only."""
    for clip, name in clipped_after(facts):
        if clip.place is not None:
            yield RULE.finding(
                clip.place,
                current=f"what is clipped here are the steps of `{name}`, not the gradients: these "
                "reach the optimiser's moments as they are",
                expected="gradients are clipped before the optimiser sees them",
                fix=f"put the clipping before `{name}` in the chain",
                engine=Engine.SOURCE,
            )
    for optimiser, asked in rates_asked_once(facts):
        yield RULE.finding(
            optimiser.place,
            current="the optimiser is given the rate that its schedule has at one step, and keeps "
            "it for ever",
            expected="the optimiser is given the schedule itself",
            fix="pass the schedule, without calling it",
            evidence=(Evidence("the schedule is asked here", asked.place),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF120",
    name="optimiser-put-together",
    title="An optimiser is put together wrongly",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`optax.chain` applies its parts in order. Clipping after `optax.adam` limits steps that are about as
long as the learning rate in any case, while one huge gradient spoils the moments. And
`optax.adam(schedule(0))` trains with the first rate of the schedule, which often is zero.
""",
    wrong="""\
import jax.numpy as jnp
import optax

TX = optax.chain(optax.adam(1e-3), optax.clip_by_global_norm(1.0))

def entry(grads, params):
    return TX.update(grads, TX.init(params), params)[0]

def inputs():
    return jnp.ones(3), jnp.ones(3)
""",
    right="""\
import jax.numpy as jnp
import optax

TX = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))

def entry(grads, params):
    return TX.update(grads, TX.init(params), params)[0]

def inputs():
    return jnp.ones(3), jnp.ones(3)
""",
    source=check_source,
)
