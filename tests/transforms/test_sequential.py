"""One by one in both directions, compared with what JAX gives for the plain function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.transforms import sequential_vmap_with_vjp


def plain(x, scale):
    """A function."""
    return {"y": jnp.sin(x) * scale, "total": jnp.sum(x**2) * scale}


def loss(f):
    return lambda x, scale: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(f(x, scale)))


sequential = sequential_vmap_with_vjp(plain)
X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)), jnp.float32)
SCALE = jnp.arange(1.0, 5.0)


def agree(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), ours, theirs)


RUNS = {
    "call": lambda f: f(X[0], 2.0),
    "keywords": lambda f: f(x=X[0], scale=2.0),
    "jit": lambda f: jax.jit(f)(X[0], 2.0),
    "vmap": lambda f: jax.vmap(f)(X, SCALE),
    "vmap over one": lambda f: jax.vmap(f, in_axes=(0, None))(X, 2.0),
    "vmap over another axis": lambda f: jax.vmap(f, in_axes=(1, None), out_axes=0)(X, 2.0),
    "vmap of vmap": lambda f: jax.vmap(jax.vmap(f, (0, None)), (None, 0))(X, SCALE),
    "grad": lambda f: jax.grad(loss(f), argnums=(0, 1))(X[0], 2.0),
    "vmap of grad": lambda f: jax.vmap(jax.grad(loss(f), argnums=(0, 1)))(X, SCALE),
    "grad of vmap": lambda f: jax.grad(lambda x: jnp.sum(jax.vmap(loss(f))(x, SCALE)))(X),
    "grad, one shared": lambda f: jax.grad(
        lambda s: jnp.sum(jax.vmap(loss(f), (0, None))(X, s))
    )(2.0),
    "jacrev": lambda f: jax.jacrev(lambda x: f(x, 2.0)["y"])(X[0]),
    "jit of vmap of grad": lambda f: jax.jit(jax.vmap(jax.grad(loss(f))))(X, SCALE),
    "scan": lambda f: jax.lax.scan(lambda c, x: (c, f(x, 2.0)), 0.0, X)[1],
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_it_agrees_with_the_plain_function(run):
    agree(run(sequential), run(plain))


def batch_sizes(run):
    """How large the arrays are that the function itself sees."""
    seen = []

    @sequential_vmap_with_vjp
    def watched(x, scale):
        jax.debug.callback(lambda value: seen.append(value.shape), x)
        return jnp.sum(x**2) * scale

    jax.block_until_ready(run(watched))
    jax.effects_barrier()
    return seen


def test_the_function_is_run_once_an_entry_in_both_directions():
    assert batch_sizes(lambda f: jax.vmap(f)(X, SCALE)) == [(3,)] * 4
    assert batch_sizes(lambda f: jax.vmap(jax.grad(f))(X, SCALE)) == [(3,)] * 8


def test_integers_pass_without_a_derivative():
    @sequential_vmap_with_vjp
    def pick(x, index):
        return x[index] ** 2, index + 1

    indices = jnp.array([0, 2, 1, 0])
    values, nexts = jax.vmap(pick)(X, indices)
    np.testing.assert_allclose(values, np.asarray(X)[np.arange(4), indices] ** 2)
    np.testing.assert_array_equal(nexts, indices + 1)
    slopes = jax.vmap(jax.grad(lambda x, i: pick(x, i)[0]))(X, indices)
    expected = np.zeros((4, 3))
    expected[np.arange(4), indices] = 2 * np.asarray(X)[np.arange(4), indices]
    np.testing.assert_allclose(slopes, expected, rtol=1e-6)


def test_name_documentation_and_defaults_are_kept():
    assert (sequential.__name__, sequential.__doc__) == ("plain", "A function.")

    @sequential_vmap_with_vjp
    def scaled(x, factor=3.0):
        return x * factor

    np.testing.assert_array_equal(jax.vmap(scaled)(X), X * 3.0)


def test_keyword_only_arguments_are_refused_by_name():
    @sequential_vmap_with_vjp
    def scaled(x, *, factor):
        return x * factor

    with pytest.raises(TypeError, match=r"scaled has keyword-only arguments \(factor\)"):
        scaled(1.0, factor=2.0)
