"""One step of time: a function from a state to the next, for `verax.propagate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp

import verax

from .neighbours import with_neighbours
from .potential import LennardJones
from .state import State

Step = Callable[[State], State]
FARTHEST = 0.5  # of sigma; the forces at the end of such a way have little to do with those before


def with_forces(potential: LennardJones, systems: str | None = None) -> Step:
    """Brings neighbours and forces up to date with the positions."""

    def update(state: State) -> State:
        state = with_neighbours(state, systems)
        return replace(state, force=potential.forces(state))

    return update


def velocity_verlet(time_step: float, update: Step) -> Step:
    """Constant number of atoms, volume and energy (NVE)."""

    def step(state: State) -> State:
        state = _kick(state, time_step / 2)
        state = _drift(state, time_step)
        return _kick(update(state), time_step / 2)

    return step


def langevin(time_step: float, temperature: float, friction: float, update: Step) -> Step:
    """Atoms in a heat bath, by the splitting BAOAB (Leimkuhler and Matthews, 2013)."""
    kept = math.exp(-friction * time_step)
    noise = math.sqrt(temperature * (1 - kept**2))

    def mix(state: State) -> State:
        """Friction takes part of the velocity, the bath gives some back."""
        key, now = jax.random.split(state.key)
        push = jax.random.normal(now, state.velocity.shape, state.velocity.dtype)
        return replace(state, key=key, velocity=kept * state.velocity + noise * push)

    def step(state: State) -> State:
        state = _drift(_kick(state, time_step / 2), time_step / 2)
        state = _drift(mix(state), time_step / 2)
        return _kick(update(state), time_step / 2)

    return step


def _kick(state: State, duration: float) -> State:
    return replace(state, velocity=state.velocity + duration * state.force)


def _drift(state: State, duration: float) -> State:
    way = duration * state.velocity
    farthest = jnp.max(jnp.abs(way))
    verax.runtime_assert(
        farthest <= FARTHEST,  # false for what is not a number, too
        "an atom would move by {farthest:.2g} in one step: the time step is too long",
        {"farthest": farthest},
        exception_type=FloatingPointError,
    )
    return replace(state, position=state.position + way)
