"""Data-parallel training with `pmap`: gradients are averaged, each device has its own dropout."""

from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard, shard_prng_key

CLASSES = 4


class MLP(nn.Module):
    rate: float = 0.1

    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(32)(x))
        x = nn.Dropout(self.rate, deterministic=not train)(x)
        return nn.Dense(CLASSES)(x)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@partial(jax.pmap, axis_name="devices")
def entry(state, batch, key):
    key = jax.random.fold_in(key, state.step)

    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["x"], True, rngs={"dropout": key})
        return cross_entropy(logits, batch["label"]), logits

    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    grads = jax.lax.pmean(grads, axis_name="devices")
    state = state.apply_gradients(grads=grads)
    accuracy = (logits.argmax(axis=-1) == batch["label"]).mean()
    metrics = jax.lax.pmean({"loss": loss, "accuracy": accuracy}, axis_name="devices")
    return state, metrics


@partial(jax.pmap, axis_name="devices")
def evaluate(state, batch):
    logits = state.apply_fn({"params": state.params}, batch["x"], False)
    right = (logits.argmax(axis=-1) == batch["label"]).sum()
    count = jnp.asarray(batch["label"].size)
    return jax.lax.psum(right, "devices") / jax.lax.psum(count, "devices")


def quadrants(rng, count):
    x = rng.normal(size=(count, 5)).astype(np.float32)
    label = 2 * (x[:, 0] > 0) + (x[:, 1] > 0)
    return {"x": x, "label": label.astype(np.int32)}


def create_state(key, rate=0.1):
    model = MLP(rate)
    params = model.init(key, jnp.zeros((1, 5)), False)["params"]
    tx = optax.sgd(optax.constant_schedule(0.1), momentum=0.9)
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)


def inputs():
    devices = jax.local_device_count()
    state = jax_utils.replicate(create_state(jax.random.key(0)))
    batch = shard(quadrants(np.random.default_rng(0), 7 * devices))
    return state, batch, shard_prng_key(jax.random.PRNGKey(1))


AXES = {"batch": {"x": "device batch feature", "label": "device batch"}}


def check():
    rng = np.random.default_rng(1)
    devices = jax.local_device_count()
    assert devices > 1, "one device shares its work with nobody"
    keys = shard_prng_key(jax.random.PRNGKey(1))

    plain = create_state(jax.random.key(0), rate=0.0)
    batch = quadrants(rng, 8 * devices)
    parallel, _ = entry(jax_utils.replicate(plain), shard(batch), keys)
    grads = jax.grad(
        lambda params: cross_entropy(
            plain.apply_fn({"params": params}, batch["x"], False), batch["label"]
        )
    )(plain.params)
    single = plain.apply_gradients(grads=grads)
    for ours, theirs in zip(
        jax.tree.leaves(parallel.params), jax.tree.leaves(single.params), strict=True
    ):
        for replica in ours:
            np.testing.assert_allclose(replica, theirs, atol=1e-5)

    state, *_ = inputs()
    for _ in range(150):
        state, metrics = entry(state, shard(quadrants(rng, 32 * devices)), keys)
    assert jax_utils.unreplicate(metrics)["loss"] < 0.4, metrics
    accuracy = evaluate(state, shard(quadrants(rng, 500 * devices)))
    assert jax_utils.unreplicate(accuracy) > 0.9, accuracy
