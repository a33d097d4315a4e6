"""Model-agnostic meta-learning of sine waves: gradients through steps of gradient descent."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

INNER_RATE, INNER_STEPS = 0.05, 3
OPTIMISER = optax.adam(1e-3)


class Tasks(NamedTuple):
    support_x: jax.Array
    support_y: jax.Array
    query_x: jax.Array
    query_y: jax.Array


def init_params(key, sizes=(1, 40, 40, 1)):
    params = []
    keys = jax.random.split(key, len(sizes) - 1)
    for layer_key, fan_in, fan_out in zip(keys, sizes[:-1], sizes[1:], strict=True):
        weight = jax.random.normal(layer_key, (fan_in, fan_out)) / np.sqrt(fan_in)
        params.append((weight, jnp.zeros(fan_out)))
    return params


def predict(params, x):
    *hidden, (weight, bias) = params
    for w, b in hidden:
        x = jnp.tanh(x @ w + b)
    return x @ weight + bias


def mse(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


def adapt(params, x, y):
    """The parameters after a few steps of gradient descent on one task."""

    def step(params, _):
        grads = jax.grad(mse)(params, x, y)
        return jax.tree.map(lambda p, g: p - INNER_RATE * g, params, grads), None

    adapted, _ = jax.lax.scan(step, params, None, INNER_STEPS)
    return adapted


def task_loss(params, task):
    adapted = adapt(params, task.support_x, task.support_y)
    return mse(adapted, task.query_x, task.query_y)


def meta_loss(params, tasks):
    return jax.vmap(task_loss, in_axes=(None, 0))(params, tasks).mean()


@jax.jit
def entry(params, opt_state, tasks):
    loss, grads = jax.value_and_grad(meta_loss)(params, tasks)
    updates, opt_state = OPTIMISER.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def draw_tasks(rng, count, support=10, query=15):
    amplitude = rng.uniform(0.5, 2.0, (count, 1, 1))
    phase = rng.uniform(0, np.pi, (count, 1, 1))
    x = rng.uniform(-3, 3, (count, support + query, 1))
    y = amplitude * np.sin(x + phase)
    parts = (x[:, :support], y[:, :support], x[:, support:], y[:, support:])
    return Tasks(*(jnp.asarray(it, jnp.float32) for it in parts))


def inputs():
    params = init_params(jax.random.key(0))
    return params, OPTIMISER.init(params), draw_tasks(np.random.default_rng(0), 4)


AXES = {
    "tasks": Tasks(
        support_x="task shot dim",
        support_y="task shot dim",
        query_x="task query dim",
        query_y="task query dim",
    )
}


def meta_loss_by_hand(params, tasks):
    """The same in double precision, with the inner gradient written out."""

    def activations(params, x):
        (w1, b1), (w2, b2), (w3, b3) = params
        h1 = np.tanh(x @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        return h1, h2, h2 @ w3 + b3

    losses = []
    for sx, sy, qx, qy in zip(*(np.asarray(it, np.float64) for it in tasks), strict=True):
        adapted = params
        for _ in range(INNER_STEPS):
            h1, h2, out = activations(adapted, sx)
            d3 = 2 * (out - sy) / sy.size
            d2 = d3 @ adapted[2][0].T * (1 - h2**2)
            d1 = d2 @ adapted[1][0].T * (1 - h1**2)
            grads = [(sx.T @ d1, d1.sum(0)), (h1.T @ d2, d2.sum(0)), (h2.T @ d3, d3.sum(0))]
            adapted = jax.tree.map(lambda p, g: p - INNER_RATE * g, adapted, grads)
        losses.append(np.mean((activations(adapted, qx)[2] - qy) ** 2))
    return np.mean(losses)


def check():
    rng = np.random.default_rng(1)
    params, opt_state, tasks = inputs()
    grads = jax.jit(jax.grad(meta_loss))(params, tasks)
    exact = jax.tree.map(lambda p: np.asarray(p, np.float64), params)
    direction = jax.tree.map(lambda p: rng.normal(size=p.shape), exact)
    ahead = jax.tree.map(lambda p, d: p + 1e-5 * d, exact, direction)
    behind = jax.tree.map(lambda p, d: p - 1e-5 * d, exact, direction)
    slope = (meta_loss_by_hand(ahead, tasks) - meta_loss_by_hand(behind, tasks)) / 2e-5
    along = sum(jax.tree.leaves(jax.tree.map(lambda g, d: (g * d).sum(), grads, direction)))
    np.testing.assert_allclose(along, slope, rtol=1e-3)

    for _ in range(500):
        params, opt_state, _ = entry(params, opt_state, draw_tasks(rng, 25))
    fresh = draw_tasks(rng, 200)
    after = meta_loss(params, fresh)
    before = jax.vmap(mse, in_axes=(None, 0, 0))(params, fresh.query_x, fresh.query_y).mean()
    assert after < 0.2, after
    assert before > 2 * after, (before, after)
