"""Meanings, recognised however they are written, and held to the numbers that they promise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.audit.trace.entry import trace
from verax.audit.trace.facts import Facts

X = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)), jnp.float32)


def meaning_of(function, *args):
    facts = Facts(trace(function, args, {}), None, None)
    (out,) = facts.program.body.outputs
    return facts.meaning.get(out), facts.meaning.phrase(out)


def plain_softmax(x):
    return jnp.exp(x) / jnp.exp(x).sum(axis=0, keepdims=True)


def shifted_softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=0, keepdims=True))
    return e / jnp.sum(e, axis=0, keepdims=True)


@pytest.mark.parametrize(
    "softmax", [shifted_softmax, lambda x: jax.nn.softmax(x, axis=0), jax.jit(shifted_softmax)]
)
def test_softmax_sums_to_one_over_the_axis_that_is_named(softmax):
    found, _ = meaning_of(softmax, X)
    assert found is not None
    assert found.kind == "probabilities"
    np.testing.assert_allclose(softmax(X).sum(axis=found.axes), 1.0, rtol=1e-5)


def test_two_exponentials_of_the_same_are_not_mistaken():
    # They are two values here; nothing is claimed rather than something wrong.
    found, _ = meaning_of(plain_softmax, X)
    assert found is None or found.kind == "probabilities"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.nn.log_softmax(x, axis=1),
        lambda x: x - jax.nn.logsumexp(x, axis=1, keepdims=True),
    ],
)
def test_log_probabilities_have_a_logsumexp_of_zero(function):
    found, _ = meaning_of(function, X)
    assert found is not None
    assert found.kind == "log-probabilities"
    np.testing.assert_allclose(jax.nn.logsumexp(function(X), axis=found.axes), 0.0, atol=1e-5)


KINDS = {
    "one-hot": lambda x: jax.nn.one_hot(x[:, 0].astype(int), 4),
    "clipped": lambda x: jnp.clip(x, -1.0, 1.0),
    "squashed": lambda x: jax.nn.sigmoid(x),
    "sampled": lambda x: jax.random.normal(jax.random.key(0), (3,)),
    "scaled": lambda x: x / 255.0,
    "cast": lambda x: x.astype(jnp.bfloat16),
    "standardised": lambda x: (x - x.mean(0, keepdims=True)) / x.std(0, keepdims=True),
    "logsumexp": lambda x: jax.nn.logsumexp(x, axis=1),
}


@pytest.mark.parametrize(("kind", "function"), KINDS.items(), ids=KINDS.keys())
def test_kinds(kind, function):
    found, phrase = meaning_of(function, X)
    assert found is not None
    assert found.kind == kind
    assert phrase


def test_statistics_are_named():
    def f(mean, var, x):
        return (x - mean[None]) * jax.lax.rsqrt(var[None] + 1e-5)

    found, phrase = meaning_of(f, jnp.zeros(4), jnp.ones(4), X)
    assert found is not None
    assert phrase == "normalised by mean and var"


def test_an_embedding_names_its_table():
    found, phrase = meaning_of(lambda table, ids: table[ids], X, jnp.array([0, 2]))
    assert found is not None
    assert phrase == "embedded: rows of table"


def test_arithmetic_means_nothing():
    found, phrase = meaning_of(lambda x: (x + 1.0) * 2.0 - x, X)
    assert (found, phrase) == (None, "")


def test_a_complex_constant_is_no_real_number():
    # Warnings are errors here: reading a part of the constant would be one.
    found, phrase = meaning_of(lambda x: x.sum(axis=0) / (5 + 1j), X.astype(jnp.complex64))
    assert found is None, phrase
