"""The Lennard-Jones potential, cut off and shifted so that the energy ends at zero."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from .neighbours import Lanes, sum_over_neighbours
from .state import State


@dataclass(frozen=True)
class LennardJones:
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6), less its value at the cutoff; zero beyond it.

    The force jumps to zero at the cutoff, the energy does not: ASE's `smooth=False`.
    """

    cutoff: float = 2.5
    epsilon: float = 1.0
    sigma: float = 1.0

    def forces(self, state: State) -> Array:
        """The force on each atom, (atom, xyz)."""
        return jnp.stack(sum_over_neighbours(state, self._pair_force, 3), axis=-1)

    def energy(self, state: State) -> Array:
        """The potential energy of all atoms together."""
        (energies,) = sum_over_neighbours(state, self._pair_energy, 1)
        return 0.5 * jnp.sum(energies)  # each pair was met twice

    def _pair_force(self, apart: Lanes, valid: Array) -> Lanes:
        square, inside = self._square_distance(apart, valid)
        power6 = (self.sigma**2 / square) ** 3
        strength = 24 * self.epsilon * power6 * (2 * power6 - 1) / square
        strength = jnp.where(inside, strength, 0)
        return tuple(strength * axis for axis in apart)

    def _pair_energy(self, apart: Lanes, valid: Array) -> Lanes:
        square, inside = self._square_distance(apart, valid)
        power6 = (self.sigma**2 / square) ** 3
        at_cutoff = (self.sigma / self.cutoff) ** 6
        shift = at_cutoff * (at_cutoff - 1)
        energy = 4 * self.epsilon * (power6 * (power6 - 1) - shift)
        return (jnp.where(inside, energy, 0),)

    def _square_distance(self, apart: Lanes, valid: Array) -> tuple[Array, Array]:
        """Safe to divide by, and whether the pair is closer than the cutoff."""
        x, y, z = apart
        square = x * x + y * y + z * z
        inside = valid & (square < self.cutoff**2)
        return jnp.where(inside, square, 1), inside
