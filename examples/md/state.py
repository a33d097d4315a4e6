"""What a step of the simulation changes, as one frozen tree.

Lengths are in units of sigma, energies of epsilon, and all atoms have mass 1. A run of several
systems is the same tree with one more axis in front of every array.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import verax

from .neighbours import NeighbourList


@verax.dataclass
class State:
    """A system of atoms in a periodic cube."""

    position: Array  # (atom, xyz)
    velocity: Array  # (atom, xyz)
    force: Array  # (atom, xyz), at these positions
    box: Array  # the length of the cube's edge
    key: Array  # of the heat bath's noise; a step that is repeated draws the same noise
    neighbours: NeighbourList


def initial_state(
    atoms: int, density: float, temperature: float, reach: float, skin: float, seed: int = 0
) -> State:
    """Atoms on a lattice, with random velocities of exactly the temperature and no drift."""
    edge = (atoms / density) ** (1 / 3)
    velocity_key, noise_key = jax.random.split(jax.random.key(seed))
    velocity = jax.random.normal(velocity_key, (atoms, 3))
    velocity = velocity - velocity.mean(axis=0, keepdims=True)
    velocity = velocity * jnp.sqrt(temperature / temperature_of(velocity))
    position = jnp.asarray(lattice(atoms) * edge, velocity.dtype)
    return State(
        position=position,
        velocity=velocity,
        force=jnp.zeros_like(position),
        box=jnp.asarray(edge, position.dtype),
        key=noise_key,
        neighbours=NeighbourList.empty(position, edge, reach, skin),
    )


def lattice(atoms: int) -> np.ndarray:
    """Sites of a face-centred cubic lattice in the unit cube, evenly thinned to the number."""
    cells = int(np.ceil((atoms / 4) ** (1 / 3) - 1e-9))
    corner = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    sites = (corner.reshape(-1, 1, 3) + basis[None]).reshape(-1, 3) / cells
    return sites[np.arange(atoms) * len(sites) // atoms]


def kinetic_energy(velocity: Array) -> Array:
    """Of all atoms together."""
    return 0.5 * jnp.sum(velocity**2)


def temperature_of(velocity: Array) -> Array:
    """From the kinetic energy, with three degrees of freedom an atom."""
    return 2 * kinetic_energy(velocity) / velocity.size


def with_room(state: State, cell: int, row: int, edges: int) -> State:
    """The state with other capacities, for a start with ample room."""
    room = replace(state.neighbours, cell_room=cell, row_room=row, edge_room=edges)
    return replace(state, neighbours=room)
