"""Straight-through estimators, right and wrong."""

from __future__ import annotations

import pytest

from .claims import assert_claims
from .derived import with_inputs

WRONG = {
    "mirrored": """
        def f(w, x):
            q = jnp.round(w)
            return jnp.sum((w + stop_gradient(w - q)) * x)  # GR013

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "computed_twice": """
        def f(w, x):
            y = jnp.round(w) + stop_gradient(w - jnp.round(w))  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "subtracted": """
        def f(w, x):
            q = jnp.sign(w)
            return jnp.sum((q - stop_gradient(q - w)) * x)  # GR013

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "hard_sample": """
        def f(w, x):
            soft = jax.nn.softmax(w)
            hard = jax.nn.one_hot(jnp.argmax(soft), 3)
            y = stop_gradient(soft - hard) + hard  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "value_of_the_sample_cancels": """
        def f(w, x):
            soft = jax.nn.softmax(w)
            hard = jax.nn.one_hot(jnp.argmax(soft), 3)
            return jnp.sum((soft + hard - stop_gradient(hard)) * x)  # GR013

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "rounded_in_part": """
        def f(w, x):
            signs = jnp.mean(jnp.abs(w)) * jnp.where(w > 0, 1.0, -1.0)
            y = stop_gradient(w) - stop_gradient(signs) + signs  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "nothing_stopped": """
        def f(w, x):
            y = w + (jnp.round(w) - w)  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "uphill": """
        def f(w, x):
            y = stop_gradient(jnp.round(w) + w) - w  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "given_in_the_wrong_order": """
        def value_of(shown, trained):
            return trained + stop_gradient(shown - trained)

        def fire(u):
            smooth = jax.nn.sigmoid(4 * u)
            return value_of(smooth, jnp.round(u))  # GR013

        def entry(w, x): return jax.grad(lambda w: jnp.sum(fire(w * x) ** 2))(w)
    """,
    "learned_after_it_passes_its_gradient_on": """
        def f(w, codes):
            code = codes[jnp.argmin(jnp.abs(w[0] - codes))]
            passed = w[0] + stop_gradient(code - w[0])
            learn = (passed - stop_gradient(w[0])) ** 2  # GR013
            return learn + (stop_gradient(code) - w[0]) ** 2 + jnp.sum(codes**2)

        def entry(w, x): return jax.grad(f, argnums=(0, 1))(w, x)
    """,
    "takes_itself_away": """
        def signs(w):
            return jnp.sign(w) * jnp.mean(jnp.abs(w))

        def passed(x, quantise):
            return x + stop_gradient(quantise(x)) - x  # GR013

        def f(w, x):
            return jnp.sum(passed(w, signs) * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
}

RIGHT = {
    "moved_and_how_far": """
        def f(w, x):
            moved = w + stop_gradient(jnp.sign(w) * jnp.mean(jnp.abs(w)))
            return jnp.sum(moved * x) + jnp.sum((moved - w) ** 2)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "taken_away": """
        def f(w, x):
            through = w + stop_gradient(jnp.round(w) - w)
            return jnp.sum((x - through) ** 2) + jnp.sum((1.0 - stop_gradient(through)) * w)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "turned_round_on_purpose": """
        def entry(w, x):
            return jax.grad(lambda w: jnp.sum((stop_gradient(w) + stop_gradient(w) - w) * x))(w)
    """,
    "nearest_images_of_all_pairs": """
        def energy(w, x):
            away = w[:, None] - w[None, :]
            nearest = away - 2.0 * jnp.round(away / 2.0)
            return jnp.sum(jnp.exp(-(nearest**2))) + jnp.sum(w * x)
        def entry(w, x): return jax.grad(energy)(w, x)
    """,
    "correct_straight_through": """
        def f(w, x):
            q = jnp.round(w)
            hard = jax.nn.one_hot(jnp.argmax(w), 3)
            soft = jax.nn.softmax(w)
            y = w + stop_gradient(q - w) + (stop_gradient(hard - soft) + soft)
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "surrogate_value": """
        def f(w, x):
            surrogate = jnp.sum(w * x)
            return surrogate + stop_gradient(jnp.sum(jnp.round(w)) - surrogate)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG)
def test_finds(program: str) -> None:
    assert_claims("grad", with_inputs(program))


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_stays_silent(program: str) -> None:
    assert_claims("grad", with_inputs(program))
