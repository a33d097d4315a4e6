"""A training step of a penzai network with named axes, and dropout."""

import jax
import jax.numpy as jnp
import optax
from penzai import pz
from penzai.models.simple_mlp import DropoutMLP

FEATURES, CLASSES = 4, 3
OPTIMISER = optax.adamw(1e-2)
MODEL = DropoutMLP.from_config(jax.random.key(0), [FEATURES, 16, CLASSES], drop_rate=0.1)
NETWORK, PARAMETERS = pz.unbind_params(MODEL, freeze=True)


def loss_fn(params, x, labels, key):
    model = pz.bind_variables(NETWORK, params)
    named = pz.nx.wrap(x).tag("batch", "features")
    logits = model(named, random_stream=pz.RandomStream.from_base_key(key))
    logits = logits.unwrap("batch", "features")
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def entry(params, opt_state, x, labels, key):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, labels, key)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def inputs():
    x = jax.random.normal(jax.random.key(1), (5, FEATURES))
    labels = jnp.arange(5) % CLASSES
    return PARAMETERS, OPTIMISER.init(PARAMETERS), x, labels, jax.random.key(2)


AXES = {"x": "batch feature", "labels": "batch"}
