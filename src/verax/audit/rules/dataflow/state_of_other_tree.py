"""The state of an optimiser that was made for other parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.training.other_trees import states_of_other_trees
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """`init` with one tree of parameters, `update` with the gradients of another one."""
    for it in states_of_other_trees(facts):
        yield RULE.finding(
            it.init.place,
            current="the optimiser's state is made for other parameters than those whose gradients "
            f"it gets in {it.update.place.line_from(it.init.place)}",
            expected="`init` and `update` see the same tree",
            fix="give `init` the parameters that are trained with this state",
            evidence=(Evidence("the state meets other gradients here", it.update.place),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF114",
    name="state-of-other-tree",
    title="An optimiser's state is made for other parameters",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
The moments of an optimiser are a tree like the parameters. With two networks it is easily made for
the wrong one: trees of another structure fail at the first update, those of the same structure mix
the moments of one network into the steps of the other.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.adam(1e-3)

def entry(x):
    actor, critic = {"w": jnp.ones(3)}, {"w": jnp.zeros(3)}
    actor_state, critic_state = TX.init(actor), TX.init(actor)
    slope = jax.grad(lambda p: jnp.sum(p["w"] * x))(actor)
    error = jax.grad(lambda p: jnp.sum((p["w"] - x) ** 2))(critic)
    first, actor_state = TX.update(slope, actor_state)
    second, critic_state = TX.update(error, critic_state)
    return optax.apply_updates(actor, first), optax.apply_updates(critic, second)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.adam(1e-3)

def entry(x):
    actor, critic = {"w": jnp.ones(3)}, {"w": jnp.zeros(3)}
    actor_state, critic_state = TX.init(actor), TX.init(critic)
    slope = jax.grad(lambda p: jnp.sum(p["w"] * x))(actor)
    error = jax.grad(lambda p: jnp.sum((p["w"] - x) ** 2))(critic)
    first, actor_state = TX.update(slope, actor_state)
    second, critic_state = TX.update(error, critic_state)
    return optax.apply_updates(actor, first), optax.apply_updates(critic, second)

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
