"""The outputs of an ensemble for one sequence, with the members on the last axis."""

import types

import jax
import jax.numpy as jnp
from stand_ins import on_path, package, run, stand_in

on_path()
# The package's own `__init__` registers primitives with a JAX of that time.
package("equinox", "equinox")
# Asked for at each call, though only an option that is not used here looks at it.
stand_in("jax.core", find_top_trace=lambda leaves: types.SimpleNamespace(main=None))

from equinox._vmap_pmap import filter_vmap  # noqa: E402

MEMBERS, TIME, FEATURES, OUTPUTS = 4, 5, 3, 2
AXES = {
    "weights": ("member", "output", "feature"),
    "biases": ("member", "output"),
    "x": ("time", "feature"),
}


def predict(weight, bias, x):
    return jnp.tanh(x @ weight.T + bias)


def entry(weights, biases, x):
    ensemble = filter_vmap(predict, in_axes=(0, 0, None), out_axes=2)
    return ensemble(weights, biases, x)


def inputs():
    weight_key, bias_key, x_key = jax.random.split(jax.random.key(0), 3)
    return (
        jax.random.normal(weight_key, (MEMBERS, OUTPUTS, FEATURES)),
        jax.random.normal(bias_key, (MEMBERS, OUTPUTS)),
        jax.random.normal(x_key, (TIME, FEATURES)),
    )


if __name__ == "__main__":
    run(entry, inputs)
