"""Values that refuse derivatives, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.transforms import non_differentiable


def marked(x, y):
    return jnp.sum(non_differentiable(x) * y)


def test_it_is_the_identity_on_trees_under_jit_vmap_and_scan():
    tree = {"x": jnp.arange(3.0), "n": jnp.array([1, 2, 3])}
    for run in (non_differentiable, jax.jit(non_differentiable), jax.vmap(non_differentiable)):
        jax.tree.map(np.testing.assert_array_equal, run(tree), tree)
    _, out = jax.lax.scan(lambda c, x: (c, non_differentiable(x)), 0.0, tree["x"])
    np.testing.assert_array_equal(out, tree["x"])


@pytest.mark.parametrize(
    "differentiate",
    [
        lambda f: jax.grad(f)(2.0),
        lambda f: jax.jvp(f, (2.0,), (1.0,)),
        lambda f: jax.vjp(f, 2.0),
        lambda f: jax.linearize(f, 2.0),
        lambda f: jax.jacfwd(f)(2.0),
        lambda f: jax.hessian(f)(2.0),
        lambda f: jax.grad(jax.jit(f))(2.0),
        lambda f: jax.jit(jax.grad(f))(2.0),
        lambda f: jax.grad(jax.checkpoint(f))(2.0),
        lambda f: jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, length=2)[0])(2.0),
        lambda f: jax.grad(lambda x: jnp.sum(jax.vmap(f)(x)))(jnp.ones(3)),
    ],
    ids=["grad", "jvp", "vjp", "linearize", "jacfwd", "hessian", "grad of jit", "jit of grad",
         "checkpoint", "scan", "vmap"],
)  # fmt: skip
def test_every_derivative_is_refused(differentiate):
    with pytest.raises(NotImplementedError, match="which is marked non_differentiable"):
        differentiate(lambda x: non_differentiable(x * 2.0) ** 2)


def test_derivatives_with_respect_to_something_else_pass():
    x, y = jnp.arange(3.0), jnp.ones(3)
    np.testing.assert_array_equal(jax.grad(marked, argnums=1)(x, y), x)
    np.testing.assert_array_equal(jax.grad(jax.jit(marked), argnums=1)(x, y), x)
    stopped = jax.grad(lambda x: jnp.sum(x * non_differentiable(jax.lax.stop_gradient(x))))(x)
    np.testing.assert_array_equal(stopped, x)


def test_the_message_says_what_was_reached_and_what_to_do():
    with pytest.raises(NotImplementedError) as caught:
        jax.grad(lambda x: jnp.sum(non_differentiable({"a": x})["a"]))(jnp.ones(3))
    text = str(caught.value)
    assert "a derivative reached ['a'] float32[3]" in text
    assert "jax.lax.stop_gradient" in text
