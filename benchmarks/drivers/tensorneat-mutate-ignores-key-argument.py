"""Breed the next generation of networks with NEAT."""
# ruff: noqa: E402

from stand_ins import on_path, run

on_path("tensorneat")

import jax
import jax.numpy as jnp
from algorithm.neat import NEAT, DefaultGenome, DefaultMutation, DefaultSpecies
from utils import State

AXES = {"fitness": "member"}

POPULATION = 7

algorithm = NEAT(
    species=DefaultSpecies(
        genome=DefaultGenome(
            num_inputs=3,
            num_outputs=1,
            max_nodes=6,
            max_conns=10,
            mutation=DefaultMutation(node_add=0.3, conn_add=0.5),
        ),
        pop_size=POPULATION,
        species_size=4,
        genome_elitism=1,
        survival_threshold=0.5,
    )
)


def entry(state, fitness):
    return algorithm.tell(state, fitness)


def inputs():
    state = algorithm.setup(State(randkey=jax.random.PRNGKey(3)))
    return state, jnp.array([-0.9, -0.2, -1.7, -0.4, -1.1, -0.6, -2.3])


if __name__ == "__main__":
    run(entry, inputs)
