"""A reset of all environments but those that have finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...phrases import quoted_name
from ...source.queries.episodes.resets import resets
from ...source.queries.nodes import position_in
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Choices that keep the state where a flag is set, and take that of a reset elsewhere."""
    for it in resets(facts):
        position = position_in(it.frame, it.result)
        if it.is_reversed and position is not None:
            yield RULE.finding(
                it.frame.place(position),
                current=f"where `{it.flag}` is set, the old episode goes on, and everywhere else "
                "a reset takes its place",
                expected="where an episode has ended, a reset takes its place",
                fix="exchange what is chosen, so that the reset is taken where "
                f"{quoted_name(it.flag, 'the flag')} is set",
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="EN008",
    name="reset-reversed",
    title="Environments are reset unless they have finished",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    preview=True,
    explanation="""\
Where an episode ends, the state of its environment is replaced by that of a reset. With the two
sides of the choice exchanged, every environment starts anew at each step, and those that have
finished go on for ever.

Reported for a choice by a flag with the name of an end, between what a function that resets has
made and what none has.""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Cart(NamedTuple):
    position: jax.Array
    velocity: jax.Array
    time: jax.Array


def start(key):
    position = jax.random.uniform(key, minval=-0.1, maxval=0.1)
    return Cart(position, jnp.zeros(()), jnp.zeros((), jnp.int32))


def auto_reset(key, cart):
    terminated = (jnp.abs(cart.position) > 1.0) | (cart.time >= 200)
    fresh = start(key)
    return jax.tree.map(lambda new, old: jnp.where(terminated, old, new), fresh, cart)


def rollout(key, forces):
    def advance(cart, inputs):
        key, force = inputs
        velocity = cart.velocity + 0.02 * force
        moved = Cart(cart.position + 0.02 * velocity, velocity, cart.time + 1)
        return auto_reset(key, moved), moved.position

    first, rest = jax.random.split(key)
    keys = jax.random.split(rest, len(forces))
    return jax.lax.scan(advance, start(first), (keys, forces))


def entry(key, forces):
    _, positions = rollout(key, forces)
    return positions


def inputs():
    return jax.random.key(0), jnp.ones(300)
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Cart(NamedTuple):
    position: jax.Array
    velocity: jax.Array
    time: jax.Array


def start(key):
    position = jax.random.uniform(key, minval=-0.1, maxval=0.1)
    return Cart(position, jnp.zeros(()), jnp.zeros((), jnp.int32))


def auto_reset(key, cart):
    terminated = (jnp.abs(cart.position) > 1.0) | (cart.time >= 200)
    fresh = start(key)
    return jax.tree.map(lambda new, old: jnp.where(terminated, new, old), fresh, cart)


def rollout(key, forces):
    def advance(cart, inputs):
        key, force = inputs
        velocity = cart.velocity + 0.02 * force
        moved = Cart(cart.position + 0.02 * velocity, velocity, cart.time + 1)
        return auto_reset(key, moved), moved.position

    first, rest = jax.random.split(key)
    keys = jax.random.split(rest, len(forces))
    return jax.lax.scan(advance, start(first), (keys, forces))


def entry(key, forces):
    _, positions = rollout(key, forces)
    return positions


def inputs():
    return jax.random.key(0), jnp.ones(300)
""",
    source=check_source,
)
