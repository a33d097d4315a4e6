"""Average the statistics of a training step over the devices, for the log."""
# ruff: noqa: E402

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=3")

from stand_ins import on_path, package, run

on_path("src")
package("deepqmc", "src/deepqmc")

import jax
import jax.numpy as jnp
from deepqmc.parallel import pmap_pmean, select_one_device

AXES = {"stats": {"energy": "device molecule", "weight": "device molecule sample"}}


def entry(stats):
    return select_one_device(pmap_pmean(stats))


def inputs():
    devices = jax.device_count()
    stats = {
        "energy": -1.0 - jnp.arange(devices * 2.0).reshape(devices, 2),
        "weight": jax.random.uniform(jax.random.key(0), (devices, 2, 4)),
    }
    return (stats,)


if __name__ == "__main__":
    run(entry, inputs)
