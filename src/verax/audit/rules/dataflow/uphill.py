"""An optimiser whose updates have the sign of the gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.gradients.climbing import climbs
from ...source.queries.training.uphill import uphill
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Chains of transformations that all keep the sign, where their updates are added."""
    for chain, applied in uphill(facts):
        yield RULE.finding(
            chain.place,
            current="every part of this chain keeps the sign of the gradients, and the updates are "
            "added to the parameters: each step makes the loss larger",
            expected="one part turns gradients into steps downhill",
            fix="end the chain with `optax.scale_by_learning_rate`, or a negative scale",
            evidence=(Evidence("the updates are added here", applied.place),),
            engine=Engine.SOURCE,
        )
    yield from _by_hand(facts)


def _by_hand(facts: SourceFacts) -> Iterator[Finding]:
    """Parameters to which their gradient is added, where the loss is an error."""
    for it in climbs(facts):
        place = it.step.place
        if place is not None:
            yield RULE.finding(
                place,
                current="a multiple of the gradient is added to the parameters, and what is "
                "differentiated is an error: each step makes it larger",
                expected="parameters go against the gradient of an error",
                fix="subtract it",
                confidence=Confidence.LIKELY,
                evidence=(Evidence("differentiated here", it.derivative.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF113",
    name="uphill",
    title="The optimiser goes uphill",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
`optax.apply_updates` adds, so that updates have to point away from the gradients. Whole optimisers
(`optax.adam`) and `optax.scale_by_learning_rate` see to that; `scale_by_adam`, `trace`,
`scale_by_schedule` and the like keep the sign. A chain of these alone maximises the loss. So does a
step that is written by hand and adds the gradient of an error; one that is only tried out, as the
worst case near by, is left alone.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale(1e-3))

def loss(w, x):
    return jnp.mean((x @ w) ** 2)

def entry(w, state, x):
    updates, state = TX.update(jax.grad(loss)(w, x), state, w)
    return optax.apply_updates(w, updates), state

def inputs():
    return jnp.ones(3), TX.init(jnp.ones(3)), jnp.ones((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale(-1e-3))

def loss(w, x):
    return jnp.mean((x @ w) ** 2)

def entry(w, state, x):
    updates, state = TX.update(jax.grad(loss)(w, x), state, w)
    return optax.apply_updates(w, updates), state

def inputs():
    return jnp.ones(3), TX.init(jnp.ones(3)), jnp.ones((4, 3))
""",
    source=check_source,
)
