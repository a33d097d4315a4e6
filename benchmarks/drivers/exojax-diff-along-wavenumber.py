"""Emission spectrum of a layered atmosphere by intensity-based radiative transfer."""
# ruff: noqa: E402

from stand_ins import blank, on_path, package, run

on_path("src")
blank("matplotlib")  # The commit before the fix plots what it computes.
package("exojax", "src/exojax")
package("exojax.spec", "src/exojax/spec")

import jax
import jax.numpy as jnp
from exojax.spec.rtransfer import rtrun_emis_pureabs_ibased

AXES = {"log_dtau": "layer wavenumber", "source": "layer wavenumber"}


def entry(log_dtau, source):
    return rtrun_emis_pureabs_ibased(jnp.exp(log_dtau), source, nstream=4)


def inputs():
    # The plot picks wavenumber 100.
    layers, wavenumbers = 5, 104
    noise = jax.random.normal(jax.random.key(0), (layers, wavenumbers))
    depth = jnp.linspace(-4.0, 1.0, layers)[:, None]
    temperature = jnp.linspace(0.5, 1.5, layers)[:, None]
    return depth + 0.5 * noise, temperature * jnp.linspace(1.0, 2.0, wavenumbers)


if __name__ == "__main__":
    run(entry, inputs)
