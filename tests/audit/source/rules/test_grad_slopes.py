"""Derivatives written by hand, held by reading against those of their functions."""

import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from verax.audit.rules.grad.custom_rule_wrong import RULE
from verax.audit.source.analyse import audit_text

from .claims import check_claims, each_of

PROGRAMS = {
    "a sign, a factor and an argument for another": """
        @jax.custom_vjp
        def wave(x, y):
            return jnp.sin(x) * y

        def wave_forward(x, y):
            return wave(x, y), (jnp.cos(x), jnp.sin(x), y)

        def wave_backward(kept, g):
            cos, sin, y = kept
            dx = cos * g * y
            dy = -sin * g  # GR017
            return dx, dy

        wave.defvjp(wave_forward, wave_backward)

        @jax.custom_jvp
        def soft(x):
            return jnp.log1p(jnp.exp(x))

        @soft.defjvp
        def soft_rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return soft(x), 0.5 * jax.nn.sigmoid(x) * dx  # GR017

        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def power(x, n):
            return jnp.sum(x**n)

        def power_forward(x, n):
            return power(x, n), x

        def power_backward(n, x, g):
            return (g * x ** (n - 1),)  # GR017

        power.defvjp(power_forward, power_backward)
        """,
    "right, and written in another way": """
        @jax.custom_vjp
        def wave(x, y):
            return jnp.sin(x) * y

        def wave_forward(x, y):
            return wave(x, y), (x, y)

        def wave_backward(kept, g):
            x, y = kept
            return y * g * jnp.sqrt(1 - jnp.sin(x) ** 2) * jnp.sign(jnp.cos(x)), g * jnp.sin(x)

        wave.defvjp(wave_forward, wave_backward)

        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def power(x, n):
            return jnp.sum(x**n)

        def power_forward(x, n):
            return power(x, n), x

        def power_backward(n, x, g):
            return (g * n * x ** (n - 1),)

        power.defvjp(power_forward, power_backward)
        """,
    "other slopes on purpose": """
        @jax.custom_vjp
        def spike(x):
            return jnp.where(x > 0, 1.0, 0.0)

        spike.defvjp(lambda x: (spike(x), x), lambda x, g: (g / (1 + x**2),))

        @jax.custom_vjp
        def reversed_gradient(x):
            return x

        reversed_gradient.defvjp(lambda x: (x, None), lambda _, g: (-g,))

        @jax.custom_vjp
        def clipped(x):
            return x**2

        clipped.defvjp(lambda x: (x**2, x), lambda x, g: (jnp.clip(2 * x * g, -1.0, 1.0),))
        """,
    "what mixes elements is left open": """
        @jax.custom_vjp
        def normed(x):
            return x / jnp.linalg.norm(x)

        normed.defvjp(lambda x: (normed(x), x), lambda x, g: (g / jnp.linalg.norm(x),))
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims(program, "grad")


# A function of x, and its derivative by the rules that schools teach.
Pair = tuple[str, str]
LEAVES = st.sampled_from([("x", "1.0"), ("(x + 2.0)", "1.0"), ("(0.5 * x)", "0.5")])


def grown(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def outer(pair: Pair, way: str) -> Pair:
        f, df = pair
        return {
            "sin": (f"jnp.sin({f})", f"(jnp.cos({f}) * {df})"),
            "tanh": (f"jnp.tanh({f})", f"((1 - jnp.tanh({f}) ** 2) * {df})"),
            "square": (f"({f} ** 2)", f"(2 * {f} * {df})"),
            "exp": (f"jnp.exp(-({f} ** 2))", f"(-2 * {f} * jnp.exp(-({f} ** 2)) * {df})"),
        }[way]

    def product(one: Pair, other: Pair) -> Pair:
        return f"({one[0]} * {other[0]})", f"({one[1]} * {other[0]} + {one[0]} * {other[1]})"

    ways = st.sampled_from(("sin", "tanh", "square", "exp"))
    return st.builds(outer, inner, ways) | st.builds(product, inner, inner)


TEMPLATE = """
import jax
import jax.numpy as jnp

@jax.custom_vjp
def f(x):
    return {f}

def forward(x):
    return f(x), x

def backward(x, g):
    return ({factor} * {df} * g,)

f.defvjp(forward, backward)
"""


@settings(deadline=None, max_examples=40)
@given(st.recursive(LEAVES, grown, max_leaves=4), st.sampled_from([1.0, -1.0, 2.0, 0.5]))
def test_only_the_derivative_of_a_function_is_taken_for_it(pair: Pair, factor: float):
    f, df = pair
    text = textwrap.dedent(TEMPLATE).format(f=f, df=df, factor=factor)
    report = audit_text(text, strict=True, rules=(RULE,))
    is_right = factor == 1.0
    changes_nothing = f == "x"  # A gradient that is turned round on purpose.
    assert bool(report.issues) == (not is_right and not changes_nothing), text
    assert not is_right or [it.code for it in report.verified] == ["GR017"], text
