"""Random functions with derivatives written by hand, right and wrong, and whether they are right.

The truth is a difference quotient of the function itself, in double precision, against what JAX
makes of the rule, at points and with cotangents that no audit uses.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

# A function of one element, and its derivative.
_FUNCTIONS = {
    "x**3": "3 * x**2",
    "jnp.tanh(x)": "1 - jnp.tanh(x) ** 2",
    "jnp.sin(2 * x)": "2 * jnp.cos(2 * x)",
    "jnp.exp(-x)": "-jnp.exp(-x)",
    "x / (1 + x**2)": "(1 - x**2) / (1 + x**2) ** 2",
    "jnp.sqrt(1 + x**2)": "x / jnp.sqrt(1 + x**2)",
    "jnp.log(1 + jnp.exp(x))": "1 / (1 + jnp.exp(-x))",
    "x * jnp.cos(x)": "jnp.cos(x) - x * jnp.sin(x)",
}
# What becomes of the derivative `d` and the cotangent `g`: mostly what should.
_RULES = [
    *["{d} * g"] * 4,
    "2 * {d} * g",
    "-({d}) * g",
    "{d} * g + 0.05 * g",
    "{d} * 1.004 * g",
    "jnp.where(x > 0, {d}, 0.5 * {d}) * g",
    "{d} * g * jnp.abs(g)",
    "{d}",
    "{d} * jnp.clip(g, -1, 1)",
    "({d}) * g + 0.2 * jnp.sin(x)",
    "jnp.maximum({d}, 0.0) * g",
    "x * g",
    "0 * {d} * g",
]
_JVP = """\
import jax
import jax.numpy as jnp


@jax.custom_jvp
def curve(x):
    return {function}


@curve.defjvp
def curve_rule(primals, tangents):
    (x,), (g,) = primals, tangents
    return {function}, {rule}
"""
_VJP = """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def curve(x):
    return {function}


def forward(x):
    return {function}, x


def backward(x, g):
    return ({rule},)


curve.defvjp(forward, backward)
"""
_LOOPED = "jax.lax.fori_loop(0, 3, lambda i, y: y + ({function}) / 3, 0.0 * x)"
FOOTER = """

def entry(x):
    return jax.grad(lambda x: jnp.sum(curve(x)))(x)


def inputs():
    return (jnp.ones(4),)
"""


def derivative_is_right(program: str, name: str = "curve") -> bool:
    """Whether pulling back by a rule gives what a difference quotient of its function does."""
    own: dict[str, Any] = {}
    exec(program, own)
    plain = own[name].__wrapped__
    rng = np.random.default_rng(20)
    points = np.concatenate([np.linspace(-1.5, 1.5, 31), rng.normal(size=30)])
    cotangents = rng.uniform(-3, 3, points.shape)
    with jax.enable_x64(True):
        ahead, behind = (np.asarray(plain(jnp.asarray(points + it))) for it in (1e-5, -1e-5))
        slopes = (ahead - behind) / 2e-5
    _, pull = jax.vjp(own[name], jnp.asarray(points, jnp.float32))
    (ruled,) = pull(jnp.asarray(cotangents, jnp.float32))
    return bool(np.allclose(ruled, slopes * cotangents, rtol=3e-3, atol=3e-3))


@st.composite
def ruled_programs(draw: st.DrawFn) -> str:
    """The text of a function `curve` with a rule of its own."""
    function, derivative = draw(st.sampled_from(sorted(_FUNCTIONS.items())))
    rule = draw(st.sampled_from(_RULES)).format(d=f"({derivative})")
    kind = draw(st.sampled_from([_JVP, _VJP]))
    is_linear = "abs(g)" not in rule and "clip(g" not in rule and rule.endswith("* g")
    if not is_linear:  # JAX cannot transpose a tangent that is not linear.
        kind = _VJP
    if draw(st.booleans()):
        function = _LOOPED.format(function=function)
    return kind.format(function=function, rule=rule)
