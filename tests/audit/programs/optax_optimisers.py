"""A step of each of many optimisers on a small tree of parameters."""

import jax
import jax.numpy as jnp
import optax

OPTIMISERS = {
    name: getattr(optax, name)(1e-2)
    for name in (
        *("sgd", "adam", "adamw", "adagrad", "rmsprop", "lamb", "lion", "nadam", "radam"),
        *("adabelief", "yogi", "adafactor", "novograd", "amsgrad", "adamax", "noisy_sgd"),
    )
}


def loss_fn(params, x):
    return jnp.mean((x @ params["w"] + params["b"]) ** 2)


@jax.jit
def entry(params, states, x):
    grads = jax.grad(loss_fn)(params, x)
    new_params, new_states = {}, {}
    for name, optimiser in OPTIMISERS.items():
        updates, new_states[name] = optimiser.update(grads, states[name], params)
        new_params[name] = optax.apply_updates(params, updates)
    return new_params, new_states


def inputs():
    params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    states = {name: optimiser.init(params) for name, optimiser in OPTIMISERS.items()}
    return params, states, jnp.ones((4, 3))


AXES = {"params": {"w": "feat out", "b": "out"}, "x": "batch feat"}
