"""A reset of all environments but those that have finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Choices that keep the state where a flag is set, and take that of a reset elsewhere."""
    from ...source.queries.nodes import position_in
    from ...source.queries.resets import resets

    for it in resets(facts):
        position = position_in(it.frame, it.result)
        if it.is_reversed and position is not None:
            yield RULE.finding(
                it.frame.place(position),
                current=f"where `{it.flag}` is set, the old episode goes on, and everywhere else "
                "a reset takes its place",
                expected="where an episode has ended, a reset takes its place",
                fix="exchange what is chosen: `jnp.where(done, fresh, state)`",
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="EN008",
    name="reset-reversed",
    title="Environments are reset unless they have finished",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Where an episode ends, the state of its environment is replaced by that of a reset. With the two
sides of the choice exchanged, every environment starts anew at each step, and those that have
finished go on for ever.

Reported for a choice by a flag with the name of an end, between what a function that resets has
made and what none has.""",
    wrong="""\
import jax
import jax.numpy as jnp


def reset(key):
    state = jax.random.uniform(key, (2,))
    return jnp.sin(state), state


def step(key, state, action):
    state = state + action
    obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
    fresh_obs, fresh = reset(key)
    state = jnp.where(done, state, fresh)
    obs = jnp.where(done, obs, fresh_obs)
    return obs, state, done


def entry(keys, states, actions):
    return jax.vmap(step)(keys, states, actions)


def inputs():
    return jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 2)), jnp.ones((4, 2))
""",
    right="""\
import jax
import jax.numpy as jnp


def reset(key):
    state = jax.random.uniform(key, (2,))
    return jnp.sin(state), state


def step(key, state, action):
    state = state + action
    obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
    fresh_obs, fresh = reset(key)
    state = jnp.where(done, fresh, state)
    obs = jnp.where(done, fresh_obs, obs)
    return obs, state, done


def entry(keys, states, actions):
    return jax.vmap(step)(keys, states, actions)


def inputs():
    return jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 2)), jnp.ones((4, 2))
""",
    source=check_source,
)
