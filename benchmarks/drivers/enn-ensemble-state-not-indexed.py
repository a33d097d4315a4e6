"""Predictions by one member of an ensemble of networks with batch statistics."""

import haiku as hk
import jax
import jax.numpy as jnp
from stand_ins import blank, old_jax, on_path, run

old_jax()
on_path()
blank("sklearn", "tensorflow", "tensorflow_datasets", "tensorflow_probability")

from enn.networks.ensembles import EnsembleWithState  # noqa: E402

MEMBERS, BATCH, FEATURES, CLASSES = 3, 6, 4, 2
AXES = {"inputs": ("batch", "feature")}


def net_fn(x):
    x = hk.nets.MLP([5])(x)
    # The statistics of the training stay as they are; a batch is needed only to make them.
    normalise = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)
    x = normalise(x, is_training=hk.running_init())
    return hk.Linear(CLASSES)(jax.nn.relu(x))


model = hk.without_apply_rng(hk.transform_with_state(net_fn))
enn = EnsembleWithState(model, MEMBERS)


def entry(params, state, inputs, index):
    return enn.apply(params, state, inputs, index)


def inputs():
    x = jax.random.normal(jax.random.key(1), (BATCH, FEATURES))
    params, state = enn.init(jax.random.key(0), x, 0)
    # As after some steps: the members have seen different batches.
    scale = lambda s: s + jnp.arange(1.0, MEMBERS + 1).reshape(-1, *[1] * (s.ndim - 1))  # noqa: E731
    state = jax.tree.map(lambda s: scale(s) if s.dtype == jnp.float32 else s + 5, state)
    return params, state, x, jnp.asarray(1)


if __name__ == "__main__":
    run(entry, inputs)
