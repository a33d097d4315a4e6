"""Composition of a plasma whose fuel mixture changes with time, at a traced time."""
# ruff: noqa: E402

from stand_ins import blank, on_path, package, run

on_path()
blank("xarray")
package("torax", "torax")

import jax.numpy as jnp
from torax._src.config.plasma_composition import IonMixture

fuel = IonMixture.from_dict(
    {"species": {"D": {0.0: 0.8, 2.0: 0.5}, "T": {0.0: 0.2, 2.0: 0.5}}, "Z_override": 1.1}
)


def entry(t):
    return fuel.build_dynamic_params(t)


def inputs():
    return (jnp.asarray(0.7),)


if __name__ == "__main__":
    run(entry, inputs)
