"""The mode of a distribution over vectors, estimated from samples."""

import jax
import jax.numpy as jnp
from stand_ins import blank, on_path, package, run, stand_in


class Gaussian:
    """Independent along the last axis, which is the event's."""

    def __init__(self, mean, scale):
        self.mean, self.scale = mean, scale

    def sample_and_log_prob(self, seed, sample_shape):
        noise = jax.random.normal(seed, (*sample_shape, *self.mean.shape))
        log_prob = jax.scipy.stats.norm.logpdf(noise) - jnp.log(self.scale)
        return self.mean + self.scale * noise, log_prob.sum(-1)


on_path()
blank("tensorflow_probability")
stand_in("tensorflow_probability.substrates.jax", distributions=object)
# The package's own `__init__` files import every distribution.
for name in ("", "._src", "._src.utils", "._src.distributions"):
    package("distrax" + name, "distrax" + name.replace(".", "/"))
blank("distrax._src.distributions.distribution", "distrax._src.utils.conversion")
stand_in("distrax._src.utils.conversion", as_distribution=lambda distribution: distribution)

from distrax._src.utils.monte_carlo import mc_estimate_mode  # noqa: E402

SAMPLES = 11
AXES = {"mean": ("batch", "feature"), "scale": ("batch", "feature")}


def entry(mean, scale, key):
    return mc_estimate_mode(Gaussian(mean, scale), key, SAMPLES)


def inputs():
    mean_key, scale_key = jax.random.split(jax.random.key(0))
    return (
        jax.random.normal(mean_key, (3, 4)),
        jax.random.uniform(scale_key, (3, 4), minval=0.5, maxval=2.0),
        jax.random.key(1),
    )


if __name__ == "__main__":
    run(entry, inputs)
