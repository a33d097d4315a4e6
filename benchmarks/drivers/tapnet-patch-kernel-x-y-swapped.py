"""Cut patches out of correlation maps around track positions, as TAPIR's refinement does."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("tensorflow", "mediapy")
package("tapnet", "")

import functools

import jax
import jax.numpy as jnp
import numpy as np
from einshape import jax_einshape as einshape
from tapnet import tapir_model

AXES = {
    "positions": "batch point frame _",
    "correlations": "batch point frame height width",
}


def entry(positions, correlations):
    extract = functools.partial(tapir_model.extract_patch_depthwise_conv, patch_size=7)
    patches = jax.vmap(extract)(
        einshape("bnfc->b(nf)c", positions), einshape("bnfhw->b(nf)hw", correlations)
    )
    return einshape("b(nf)hw->bnf(hw)", patches, n=positions.shape[1])


def inputs():
    rng = np.random.default_rng(4)
    positions = rng.uniform(0.0, 9.0, (2, 3, 5, 2)).astype(np.float32)
    correlations = rng.normal(size=(2, 3, 5, 10, 12)).astype(np.float32)
    return jnp.asarray(positions), jnp.asarray(correlations)


if __name__ == "__main__":
    run(entry, inputs)
