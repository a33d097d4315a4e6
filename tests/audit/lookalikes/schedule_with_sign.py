"""Optimisers whose schedule is negative, so that nothing else turns the gradient round."""

import jax
import jax.numpy as jnp
import optax


def falling(step):
    return -1e-2 * 0.99**step


def optimisers():
    warm = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 10)
    return (
        optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(falling)),
        optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.scale_by_rms(),
            optax.scale_by_schedule(lambda step: -warm(step)),
        ),
        optax.chain(optax.scale_by_adam(), optax.scale_by_learning_rate(warm)),
    )


def loss_fn(params, x, y):
    hidden = jnp.tanh(x @ params["w"])
    return jnp.mean((hidden @ params["v"] - y) ** 2)


def train(optimiser, params, x, y):
    def step(carry, _):
        params, state = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, state = optimiser.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), loss

    return jax.lax.scan(step, (params, optimiser.init(params)), None, length=20)[1]


def entry(params, x, y):
    return [train(optimiser, params, x, y) for optimiser in optimisers()]


def inputs():
    keys = jax.random.split(jax.random.key(0), 3)
    params = {"w": jax.random.normal(keys[0], (3, 5)), "v": jax.random.normal(keys[1], (5,))}
    x = jax.random.normal(keys[2], (16, 3))
    return params, x, x.sum(axis=1)
