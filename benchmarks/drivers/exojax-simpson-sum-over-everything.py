"""Transmission spectrum of a layered atmosphere with Simpson's rule."""
# ruff: noqa: E402

from stand_ins import on_path, package, run

on_path("src")
package("exojax", "src/exojax")
package("exojax.spec", "src/exojax/spec")
package("exojax.signal", "src/exojax/signal")

import jax
import jax.numpy as jnp
from exojax.spec.rtransfer import rtrun_trans_pureabs_simpson

AXES = {
    "dtau_midpoint": "layer wavenumber",
    "dtau_lower": "layer wavenumber",
    "radius_lower": "layer",
    "height": "layer",
}


def entry(dtau_midpoint, dtau_lower, radius_lower, height):
    return rtrun_trans_pureabs_simpson(dtau_midpoint, dtau_lower, radius_lower, height)


def inputs():
    layers, wavenumbers = 5, 7
    height = jnp.array([0.05, 0.04, 0.035, 0.03, 0.02])
    radius_lower = 1.0 + jnp.cumsum(height[::-1])[::-1] - height
    depth = jnp.linspace(-4.0, 2.0, 2 * layers)[:, None]
    noise = jax.random.normal(jax.random.key(0), (2 * layers, wavenumbers))
    dtau = jnp.exp(depth + 0.5 * noise)
    return dtau[::2], dtau[1::2], radius_lower, height


if __name__ == "__main__":
    run(entry, inputs)
