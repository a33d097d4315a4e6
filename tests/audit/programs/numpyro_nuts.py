"""Transitions of the no-U-turn sampler on a linear regression."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import NUTS


def model(x, y=None):
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    numpyro.sample("y", dist.Normal(x @ weights, noise), obs=y)


RNG = np.random.default_rng(0)
X = jnp.asarray(RNG.normal(size=(10, 3)), jnp.float32)
Y = jnp.asarray(RNG.normal(size=10), jnp.float32)
KERNEL = NUTS(model)


@jax.jit
def entry(state, x, y):
    return KERNEL.sample(state, (x, y), {})


def inputs():
    state = KERNEL.init(jax.random.PRNGKey(0), 10, None, (X, Y), {})
    return state, X, Y


AXES = {"x": "observation feat", "y": "observation"}
