"""Wrappers do what JAX does, and keep names and documentation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from verax.transforms import jit, linearize, shard_map, vectorize


def scaled(x, factor=2.0):
    """Multiply."""
    return x * factor


class Scaler:
    """Multiplies."""

    def __call__(self, x):
        """Multiply by two."""
        return x * 2.0


def mesh(axes=("i",), shape=(8,)):
    return jax.sharding.Mesh(np.array(jax.devices()).reshape(shape), axes)


WRAPPED = {
    "jit": jit,
    "jit with options": jit(keep_unused=True),
    "vectorize": vectorize,
    "vectorize with options": vectorize(signature="()->()"),
    "shard_map": lambda f: shard_map(f, mesh=mesh(), in_specs=P("i"), out_specs=P("i")),
}
FUNCTIONS = {
    "a function": (scaled, "scaled", "Multiply."),
    "a partial function": (functools.partial(scaled, factor=2.0), "scaled", "Multiply."),
    "a callable object": (Scaler(), "Scaler", "Multiplies."),
    "a bound method": (Scaler().__call__, "__call__", "Multiply by two."),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize(("function", "name", "doc"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_names_and_documentation_are_kept(wrap, function, name, doc):
    wrapped = wrap(function)
    assert (wrapped.__name__, wrapped.__doc__) == (name, doc)
    np.testing.assert_array_equal(wrapped(jnp.arange(8.0)), 2 * np.arange(8.0))


def test_compiled_programs_carry_the_name():
    assert "jit_Scaler" in jit(Scaler()).lower(1.0).as_text()
    assert "jit_scaled" in jit(functools.partial(scaled, factor=3.0)).lower(1.0).as_text()


def test_static_arguments_by_name_and_number():
    traces = []

    def power(x, n):
        traces.append(n)
        return x**n

    by_name, by_number = jit(power, static_argnames="n"), jit(static_argnums=1)(power)
    assert [float(by_name(2.0, n=3)), float(by_name(3.0, n=3)), float(by_number(2.0, 3))] == [
        8,
        27,
        8,
    ]
    assert traces == [3, 3]


def test_static_arguments_of_partial_functions():
    def power(x, n, offset):
        return x**n + offset

    assert float(jit(functools.partial(power, offset=1.0), static_argnames="n")(2.0, n=3)) == 9.0


def test_donated_buffers_are_gone_and_shardings_are_applied():
    doubled = jit(scaled, out_shardings=NamedSharding(mesh(), P("i")))
    assert doubled(jnp.arange(8.0)).sharding.spec == P("i")
    for options in ({"donate_argnames": "x"}, {"donate_argnums": 0}):
        x = jnp.arange(8.0)
        jit(scaled, **options)(x)
        assert x.is_deleted()


def test_inlined_functions_leave_no_call_behind():
    def calls(inner):
        return jax.jit(lambda x: inner(x) + 1.0).lower(1.0).as_text().count("call @scaled")

    assert (calls(jit(scaled, inline=True)), calls(jit(scaled))) == (0, 1)


def test_unused_arguments_stay_when_asked_for():
    def first(x, y):
        return x

    kept = jit(first, keep_unused=True).lower(1.0, 2.0).as_text()
    dropped = jit(first).lower(1.0, 2.0).as_text()
    assert (kept.count("%arg1"), dropped.count("%arg1")) == (1, 0)


def test_an_unknown_option_is_refused_at_once():
    with pytest.raises(TypeError, match="static_argnum"):
        jit(static_argnum=1)


def test_jitted_methods_bind():
    class Model:
        @jit(static_argnums=0)
        def double(self, x):
            return 2 * x

    assert float(Model().double(3.0)) == 6.0


def test_vectorize_broadcasts_like_a_ufunc():
    @vectorize(signature="(n),(n)->()", excluded=(2,))
    def dot(a, b, name):
        assert name == "plain"
        return jnp.sum(a * b)

    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, (4, 1, 3)), rng.uniform(1, 2, (1, 5, 3))
    np.testing.assert_allclose(dot(a, b, "plain"), np.sum(a * b, axis=-1), rtol=1e-5)


def test_shard_map_gives_each_device_its_shard():
    @functools.partial(
        shard_map, mesh=mesh(("x", "y"), (2, 4)), in_specs=P("x", "y"), out_specs=P("x", "y")
    )
    def shard_sum(shard):
        assert shard.shape == (2, 1)
        return jnp.sum(shard, keepdims=True)

    x = np.arange(16.0).reshape(4, 4)
    expected = x.reshape(2, 2, 4, 1).sum((1, 3))
    np.testing.assert_array_equal(shard_sum(jnp.asarray(x)), expected)


def test_shard_map_infers_shards_from_explicitly_sharded_arguments():
    explicit = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
    x = jax.device_put(jnp.arange(8.0), NamedSharding(explicit, P("i")))
    with jax.set_mesh(explicit):
        total = shard_map(lambda shard: jax.lax.psum(shard, "i"), out_specs=P())
        np.testing.assert_array_equal(total(x), [28.0])


def test_linearize_gives_the_derivative():
    def f(x, y):
        return {"a": x**2 * y}

    value, slope = linearize(f, 3.0, 2.0)
    assert float(value["a"]) == 18.0
    assert float(slope(1.0, 0.0)["a"]) == 12.0
    assert float(slope(0.0, 1.0)["a"]) == 9.0
    value, slope, aux = linearize(lambda x: (x**2, "note"), 3.0, has_aux=True)
    assert (float(value), float(slope(1.0)), aux) == (9.0, 6.0, "note")
