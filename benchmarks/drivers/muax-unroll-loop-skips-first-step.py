"""One update of a MuZero agent on sampled trajectories: loss, gradients, optimiser step."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("mctx")
package("muax", "muax")

import jax
import jax.numpy as jnp
import numpy as np
from muax import nn
from muax.episode_tracer import Transition
from muax.model import MuZero, optimizer

ACTIONS, SUPPORT = 3, 6
full_support = 2 * SUPPORT + 1
model = MuZero(
    nn._init_representation_func(nn.Representation, 8),
    nn._init_prediction_func(nn.Prediction, ACTIONS, full_support),
    nn._init_dynamic_func(nn.Dynamic, 8, ACTIONS, full_support),
    optimizer=optimizer(init_value=0.01),
    support_size=SUPPORT,
)


def entry(params, opt_state, batch):
    loss, grads = jax.value_and_grad(model.loss_fn)(params, batch)
    params, opt_state = model._update(params, opt_state, grads)
    return loss, params, opt_state


def inputs():
    rng = np.random.default_rng(6)
    batch, time, features = 4, 5, 2
    obs = rng.normal(size=(batch, time, features))
    done = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    transition = Transition(
        obs=obs,
        a=rng.integers(ACTIONS, size=(batch, time, 1)),
        r=rng.normal(size=(batch, time, 1)),
        done=done[..., None],
        Rn=3.0 * rng.normal(size=(batch, time, 1)),
        v=rng.normal(size=(batch, time, 1)),
        pi=rng.dirichlet(np.ones(ACTIONS), size=(batch, time)),
        w=rng.uniform(0.5, 1.0, (batch, time, 1)),
    )
    params = model.init(jax.random.PRNGKey(7), jnp.asarray(obs[:, 0]))
    return params, model.optimizer_state, jax.tree_util.tree_map(jnp.asarray, transition)


if __name__ == "__main__":
    run(entry, inputs)
