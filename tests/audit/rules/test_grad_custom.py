"""Derivatives that are written by hand."""

from __future__ import annotations

import pytest

from .claims import assert_claims
from .derived import with_inputs

WRONG = {
    "wrong_for_what_it_is_called_with": """
        @jax.custom_jvp
        def f(x): return jnp.log(jax.scipy.special.i0e(x)) + x
        @f.defjvp
        def rule(primals, tangents):
            (x,), (t,) = primals, tangents
            return f(x), jax.scipy.special.i1e(x) / jax.scipy.special.i0e(2 * x) * t  # GR017

        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(jnp.exp(w * x))))(w)
    """,
    "an_adjoint_of_a_fixed_point_that_all_derivatives_go_through": """
        def settled(fn, start): return lax.fori_loop(0, 60, lambda _, z: fn(z), start)

        @jax.custom_vjp
        def f(w, u, x):
            return settled(lambda z: jnp.tanh(z @ w + x @ u), jnp.zeros((4, 3)))
        def fwd(w, u, x):
            z = f(w, u, x)
            return z, (w, u, x, z)
        def bwd(saved, g):
            w, u, x, z = saved
            slope = 1 - z**2
            adjoint = settled(lambda v: g + (slope * v) @ w, g)
            pre = slope * adjoint  # GR017
            w_bar = z.T @ pre
            return w_bar, x.T @ pre, pre @ u.T
        f.defvjp(fwd, bwd)

        def entry(w, x):
            def loss(m): return jnp.sum(f(m, m, jnp.ones((4, 3))) ** 2)
            return jax.grad(loss)(jnp.outer(w, x))
    """,
    "a_forward_rule_with_another_value": """
        @jax.custom_vjp
        def f(x, t): return jax.nn.softplus(x * t) / t
        def fwd(x, t):
            y = jax.nn.softplus(x * t)  # GR017
            return y, (x, t)
        def bwd(saved, g):
            x, t = saved
            return g * jax.nn.sigmoid(x * t), jnp.zeros_like(t)
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(w * x, w)))(w)
    """,
    "a_second_result_of_a_forward_rule": """
        def cost(x): return jnp.sum(x**2), jnp.cos(x)
        f = jax.custom_vjp(cost)
        def fwd(x):
            total, other = cost(x)
            other = jnp.sin(x)  # GR017
            return (total, other), x
        def bwd(x, g): return (2 * x * g[0] - jnp.sin(x) * g[1],)
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda w: f(w)[0] + f(w)[1].sum())(w * x)
    """,
    "the_value_in_a_rule_forwards": """
        @jax.custom_jvp
        def f(x): return jnp.log1p(x**2)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            value = jnp.log(x**2 + 2.0)  # GR017
            return value, 2 * x / (1 + x**2) * dx

        def entry(w, x): return jax.grad(lambda w: f(w * x).sum())(w)
    """,
    "factor": """
        @jax.custom_vjp
        def f(x): return jnp.sum(x**2)
        def fwd(x): return f(x), x
        def bwd(x, g):
            return (g * x,)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(f)(w * x)
    """,
    "a_rule_for_each_argument": """
        @jax.custom_jvp
        def f(x, y): return jnp.sum(x**2 * y)
        f.defjvps(
            lambda dx, out, x, y: jnp.sum(2 * x * y * dx),
            lambda dy, out, x, y: jnp.sum(x * dy),  # GR017
        )

        def entry(w, x): return jax.grad(f, argnums=(0, 1))(w, x)
    """,
    "wrong_function_in_the_middle": """
        @jax.custom_jvp
        def f(x): return jnp.sin(x)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), jnp.sin(x) * dx  # GR017

        def entry(w, x): return jax.vmap(jax.grad(f))(w * x)
    """,
    "what_two_derivatives_share_and_a_third_does_not": """
        @jax.custom_vjp
        def f(x, y, z): return jnp.tanh(x * y) + z**2
        def fwd(x, y, z):
            out = f(x, y, z)
            return out, (x, y, z, jnp.tanh(x * y))
        def bwd(saved, g):
            x, y, z, t = saved
            slope = g * (1 + t**2)  # GR017
            scale = 2 * g
            x_bar = slope * y
            y_bar = slope * x
            z_bar = scale * z
            return x_bar, y_bar, z_bar
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda *v: jnp.sum(f(*v)), argnums=(0, 1, 2))(w, x, w)
    """,
    "a_derivative_that_is_named_before_it_is_returned": """
        @jax.custom_vjp
        def f(x, y): return x**2 * y
        def fwd(x, y): return f(x, y), (x, y)
        def bwd(saved, g):
            x, y = saved
            x_bar = g * x * y  # GR017
            y_bar = g * x**2
            return x_bar, y_bar
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda *v: jnp.sum(f(*v)), argnums=(0, 1))(w, x)
    """,
    "a_root_by_steps_that_differentiate": """
        def gap(u, x): return u + 0.1 * u**3 - x

        @jax.custom_vjp
        def f(x):
            def newton(u, _):
                return u - jnp.linalg.solve(jax.jacfwd(gap)(u, x), gap(u, x)), None

            return jax.lax.scan(newton, jnp.zeros_like(x), length=6)[0]

        def fwd(x):
            u = f(x)
            return u, (u, x)
        def bwd(saved, g):
            u, x = saved
            adjoint = jnp.linalg.solve(jax.jacfwd(gap)(u, x).T, g)
            return jax.vjp(lambda y: gap(u, y), x)[1](adjoint)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda v: jnp.sum(f(v) ** 2))(w * x)
    """,
    "a_fixed_point_in_a_loop_without_a_known_end": """
        def step(u, x): return 0.4 * jnp.tanh(u) + x

        @jax.custom_vjp
        def f(x):
            def moves(pair): return jnp.max(jnp.abs(pair[0] - pair[1])) > 1e-5
            def turn(pair): return pair[1], step(pair[1], x)
            return jax.lax.while_loop(moves, turn, (x, step(x, x)))[1]

        def fwd(x):
            u = f(x)
            return u, (u, x)
        def bwd(saved, g):
            u, x = saved
            slope = 0.4 * (1 - jnp.tanh(u) ** 2)
            return (0.5 * g / (1 - slope),)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda v: jnp.sum(f(v) ** 2))(w * x)
    """,
    "mapped_inside": """
        @jax.custom_vjp
        def f(x): return jax.vmap(lambda e: e**3)(x)
        def fwd(x): return f(x), x
        def bwd(x, g):
            return (2 * x**2 * g,)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(w) * x))(w)
    """,
    "not_summed": """
        @jax.custom_vjp
        def f(x, s): return x * s
        def fwd(x, s): return f(x, s), (x, s)
        def bwd(res, g):
            x, s = res
            return g * s, g * x  # GR016
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda s: jnp.sum(f(w, s)))(x[0])
    """,
    "one_too_few": """
        @jax.custom_vjp
        def f(x, s): return x * s
        def fwd(x, s): return f(x, s), (x, s)
        def bwd(res, g):
            x, s = res
            return (g * s,)  # GR016
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda s: jnp.sum(f(w, s)))(x)
    """,
    "tangent_of_another_shape": """
        @jax.custom_jvp
        def f(x): return jnp.sum(x**2)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), 2 * x * dx  # GR016

        def entry(w, x): return jax.grad(f)(w * x)
    """,
    "only_of_probabilities": """
        @jax.custom_jvp
        def quantile(u): return jnp.log(-jnp.log1p(-u))

        @quantile.defjvp
        def rule(primals, tangents):
            (u,), (du,) = primals, tangents
            return quantile(u), du / jnp.log1p(-u)  # GR017

        def entry(w, x): return jax.grad(lambda w: jnp.sum(quantile(w / 9) * x))(w)
        def inputs(): return jnp.tile(jnp.arange(1.0, 4.0), 8), jnp.ones(24)
    """,
}

