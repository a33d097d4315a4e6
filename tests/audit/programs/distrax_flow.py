"""A step of maximum likelihood for a distrax flow of masked affine couplings."""

import distrax
import jax
import jax.numpy as jnp
import optax

FEATURES, HIDDEN, LAYERS = 4, 16, 3
OPTIMISER = optax.adam(1e-3)


def conditioner(params):
    def apply(x):
        hidden = jax.nn.relu(x @ params["w_in"] + params["b_in"])
        out = hidden @ params["w_out"] + params["b_out"]
        return out.reshape(*x.shape, 2)

    return apply


def affine(params):
    return distrax.ScalarAffine(shift=params[..., 0], log_scale=jnp.tanh(params[..., 1]))


def make_flow(params):
    mask = jnp.arange(FEATURES) % 2 == 0
    layers = []
    for layer in params:
        layers.append(distrax.MaskedCoupling(mask, conditioner(layer), affine))
        mask = ~mask
    base = distrax.MultivariateNormalDiag(jnp.zeros(FEATURES), jnp.ones(FEATURES))
    return distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers)))


def init_layer(key):
    in_key, out_key = jax.random.split(key)
    return {
        "w_in": jax.random.normal(in_key, (FEATURES, HIDDEN)) / FEATURES**0.5,
        "b_in": jnp.zeros(HIDDEN),
        "w_out": 0.01 * jax.random.normal(out_key, (HIDDEN, 2 * FEATURES)),
        "b_out": jnp.zeros(2 * FEATURES),
    }


@jax.jit
def entry(params, opt_state, batch, key):
    def loss_fn(params):
        return -make_flow(params).log_prob(batch).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    samples = make_flow(params).sample(seed=key, sample_shape=6)
    return params, opt_state, loss, samples


def inputs():
    keys = jax.random.split(jax.random.key(0), LAYERS + 2)
    params = [init_layer(key) for key in keys[:LAYERS]]
    batch = jax.random.normal(keys[-1], (5, FEATURES))
    return params, OPTIMISER.init(params), batch, keys[-2]


AXES = {"batch": "batch feature"}
