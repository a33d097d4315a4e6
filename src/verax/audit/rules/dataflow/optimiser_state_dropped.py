"""The new state of an optimiser is dropped, and the old one used on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.queries.training.optimisers import dropped_states
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Updates whose second result nothing reads."""
    for it in dropped_states(facts):
        yield RULE.finding(
            it.call.place,
            current=f"the optimiser's new state (`{it.new}`) is dropped, and the old one, "
            f"`{it.old}`, {it.how}",
            expected="the new state takes the place of the old one",
            fix=f"assign it to `{it.old}`, and pass or return that",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF106",
    name="optimiser-state-dropped",
    title="The optimiser's new state is dropped",
    family="dataflow",
    severity=Severity.CRITICAL,
    by_absence=True,
    explains=("PT105",),
    explanation="""\
Momentum, the running moments of Adam and the step count of a schedule are in the state that
`update` returns. Where it is dropped, every step starts from the same moments: the program trains,
with another optimiser than the one that was chosen.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.adam(0.1)

def loss(w, x):
    return jnp.mean((x @ w) ** 2)

def entry(w, state, x):
    grads = jax.grad(loss)(w, x)
    updates, new_state = TX.update(grads, state, w)
    return optax.apply_updates(w, updates), state

def inputs():
    return jnp.ones(3), TX.init(jnp.ones(3)), jnp.ones((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.adam(0.1)

def loss(w, x):
    return jnp.mean((x @ w) ** 2)

def entry(w, state, x):
    grads = jax.grad(loss)(w, x)
    updates, state = TX.update(grads, state, w)
    return optax.apply_updates(w, updates), state

def inputs():
    return jnp.ones(3), TX.init(jnp.ones(3)), jnp.ones((4, 3))
""",
    source=check_source,
)