# Each is of a function `f`.
RIGHT = {
    "right_for_what_it_is_called_with": """
        @jax.custom_jvp
        def log_bessel(x): return jnp.log(jax.scipy.special.i0e(x)) + x
        @log_bessel.defjvp
        def rule(primals, tangents):
            (x,), (t,) = primals, tangents
            slope = jax.scipy.special.i1e(x) / jax.scipy.special.i0e(x)
            return log_bessel(x), slope * t

        def f(x): return log_bessel(jnp.exp(x))
    """,
    "a_forward_rule_that_computes_the_same_otherwise": """
        @jax.custom_vjp
        def f(x): return jnp.log(jnp.sum(jnp.exp(x)))
        def fwd(x):
            peak = x.max()
            e = jnp.exp(x - peak)
            return peak + jnp.log(e.sum()), e / e.sum()
        def bwd(p, g): return (g * p,)
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda w: f(w * x))(w)
    """,
    "rounded_only_where_it_is_trained": """
        @jax.custom_vjp
        def f(x): return x
        def fwd(x): return jnp.round(x * 8) / 8, None
        def bwd(_, g): return (g,)
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(w) * x))(w)
    """,
    "a_fixed_point": """
        def step(u, x): return 0.4 * jnp.tanh(u) + x

        @jax.custom_vjp
        def f(x):
            def moves(pair): return jnp.max(jnp.abs(pair[0] - pair[1])) > 1e-5
            def turn(pair): return pair[1], step(pair[1], x)
            return jax.lax.while_loop(moves, turn, (x, step(x, x)))[1]

        def fwd(x):
            u = f(x)
            return u, u
        def bwd(u, g): return (g / (1 - 0.4 * (1 - jnp.tanh(u) ** 2)),)
        f.defvjp(fwd, bwd)
    """,
    "a_loop_that_never_ends": """
        @jax.custom_vjp
        def f(x): return jax.lax.while_loop(lambda u: u[0] < 1e9, lambda u: 0.5 * u + x, x)
        def fwd(x): return f(x), None
        def bwd(_, g): return (3 * g,)
        f.defvjp(fwd, bwd)
    """,
    "a_bisection_whose_turns_have_another_derivative": """
        @jax.custom_vjp
        def f(x):
            def halve(bounds, _):
                low, high = bounds
                middle = (low + high) / 2
                below = middle + middle**3 < x
                return (jnp.where(below, middle, low), jnp.where(below, high, middle)), None

            start = -1 - jnp.abs(x), 1 + 2 * jnp.abs(x)
            return jax.lax.scan(halve, start, length=30)[0][0]

        def fwd(x):
            u = f(x)
            return u, u
        def bwd(u, g): return (g / (1 + 3 * u**2),)
        f.defvjp(fwd, bwd)
    """,
    "gradient_reversal": """
        @jax.custom_vjp
        def f(x): return x
        f.defvjp(lambda x: (x, None), lambda _, g: (-g,))
    """,
    "clipped_gradient": """
        @jax.custom_vjp
        def f(x): return jnp.sin(x)
        f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g, -0.1, 0.1) * jnp.cos(x),))
    """,
    "spike": """
        @jax.custom_jvp
        def f(x): return (x > 0).astype(x.dtype)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), dx / (1 + jnp.abs(x)) ** 2
    """,
    "straight_through_round": """
        @jax.custom_vjp
        def f(x): return jnp.round(x)
        f.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
    """,
    "finite_at_zero": """
        @jax.custom_jvp
        def f(x): return jnp.sqrt(jnp.abs(x))
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            safe = jnp.where(x == 0, 1.0, x)
            return f(x), jnp.where(x == 0, 0.0, 0.5 * jnp.sign(x) / f(safe)) * dx
    """,
    "bounded_slope": """
        @jax.custom_jvp
        def f(x): return x**3
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), jnp.minimum(3 * x**2, 2.0) * dx
    """,
    "smooth_relu": """
        @jax.custom_jvp
        def f(x): return jnp.maximum(x, 0)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), jax.nn.sigmoid(4 * x) * dx
    """,
    "not_differentiated_on_purpose": """
        @jax.custom_vjp
        def f(x): return jnp.exp(x)
        f.defvjp(lambda x: (jnp.exp(x), None), lambda _, g: (jnp.zeros_like(g),))
    """,
    "stable": """
        @jax.custom_jvp
        def f(x): return jnp.log(1 + jnp.exp(x))
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), (1 - 1 / (1 + jnp.exp(x))) * dx
    """,
    "implicit_with_a_loop_that_need_not_end": """
        @jax.custom_vjp
        def f(x): return lax.while_loop(lambda v: jnp.any(v != 1.5), lambda v: v + 1, x)
        f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
    """,
    "with_static_argument": """
        @partial(jax.custom_vjp, nondiff_argnums=(1,))
        def f(x, n=2): return x**n
        def fwd(x, n): return x**n, x
        def bwd(n, x, g): return (n * x ** (n - 1) * g,)
        f.defvjp(fwd, bwd)
    """,
}

ENTRY = """
        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(w) * x))(w)
"""


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG)
def test_finds(program: str) -> None:
    assert_claims("grad", with_inputs(program))


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_leaves_deliberate_rules_alone(program: str) -> None:
    assert_claims("grad", with_inputs(program + ENTRY))


def test_says_how_wrong_a_rule_is() -> None:
    (found,) = assert_claims("grad", with_inputs(WRONG["factor"])).issues
    assert "0.5 times" in found.current
    assert found.fix == "multiply it by 2"


def test_verifies_rules_that_are_right() -> None:
    report = assert_claims("grad", with_inputs(RIGHT["stable"] + ENTRY))
    assert {it.code for it in report.verified} == {"GR010", "GR017"}
