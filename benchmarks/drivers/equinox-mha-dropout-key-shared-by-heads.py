"""Self-attention with dropout, as in training."""

import jax
from stand_ins import blank, on_path, run

on_path()
# Stateful layers, on a part of JAX that is gone.
blank("equinox.experimental")

import equinox as eqx  # noqa: E402

HEADS, LENGTH, SIZE = 3, 5, 12
AXES = {"x": ("time", "feature")}

attention = eqx.nn.MultiheadAttention(HEADS, SIZE, dropout_p=0.4, key=jax.random.PRNGKey(0))
parameters, settings = eqx.partition(attention, eqx.is_array)


def entry(parameters, x, key):
    return eqx.combine(parameters, settings)(x, x, x, key=key)


def inputs():
    x = jax.random.normal(jax.random.PRNGKey(1), (LENGTH, SIZE))
    return parameters, x, jax.random.PRNGKey(2)


if __name__ == "__main__":
    run(entry, inputs)
