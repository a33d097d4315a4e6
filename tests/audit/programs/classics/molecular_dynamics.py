"""Molecular dynamics: a Lennard-Jones fluid in a periodic box, by velocity Verlet."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

BOX, CUTOFF = 7.5, 3.0
EPSILON, SIGMA = 1.0, 1.0
DT, STEPS = 2e-3, 30
SIDE = 4


class State(NamedTuple):
    position: jax.Array  # (atom, 3), inside of the box
    velocity: jax.Array
    force: jax.Array
    mass: jax.Array  # (atom,)


def wrap(position):
    return position % BOX


def minimum_image(displacement):
    return displacement - BOX * jnp.round(displacement / BOX)


def lennard_jones(squared):
    inverse = (SIGMA**2 / squared) ** 3
    return 4 * EPSILON * (inverse**2 - inverse)


def potential_energy(position):
    """The sum over pairs within the cutoff, shifted so that it is continuous there."""
    count = position.shape[0]
    displacement = minimum_image(position[:, None] - position[None, :])
    squared = jnp.sum(displacement**2, axis=-1)
    pairs = ~jnp.eye(count, dtype=bool) & (squared < CUTOFF**2)
    safe = jnp.where(pairs, squared, 1.0)
    energies = jnp.where(pairs, lennard_jones(safe) - lennard_jones(CUTOFF**2), 0.0)
    return 0.5 * jnp.sum(energies)


def kinetic_energy(state):
    return 0.5 * jnp.sum(state.mass[:, None] * state.velocity**2)


@jax.jit
def force_fn(position):
    return -jax.grad(potential_energy)(position)


def velocity_verlet(state, dt):
    acceleration = state.force / state.mass[:, None]
    half = state.velocity + 0.5 * dt * acceleration
    position = wrap(state.position + dt * half)
    force = force_fn(position)
    velocity = half + 0.5 * dt * force / state.mass[:, None]
    return state._replace(position=position, velocity=velocity, force=force)


@jax.jit
def entry(state):
    """Some steps; potential and kinetic energy after each."""

    def step(state, _):
        state = velocity_verlet(state, DT)
        return state, (potential_energy(state.position), kinetic_energy(state))

    return jax.lax.scan(step, state, length=STEPS)


def inputs():
    rng = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(*[np.arange(SIDE)] * 3), axis=-1).reshape(-1, 3) * BOX / SIDE
    position = (lattice + 0.05 * rng.normal(size=lattice.shape)) % BOX
    mass = rng.uniform(1.0, 2.0, size=len(lattice))
    velocity = 0.5 * rng.normal(size=lattice.shape)
    velocity -= np.average(velocity, axis=0, weights=mass)
    position, velocity, mass = (jnp.asarray(a, jnp.float32) for a in (position, velocity, mass))
    return (State(position, velocity, force_fn(position), mass),)


AXES = {"state": State("atom dim", "atom dim", "atom dim", "atom")}


def numpy_energy_and_force(position):
    position = np.asarray(position, np.float64)
    energy, force = 0.0, np.zeros_like(position)
    shift = 4 * EPSILON * ((SIGMA / CUTOFF) ** 12 - (SIGMA / CUTOFF) ** 6)
    for i in range(len(position)):
        for j in range(i):
            apart = position[i] - position[j]
            apart -= BOX * np.round(apart / BOX)
            r = np.sqrt(apart @ apart)
            if r < CUTOFF:
                attraction, repulsion = (SIGMA / r) ** 6, (SIGMA / r) ** 12
                energy += 4 * EPSILON * (repulsion - attraction) - shift
                pull = 24 * EPSILON * (2 * repulsion - attraction) / r**2 * apart
                force[i] += pull
                force[j] -= pull
    return energy, force


def numpy_verlet(state, steps):
    position, velocity, force, mass = (np.asarray(part, np.float64) for part in state)
    energies = []
    for _ in range(steps):
        velocity = velocity + 0.5 * DT * force / mass[:, None]
        position = (position + DT * velocity) % BOX
        potential, force = numpy_energy_and_force(position)
        velocity = velocity + 0.5 * DT * force / mass[:, None]
        energies.append((potential, 0.5 * np.sum(mass[:, None] * velocity**2)))
    return position, velocity, np.transpose(energies)


def check():
    (state,) = inputs()
    energy, force = numpy_energy_and_force(state.position)
    np.testing.assert_allclose(potential_energy(state.position), energy, rtol=1e-4)
    np.testing.assert_allclose(state.force, force, atol=2e-3)

    final, (potential, kinetic) = entry(state)
    position, velocity, energies = numpy_verlet(state, STEPS)
    moved = np.asarray(final.position) - position
    np.testing.assert_allclose(moved - BOX * np.round(moved / BOX), 0.0, atol=1e-3)
    np.testing.assert_allclose(final.velocity, velocity, atol=5e-3)
    np.testing.assert_allclose([potential, kinetic], energies, rtol=1e-4)
    assert np.all((final.position >= 0) & (final.position <= BOX))

    # Energy and momentum stay, over a longer run.
    start = float(potential_energy(state.position) + kinetic_energy(state))
    for _ in range(20):
        final, (potential, kinetic) = entry(final)
    total = np.asarray(potential + kinetic)
    # The cutoff's kink costs a little.
    np.testing.assert_allclose(total, start, atol=0.02 * abs(start))
    momentum = np.sum(np.asarray(final.mass)[:, None] * np.asarray(final.velocity), axis=0)
    np.testing.assert_allclose(momentum, 0.0, atol=1e-2)
