"""Physics-informed network: the heat equation u_t = k u_xx on [0, 1], by nested derivatives."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax

CONDUCTIVITY = 0.1
LAYERS = (2, 32, 32, 1)
STEPS, INTERIOR, EDGE = 50, 96, 24


def init_params(key, sizes=LAYERS):
    params = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        key, subkey = jax.random.split(key)
        scale = jnp.sqrt(2.0 / (fan_in + fan_out))
        params.append((scale * jax.random.normal(subkey, (fan_in, fan_out)), jnp.zeros(fan_out)))
    return params


def u(params, x, t):
    """The solution at one point."""
    hidden = jnp.stack([2.0 * x - 1.0, 2.0 * t - 1.0])
    for w, b in params[:-1]:
        hidden = jnp.tanh(hidden @ w + b)
    w, b = params[-1]
    return (hidden @ w + b)[0]


u_x = jax.grad(u, argnums=1)
u_xx = jax.grad(u_x, argnums=1)
u_t = jax.grad(u, argnums=2)


def residual(params, x, t):
    return u_t(params, x, t) - CONDUCTIVITY * u_xx(params, x, t)


def initial(x):
    return jnp.sin(jnp.pi * x)


def exact(x, t):
    return np.exp(-CONDUCTIVITY * np.pi**2 * t) * np.sin(np.pi * x)


def over_points(fn):
    return jax.vmap(fn, in_axes=(None, 0, 0))


def loss_fn(params, interior, edge):
    equation = over_points(residual)(params, interior["x"], interior["t"])
    at_start = over_points(u)(params, edge["x"], jnp.zeros_like(edge["x"]))
    left = over_points(u)(params, jnp.zeros_like(edge["t"]), edge["t"])
    right = over_points(u)(params, jnp.ones_like(edge["t"]), edge["t"])
    terms = {
        "equation": jnp.mean(equation**2),
        "initial": jnp.mean((at_start - initial(edge["x"])) ** 2),
        "boundary": jnp.mean(left**2) + jnp.mean(right**2),
    }
    return terms["equation"] + 10.0 * (terms["initial"] + terms["boundary"]), terms


def make_optimiser():
    return optax.adam(optax.exponential_decay(5e-3, 500, 0.5))


def sample_points(key, count):
    x_key, t_key = jax.random.split(key)
    return {"x": jax.random.uniform(x_key, (count,)), "t": jax.random.uniform(t_key, (count,))}


@jax.jit
def entry(params, opt_state, key):
    """Some steps of training, each on new collocation points."""
    optimiser = make_optimiser()

    def train_step(carry, key):
        params, opt_state = carry
        interior_key, edge_key = jax.random.split(key)
        interior, edge = sample_points(interior_key, INTERIOR), sample_points(edge_key, EDGE)
        (loss, terms), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, interior, edge)
        updates, opt_state = optimiser.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), (loss, terms)

    (params, opt_state), history = jax.lax.scan(
        train_step, (params, opt_state), jax.random.split(key, STEPS)
    )
    return params, opt_state, history


def inputs():
    params = init_params(jax.random.key(0))
    return params, make_optimiser().init(params), jax.random.key(1)


def check():
    params, opt_state, key = inputs()
    # The derivatives, against differences of the network.
    x, t, h = 0.3, 0.6, 2e-2
    at = lambda dx, dt: float(u(params, jnp.float32(x + dx), jnp.float32(t + dt)))  # noqa: E731
    second = (at(h, 0) - 2 * at(0, 0) + at(-h, 0)) / h**2
    first = (at(0, h) - at(0, -h)) / (2 * h)
    np.testing.assert_allclose(residual(params, x, t), first - CONDUCTIVITY * second, atol=5e-3)

    for round_key in jax.random.split(key, 20):
        params, opt_state, (losses, _) = entry(params, opt_state, round_key)
    x, t = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 11))
    found = over_points(u)(params, jnp.asarray(x.ravel()), jnp.asarray(t.ravel()))
    error = np.max(np.abs(found - exact(x.ravel(), t.ravel())))
    assert error < 0.03, error
    assert np.isfinite(losses).all()
