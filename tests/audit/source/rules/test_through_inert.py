"""What does nothing to an array stands between nobody and a bug, by reading as by tracing."""

import jax
import jax.numpy as jnp
import pytest
from jax.ad_checkpoint import checkpoint_name

from verax.audit.rules.registry import find
from verax.audit.run import audit_callable
from verax.audit.source.analyse import audit_text

from ..otherwise.inert import _through as through
from ..otherwise.rewriting import rewrite
from .reading import found

LOSS = """
    from jax.ad_checkpoint import checkpoint_name
    import equinox as eqx

    def loss(w, x, reward, following, end):
        value = x @ w
        target = THROUGH(reward + 0.9 * (following @ w))
        return jnp.mean((target - value) ** 2)

    def update(w, x, reward, following, end):
        return w - 0.1 * jax.grad(loss)(w, x, reward, following, end)

    update(jnp.ones(3), jnp.ones((5, 3)), jnp.ones(5), jnp.ones((5, 3)), jnp.zeros(5))
"""


@pytest.mark.parametrize(
    "through",
    [
        "jnp.asarray",
        "jnp.float32",
        "jax.device_put",
        "lax.optimization_barrier",
        "functools.partial(checkpoint_name, name='target')",
        "functools.partial(lax.with_sharding_constraint, shardings=None)",
        "(lambda it: it.astype(it.dtype))",
        "(lambda it: it.astype(jnp.float32))",
        "(lambda it: it.reshape(it.shape))",
        "(lambda it: eqx.error_if(it, jnp.any(it > 9), 'too much'))",
    ],
)
def test_a_value_stays_what_it_is(through: str):
    assert found("GR014", LOSS.replace("THROUGH", through)) == [6]
    stopped = f"(lambda it: lax.stop_gradient({through}(it)))"
    assert found("GR014", LOSS.replace("THROUGH", stopped)) == []


def test_a_cast_to_the_type_that_an_array_has():
    rule, code = find("AX008"), "AX008"
    assert {it.code for it in audit_text(_cast(rule.wrong)).findings} >= {code}
    assert code not in {it.code for it in audit_text(_cast(rule.right)).findings}


def _cast(program: str) -> str:
    """A program in which every array that has a name was cast to what it is."""
    return rewrite(program, lambda tree: through(tree, "jax.numpy.float32(ARRAY)")).text


def test_a_key_that_was_put_on_a_device_is_the_key_that_it_was():
    program = """
        def noise(key, x):
            shared = jax.device_put(key)
            return jax.random.normal(key, x.shape) + jax.random.uniform(shared, x.shape)
    """
    assert found("RK001", program) == [3]


def test_a_number_becomes_an_array():
    program = """
        @jax.jit
        def f(x):
            if jax.device_put(1.0) > 0:
                return x
            return -x
    """
    assert found("JT201", program) == [3]


def _stays(w, x, reward, following, through):
    def loss(w):
        return jnp.mean((through(reward + 0.9 * (following @ w)) - x @ w) ** 2)

    return w - 0.1 * jax.grad(loss)(w)


@pytest.mark.parametrize(
    "through",
    [jax.lax.optimization_barrier, lambda it: checkpoint_name(it, "target")],
    ids=["barrier", "name"],
)
def test_a_traced_value_stays_what_it_is(through):
    x = jnp.linspace(0.0, 1.0, 15).reshape(5, 3)

    def update(w, x, reward, following):
        return _stays(w, x, reward, following, through)

    def stopped(w, x, reward, following):
        return _stays(w, x, reward, following, lambda it: jax.lax.stop_gradient(through(it)))

    given = (jnp.ones(3), x, jnp.ones(5), x + 1.0)
    assert "GR014" in {it.code for it in audit_callable(update, given, {}).issues}
    assert "GR014" not in {it.code for it in audit_callable(stopped, given, {}).issues}
