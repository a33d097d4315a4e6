"""Self-attention with a causal mask for each head."""

import jax
import jax.numpy as jnp
from stand_ins import blank, on_path, run

on_path()
# Stateful layers, on a part of JAX that is gone.
blank("equinox.experimental")

import equinox as eqx  # noqa: E402

HEADS, LENGTH, SIZE = 3, 5, 12
AXES = {"x": ("time", "feature"), "mask": ("head", "query", "key")}

attention = eqx.nn.MultiheadAttention(HEADS, SIZE, dropout_p=0.4, key=jax.random.PRNGKey(0))
parameters, settings = eqx.partition(attention, eqx.is_array)


def entry(parameters, x, mask, key):
    return eqx.combine(parameters, settings)(x, x, x, mask, key=key)


def inputs():
    x = jax.random.normal(jax.random.PRNGKey(1), (LENGTH, SIZE))
    # The first head sees all of the past, the others less and less of it.
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    mask = jnp.stack([causal & jnp.triu(causal.T | causal, -reach) for reach in (4, 2, 1)])
    return parameters, x, mask, jax.random.PRNGKey(2)


if __name__ == "__main__":
    run(entry, inputs)
