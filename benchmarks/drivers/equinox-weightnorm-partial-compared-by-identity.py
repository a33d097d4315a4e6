"""The members of an ensemble with weight normalisation, evaluated one by one."""

import importlib.metadata

import jax
from stand_ins import on_path, run

on_path()
# A checkout has no metadata from which to read its version.
installed = importlib.metadata.version
importlib.metadata.version = lambda name: "0" if name == "equinox" else installed(name)

import equinox as eqx  # noqa: E402

INPUTS, OUTPUTS, BATCH, MEMBERS = 4, 3, 5, 2
AXES = {"keys": ("member",), "x": ("batch", "feature")}


@eqx.filter_jit
def predict(model, x):
    return jax.vmap(model)(x)


def entry(keys, x):
    outputs = []
    for key in keys:
        model = eqx.nn.WeightNorm(eqx.nn.Linear(INPUTS, OUTPUTS, key=key))
        outputs.append(predict(model, x))
    return outputs


def inputs():
    x = jax.random.normal(jax.random.key(1), (BATCH, INPUTS))
    return jax.random.split(jax.random.key(0), MEMBERS), x


if __name__ == "__main__":
    run(entry, inputs)
