"""Neural ordinary differential equation: Runge-Kutta by scan, and an adjoint solved backwards."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

DIM, HIDDEN, TRAJECTORIES, POINTS, SUBSTEPS = 2, 24, 5, 8, 4
OPTIMISER = optax.adam(5e-3)


def init_mlp(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def field(params, y, t):
    """dy/dt, which depends on the time too."""
    hidden = jnp.append(y, t)
    *layers, last = params
    for layer in layers:
        hidden = jnp.tanh(hidden @ layer["w"] + layer["b"])
    return hidden @ last["w"] + last["b"]


def rk4_step(f, y, t, dt):
    shift = lambda k, h: jax.tree.map(lambda a, b: a + h * b, y, k)  # noqa: E731
    k1 = f(y, t)
    k2 = f(shift(k1, dt / 2), t + dt / 2)
    k3 = f(shift(k2, dt / 2), t + dt / 2)
    k4 = f(shift(k3, dt), t + dt)
    return jax.tree.map(
        lambda y, a, b, c, d: y + dt / 6 * (a + 2 * b + 2 * c + d), y, k1, k2, k3, k4
    )


def integrate(f, y, t0, t1):
    dt = (t1 - t0) / SUBSTEPS

    def step(carry, _):
        y, t = carry
        return (rk4_step(f, y, t, dt), t + dt), None

    (y, _), _ = jax.lax.scan(step, (y, t0), None, length=SUBSTEPS)
    return y


def solve(params, y0, ts):
    """The solution at all times; gradients go through the solver."""

    def between(y, interval):
        y = integrate(partial(field, params), y, *interval)
        return y, y

    _, ys = jax.lax.scan(between, y0, (ts[:-1], ts[1:]))
    return jnp.concatenate([y0[None], ys])


@jax.custom_vjp
def solve_to_end(params, y0, ts):
    """The solution at the last time; gradients by the adjoint equation, in constant memory."""
    return solve(params, y0, ts)[-1]


def solve_to_end_fwd(params, y0, ts):
    y1 = solve_to_end(params, y0, ts)
    return y1, (params, y1, ts)


def solve_to_end_bwd(residuals, y1_bar):
    params, y1, ts = residuals

    def augmented(state, t):
        y, adjoint, _ = state
        dy, pull = jax.vjp(lambda y, params: field(params, y, t), y, params)
        y_bar, params_bar = pull(adjoint)
        return dy, -y_bar, jax.tree.map(jnp.negative, params_bar)

    def between(state, interval):
        t0, t1 = interval
        return integrate(augmented, state, t1, t0), None

    state = (y1, y1_bar, jax.tree.map(jnp.zeros_like, params))
    (_, y0_bar, params_bar), _ = jax.lax.scan(between, state, (ts[:-1], ts[1:]), reverse=True)
    return params_bar, y0_bar, jnp.zeros_like(ts)


solve_to_end.defvjp(solve_to_end_fwd, solve_to_end_bwd)


def loss_fn(params, ys, ts):
    predicted = jax.vmap(solve, in_axes=(None, 0, None))(params, ys[:, 0], ts)
    ends = jax.vmap(solve_to_end, in_axes=(None, 0, None))(params, ys[:, 0], ts)
    return jnp.mean((predicted - ys) ** 2) + 0.1 * jnp.mean((ends - ys[:, -1]) ** 2)


@jax.jit
def entry(params, opt_state, ys, ts):
    loss, grads = jax.value_and_grad(loss_fn)(params, ys, ts)
    updates, opt_state = OPTIMISER.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def spiral(y0, t):
    """The true trajectory: a rotation that decays."""
    growth = jnp.exp(-0.2 * t)[:, None]
    turn = jnp.stack([jnp.stack([jnp.cos(t), -jnp.sin(t)]), jnp.stack([jnp.sin(t), jnp.cos(t)])])
    return growth * jnp.einsum("ijt,j->ti", turn, y0)


def inputs():
    params = init_mlp(jax.random.key(0), (DIM + 1, HIDDEN, HIDDEN, DIM))
    ts = jnp.linspace(0.0, 3.0, POINTS)
    starts = jax.random.normal(jax.random.key(1), (TRAJECTORIES, DIM))
    ys = jax.vmap(spiral, in_axes=(0, None))(starts, ts)
    return params, OPTIMISER.init(params), ys, ts


AXES = {"ys": "trajectory time dim", "ts": "time"}


def check():
    params, opt_state, ys, ts = inputs()
    # The solver, on a system that is solved by hand and depends on the time.
    end = integrate(lambda y, t: -2.0 * t * y, jnp.ones(2), 0.0, 1.0)
    np.testing.assert_allclose(end, np.exp(-1.0), atol=1e-4)

    # The adjoint, against the gradient through the solver.
    target = jnp.array([0.3, -0.4])
    adjoint = jax.grad(lambda *a: solve_to_end(*a) @ target, argnums=(0, 1))(params, ys[0, 0], ts)
    direct = jax.grad(lambda *a: solve(*a)[-1] @ target, argnums=(0, 1))(params, ys[0, 0], ts)
    for a, b in zip(jax.tree.leaves(adjoint), jax.tree.leaves(direct), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)

    losses = []
    for _ in range(300):
        params, opt_state, loss = entry(params, opt_state, ys, ts)
        losses.append(float(loss))
    assert losses[-1] < 2e-3 < losses[0], losses[::50]
