"""Steps of jax-md's Lennard-Jones fluid with a neighbour list at constant energy."""

import jax
import jax.numpy as jnp
import numpy as np
from jax_md import energy, partition, simulate, space

BOX = 8.0
DISPLACEMENT, SHIFT = space.periodic(BOX)
NEIGHBORS, ENERGY = energy.lennard_jones_neighbor_list(
    DISPLACEMENT, BOX, r_cutoff=2.5, format=partition.Sparse
)
INIT, APPLY = simulate.nve(ENERGY, SHIFT, dt=2e-3)


@jax.jit
def entry(state, neighbors):
    def step(_, carry):
        state, neighbors = carry
        neighbors = neighbors.update(state.position)
        return APPLY(state, neighbor=neighbors), neighbors

    return jax.lax.fori_loop(0, 5, step, (state, neighbors))


def inputs():
    grid = np.stack(np.meshgrid(*[np.arange(4) * 2.0] * 3), axis=-1).reshape(-1, 3)
    position = jnp.asarray(grid, jnp.float32)
    neighbors = NEIGHBORS.allocate(position)
    return INIT(jax.random.PRNGKey(0), position, kT=0.1, neighbor=neighbors), neighbors
