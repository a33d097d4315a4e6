"""A step of Bayesian optimisation with bayex: the model is fitted, and says where to look next."""

import bayex
import jax
import jax.numpy as jnp
from bayex.gp import posterior_fit


def objective(x, y):
    return (x - 0.5) ** 2 + jnp.cos(3.0 * y)


DOMAIN = {"x": bayex.domain.Real(-1.0, 2.0), "y": bayex.domain.Real(0.0, 3.0)}
OPTIMISER = bayex.Optimizer(DOMAIN, acq="EI", maximize=True)


@jax.jit
def entry(state, key):
    points = OPTIMISER.param_space.to_array(state.params)
    gp_params = posterior_fit(state.ys, points, mask=state.mask, params=state.gp_params)
    chosen = OPTIMISER.sample(key, state._replace(gp_params=gp_params), size=100)
    return gp_params, chosen, objective(**chosen)


def inputs():
    xs, ys = jnp.linspace(-1.0, 2.0, 6), jnp.linspace(0.5, 2.5, 6)
    state = OPTIMISER.init(objective(xs, ys), {"x": xs, "y": ys})
    return state, jax.random.key(0)
