"""Build a dataset of heuristic targets for LightsOut from hindsight goals."""
# ruff: noqa: E402

from stand_ins import blank, on_path, package, run, stand_in

on_path()
blank("cv2", "tabulate")
stand_in("termcolor", colored=lambda text, color: text)
package("puzzle", "puzzle")
package("heuristic", "heuristic")
package("heuristic.neuralheuristic", "heuristic/neuralheuristic")

import jax
import jax.numpy as jnp
from heuristic.neuralheuristic.davi import get_heuristic_dataset_builder
from puzzle.lightsout import LightsOut

AXES = {"params": {"hidden": "cell unit", "out": "unit one"}}

puzzle = LightsOut(size=3)


def lights(solve_config, state):
    """What the network sees: the board's lights, and those of the goal."""
    boards = jnp.concatenate([state.board, solve_config.TargetState.board])
    return jnp.unpackbits(boards).astype(jnp.float32)


def network(params, x, training=False, mutable=()):
    return jax.nn.relu(x @ params["hidden"]) @ params["out"], {}


build = get_heuristic_dataset_builder(
    puzzle,
    lights,
    network,
    dataset_size=18,
    shuffle_length=3,
    dataset_minibatch_size=9,
    using_hindsight_target=True,
)


def entry(params, key):
    return build(params, key)


def inputs():
    hidden, out, key = jax.random.split(jax.random.key(1), 3)
    cells = lights(puzzle.SolveConfig.default(), puzzle.State.default()).size
    params = {
        "hidden": jax.random.normal(hidden, (cells, 7)),
        "out": jax.random.uniform(out, (7, 1), minval=0.1, maxval=0.9),
    }
    return params, key


if __name__ == "__main__":
    run(entry, inputs)
