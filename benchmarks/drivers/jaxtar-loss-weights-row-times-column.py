"""Train a neural Q-function for one epoch on a dataset of backed-up costs."""
# ruff: noqa: E402

from types import SimpleNamespace

from stand_ins import blank, on_path, package, run, stand_in

on_path()
blank("huggingface_hub")
stand_in("puxle", Puzzle=SimpleNamespace(SolveConfig=object, State=object))
package("qfunction", "qfunction")
package("qfunction.neuralq", "qfunction/neuralq")

import jax
import jax.numpy as jnp
import optax

# xtructure is a container of arrays; its `take` takes from each of them.
blank("xtructure")
stand_in(
    "xtructure.numpy",
    take=lambda tree, indices, axis: jax.tree.map(lambda x: jnp.take(x, indices, axis), tree),
)

from qfunction.neuralq.neuralq_base import QModelBase
from qfunction.neuralq.qlearning import qlearning_builder

AXES = {
    "dataset": {
        "solveconfigs": "sample cell",
        "states": "sample cell",
        "actions": "sample one",
        "target_q": "sample one",
    }
}

model = QModelBase(action_size=5, Res_N=1, initial_dim=12, hidden_dim=8)
optimizer = optax.adam(1e-2)


def lights(solve_config, state):
    return jnp.concatenate([solve_config, state]).astype(jnp.float32)


train = qlearning_builder(4, model, optimizer, lights, loss_type="huber")


def entry(key, dataset, params, opt_state):
    return train(key, dataset, params, opt_state)


def inputs():
    goal, state, weights, key = jax.random.split(jax.random.key(0), 4)
    samples, cells = 11, 9
    dataset = {
        "solveconfigs": jax.random.bernoulli(goal, 0.4, (samples, cells)),
        "states": jax.random.bernoulli(state, 0.6, (samples, cells)),
        "actions": jnp.arange(samples)[:, None] % 5,
        "target_q": 1.0 + jnp.arange(samples)[:, None] % 7,
    }
    params = model.init(weights, jnp.zeros((1, 2 * cells)))
    return key, dataset, params, optimizer.init(params)


if __name__ == "__main__":
    run(entry, inputs)
