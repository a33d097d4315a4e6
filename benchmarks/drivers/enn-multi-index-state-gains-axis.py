"""One step of training a network with batch statistics, its loss averaged over indices."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from stand_ins import blank, old_jax, on_path, package, run

old_jax()
on_path()
blank("sklearn", "tensorflow", "tensorflow_datasets", "tensorflow_probability")
# `enn.losses` imports every loss.
package("enn.losses", "enn/losses")


from enn import base  # noqa: E402
from enn.losses import single_index_with_state as losses  # noqa: E402

BATCH, FEATURES, CLASSES, INDEX_DIM, INDEX_SAMPLES = 6, 4, 3, 2, 5


def net_fn(x, index):
    x = jnp.concatenate([x, jnp.broadcast_to(index, (x.shape[0], INDEX_DIM))], axis=1)
    x = hk.nets.MLP([7])(x)
    x = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)(x, is_training=True)
    return hk.Linear(CLASSES)(jax.nn.relu(x))


model = hk.without_apply_rng(hk.transform_with_state(net_fn))
enn = base.EpistemicNetworkWithState(
    apply=model.apply,
    init=model.init,
    indexer=lambda key: jax.random.normal(key, (INDEX_DIM,)),
)
loss_fn = losses.average_single_index_loss_with_state(
    losses.XentLossWithState(CLASSES), num_index_samples=INDEX_SAMPLES
)
optimizer = optax.adam(1e-2)


def entry(params, state, opt_state, batch, key):
    gradient = jax.grad(loss_fn, argnums=1, has_aux=True)
    grads, (state, metrics) = gradient(enn, params, state, batch, key)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), state, opt_state, metrics


def inputs():
    x = jax.random.normal(jax.random.key(1), (BATCH, FEATURES))
    y = jnp.arange(BATCH)[:, None] % CLASSES
    params, state = enn.init(jax.random.key(0), x, enn.indexer(jax.random.key(2)))
    return params, state, optimizer.init(params), base.Batch(x, y), jax.random.key(3)


if __name__ == "__main__":
    run(entry, inputs)
