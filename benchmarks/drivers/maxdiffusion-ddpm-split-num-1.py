"""Draw images by reversing a diffusion with the DDPM scheduler."""
# ruff: noqa: E402

import logging
from types import SimpleNamespace

from stand_ins import blank, on_path, package, run, stand_in

on_path("src")
package("maxdiffusion", "src/maxdiffusion").__version__ = "0"
package("maxdiffusion.schedulers", "src/maxdiffusion/schedulers")
blank("huggingface_hub", "maxdiffusion.utils", "requests")
stand_in("maxdiffusion.utils", logging=SimpleNamespace(get_logger=logging.getLogger))

import jax
import jax.numpy as jnp
from maxdiffusion.schedulers.scheduling_ddpm_flax import FlaxDDPMScheduler

AXES = {"latents": "batch height width channel"}

scheduler = FlaxDDPMScheduler(num_train_timesteps=20)


def entry(weights, latents, key):
    state = scheduler.create_state()

    def denoise(carry, timestep):
        latents, key = carry
        key, step_key = jax.random.split(key)
        noise = jnp.tanh(latents @ weights)
        latents, _ = scheduler.step(
            state, noise, timestep, latents, key=step_key, return_dict=False
        )
        return (latents, key), None

    (latents, _), _ = jax.lax.scan(denoise, (latents, key), jnp.arange(15, -1, -5))
    return latents


def inputs():
    weights, latents, key = jax.random.split(jax.random.key(0), 3)
    return jax.random.normal(weights, (3, 3)), jax.random.normal(latents, (2, 5, 4, 3)), key


if __name__ == "__main__":
    run(entry, inputs)
