"""One generation of particle swarms that share a problem, each with some of its dimensions."""

import jax
import jax.numpy as jnp
from stand_ins import blank, on_path, package, run

on_path()
# Problems and monitors import simulators and plotting.
blank("evoxlib.problems", "evoxlib.monitors", "evoxlib.operators")
package("evoxlib.algorithms", "evoxlib/algorithms")
package("evoxlib.algorithms.so", "evoxlib/algorithms/so")

from evoxlib.algorithms.so.clustered_algorithm import ClusterdAlgorithm  # noqa: E402
from evoxlib.algorithms.so.pso import PSO  # noqa: E402

CLUSTERS, DIMENSIONS, POPULATION = 2, 6, 5

lower, upper = -jnp.arange(1.0, DIMENSIONS + 1), jnp.arange(2.0, DIMENSIONS + 2)
algorithm = ClusterdAlgorithm(lower, upper, PSO, CLUSTERS, POPULATION)


def entry(key):
    state = algorithm.init(key)
    state, population = algorithm.ask(state)
    fitness = jnp.sum(population**2, axis=1)
    return algorithm.tell(state, population, fitness)


def inputs():
    return (jax.random.PRNGKey(0),)


if __name__ == "__main__":
    run(entry, inputs)
