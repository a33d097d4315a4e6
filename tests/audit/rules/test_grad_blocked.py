"""What loses a gradient on the way, and what only looks as if it did."""

from __future__ import annotations

import pytest

from .claims import assert_claims
from .derived import with_inputs

WRONG = {
    "argmax": """
        def f(w, x):
            return x[jnp.argmax(w)]  # GR010

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "comparison": """
        def f(w, x):
            return jnp.mean((w > x).astype(jnp.float32))  # GR010

        def entry(w, x): return jax.value_and_grad(f)(w, x)
    """,
    "learned_threshold": """
        def f(params, x):
            kept = jnp.where(x > params["threshold"], x, 0.0)  # GR010
            return jnp.sum(kept * params["scale"])

        def entry(w, x): return jax.grad(f)({"threshold": w[0], "scale": w}, x)
    """,
    "rounding": """
        def f(w, x):
            q = jnp.round(w * 4) / 4  # GR010
            return jnp.sum((q - x) ** 2)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "everything_stopped": """
        def f(w, x):
            y = stop_gradient(w * x)  # GR010
            return jnp.sum(y**2)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "inside_vmap_and_scan": """
        def f(w, x):
            def step(total, e):
                return total + jnp.floor(w[0] * e), None  # GR010
            return lax.scan(step, 0.0, x)[0]

        def entry(w, x): return jax.vmap(lambda a: jax.grad(f)(w * a, x))(x)
    """,
    "accuracy_as_loss": """
        def f(w, x):
            hit = jnp.argmax(w * x) == 1  # GR010
            return -jnp.mean(hit.astype(jnp.float32))

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "dead_error": """
        def f(params, x, r, y, done):
            error = stop_gradient(r - x @ params["w"] @ params["v"])
            policy = -jnp.mean(jax.nn.log_sigmoid(x @ params["w"])[:, 0] * error)
            value = 0.5 * jnp.mean(error**2)  # GR011
            return policy + value

        def entry(*args): return jax.grad(f)(*args)
    """,
    "both_sides_stopped": """
        def f(params, x, r, y, done):
            z = jnp.tanh(x @ params["w"])
            codes = stop_gradient(params["v"])[jnp.argmin(z, -1)]
            book = jnp.mean((stop_gradient(z[:, 0]) - codes) ** 2)  # GR011
            return book + jnp.mean(z**2) + jnp.mean((r - z @ params["v"]) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "cost_from_a_table": """
        def f(w, x):
            cells = jnp.clip(w * 4.0, 0.0, 2.0).astype(jnp.int32)  # GR011
            return jnp.sum(jnp.diff(w) ** 2) + 0.5 * jnp.sum(x[cells])

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "routes_by_softmax": """
        def f(params, x):
            chances = jax.nn.softmax(params["route"] * x)
            which = jax.nn.one_hot(jnp.argmax(chances), 3)  # GR010
            return jnp.sum(which * params["experts"])

        def entry(w, x): return jax.grad(f)({"route": w, "experts": w}, x)
    """,
    "dynamic_bounds": """
        def f(w, n):
            return lax.fori_loop(0, n, lambda i, v: v * w[0], 1.0)  # GR018

        def entry(w, x): return jax.grad(f)(w, jnp.int32(x[0]))
    """,
}

RIGHT = {
    "surrogate_slopes": """
        def f(w, x):
            leaky = jnp.where(w > 0, w, 0.1 * w)
            a = stop_gradient(jnp.maximum(w, 0.0)) + leaky - stop_gradient(leaky)
            inside = w * (jnp.abs(w) < 1.0)
            b = stop_gradient(jnp.sign(w)) + inside - stop_gradient(inside)
            return jnp.sum((a + b) * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "greedy_action_beside_the_gradient": """
        def f(w, x):
            best = jnp.argmax(w * x)
            return jnp.log(jax.nn.softmax(w)[best]), best

        def entry(w, x): return jax.grad(f, has_aux=True)(w, x)
    """,
    "unused_parameter": """
        def f(params, x): return jnp.sum(params["a"] * x)

        def entry(w, x): return jax.grad(f)({"a": w, "b": w}, x)
    """,
    "relu_clip_max_sort": """
        def f(w, x):
            y = jax.nn.relu(w * x) + jnp.clip(w, 0, 1) + jnp.sort(w)
            return jnp.max(y) + jnp.sum(jnp.abs(y)) + jnp.sum(jnp.where(w > 0, w, x))

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "interpolated_table": """
        def f(w, x):
            i = jnp.floor(w[0]).astype(jnp.int32)
            return x[i] + (w[0] - i) * (x[i + 1] - x[i]) + jnp.sum(w)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "forward_mode_through_while": """
        def entry(w, x):
            f = lambda w: lax.while_loop(lambda v: jnp.sum(v) < 50, lambda v: v * w, x)
            return jax.jvp(f, (w + 1,), (x,))
    """,
    "while_beside_the_gradient": """
        def f(w, x):
            n = lax.while_loop(lambda n: n < jnp.sum(x), lambda n: n + 1, 0)
            return jnp.sum(w * x) * n

        def entry(w, x): return jax.grad(f)(w, x)
    """,
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG)
def test_finds(program: str) -> None:
    assert_claims("grad", with_inputs(program))


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_stays_silent(program: str) -> None:
    assert_claims("grad", with_inputs(program))


# A file that is not the user's.
LIBRARY = '''
library = {{}}
text = """
import jax

def value(f):
    def inner(*args):
        return {of_library}f(*args)
    return jax.grad(inner)
"""
exec(compile(text, "<library>", "exec"), library)


def loss(x, y):
    return jnp.sum(jnp.tanh(x) * y)


def entry(x, y):
    return {entry}
'''


@pytest.mark.parametrize(
    ("of_library", "entry", "named"),
    [
        ("", "jax.grad(loss)(x, y)", ["`loss`"]),
        ("", "library['value'](loss)(x, y)", ["`loss`"]),
        ("2 * ", "library['value'](loss)(x, y)", []),
        ("", "jax.grad(lambda x: jnp.sum(x**2))(x)", ["the function of line 25"]),
        ("", "library['value'](lambda x: x @ x)(x)", []),
        ("", "jax.grad(loss)(x, y), jax.grad(loss)(y, x)", ["`loss`"]),
        (
            "",
            "jax.grad(loss)(x, y), jax.grad(lambda x: x @ x)(x)",
            ["`loss`", "the function of line 25"],
        ),
    ],
)
def test_names_the_function_of_the_user_or_says_nothing(
    of_library: str, entry: str, named: list[str]
) -> None:
    program = LIBRARY.format(of_library=of_library, entry=entry)
    report = assert_claims("grad", with_inputs(program))
    claims = sorted(it.claim for it in report.verified)
    of = [it.removeprefix("the gradient of ").partition(" reaches ")[0] for it in claims]
    assert of == named
