"""What verax takes from private JAX is where it was, and does what it did.

Each test names the thing in `verax/_jax.py` that it is about.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import ClosedJaxpr, Primitive
from jax.extend.core import primitives as public
from jax.sharding import PartitionSpec as P

from verax import _jax

MESH = jax.make_mesh((2, 4), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def only_equation(function, *args):
    (eqn,) = jax.make_jaxpr(function)(*args).eqns
    return eqn


def test_remat_p():
    assert only_equation(jax.checkpoint(jnp.sin), 1.0).primitive is _jax.remat_p


def custom_vmap():
    sine = jax.custom_batching.custom_vmap(jnp.sin)
    sine.def_vmap(lambda axis_size, in_batched, x: (x, True))
    return sine


def test_custom_vmap_p():
    eqn = only_equation(custom_vmap(), 1.0)
    assert eqn.primitive is _jax.custom_vmap_p


def sharded(x, **options):
    return jax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("a"), out_specs=P("a"), **options)(
        x
    )


def test_shard_map_p():
    assert only_equation(sharded, jnp.zeros(8)).primitive is _jax.shard_map_p


@pytest.mark.parametrize(
    ("names", "expected"), [({"a"}, ("a",)), ({"b", "a"}, ("a", "b"))], ids=["one", "both"]
)
def test_axes_made_manual(names, expected):
    eqn = only_equation(lambda x: sharded(x, axis_names=names), jnp.zeros(8))
    assert _jax.axes_made_manual(eqn) == expected


def test_manual_axes_and_vary_over():
    seen = []

    def body(x):
        seen.append(sorted(_jax.manual_axes()))
        ones = _jax.vary_over(jnp.ones(2), ("a", "b"))
        assert _jax.vary_over(ones, ("a", "b")) is ones
        # Only values that vary alike may be the two branches of a conditional.
        return lax.cond(x[0] > 0, lambda: _jax.vary_over(x, ("b",)), lambda: ones[: x.size])

    jax.make_jaxpr(jax.shard_map(body, mesh=MESH, in_specs=P("a"), out_specs=P(("a", "b"))))(
        jnp.zeros(4)
    )
    assert seen == [["a", "b"]]
    assert _jax.manual_axes() == ()
    x = jnp.ones(2)
    assert _jax.vary_over(x, ()) is x


class Mark(_jax.Effect):
    pass


def marked():
    mark_p = Primitive("mark")
    mark_p.multiple_results = True
    mark_p.def_effectful_abstract_eval(lambda: ([], {Mark()}))
    return lambda: mark_p.bind()


def test_allow_effect_everywhere():
    """An effect that was allowed stays in the program, wherever it is."""
    _jax.allow_effect_everywhere(Mark)
    mark = marked()

    @jax.custom_jvp
    def custom(x):
        mark()
        return x

    custom.defjvp(lambda primals, tangents: (primals[0], tangents[0]))

    def body(c, _):
        mark()
        return c, None

    programs = {
        "scan": lambda x: lax.scan(body, x, None, length=2),
        "cond": lambda x: lax.cond(x > 0, lambda: (mark(), x)[1], lambda: x),
        "while": lambda x: lax.while_loop(lambda x: x < 1, lambda x: (mark(), x + 1)[1], x),
        "remat": jax.checkpoint(lambda x: (mark(), x)[1]),
        "custom_jvp": custom,
        "jit": jax.jit(lambda x: (mark(), x)[1]),
    }
    for name, program in programs.items():
        kinds = {type(effect) for effect in jax.make_jaxpr(program)(1.0).effects}
        assert kinds == {Mark}, name


def test_closed():
    eqn = only_equation(lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=2), 1.0)
    inner, consts = _jax.closed(eqn.params["jaxpr"])
    assert [str(e.primitive) for e in inner.eqns] == ["sin"]
    assert list(consts) == []
    remat = only_equation(jax.checkpoint(jnp.sin), 1.0)
    inner, consts = _jax.closed(remat.params["jaxpr"])
    assert [str(e.primitive) for e in inner.eqns] == ["sin"]
    assert list(consts) == []


HOLDERS = {
    "jit": (jax.jit(jnp.sin), 1),
    "scan": (lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=2)[0], 1),
    "while": (lambda x: lax.while_loop(lambda x: x < 0, jnp.sin, x), 2),
    "remat": (jax.checkpoint(jnp.sin), 1),
    "custom_vmap": (custom_vmap(), 1),
    "sin": (jnp.sin, 0),
}


@pytest.mark.parametrize(("function", "count"), HOLDERS.values(), ids=HOLDERS)
def test_inner_jaxprs(function, count):
    assert len(list(_jax.inner_jaxprs(only_equation(function, 1.0)))) == count


def test_inner_jaxprs_of_cond_and_of_a_root():
    cond = jax.make_jaxpr(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0).eqns[-1]
    assert len(list(_jax.inner_jaxprs(cond))) == 2

    def root(x):
        return lax.custom_root(lambda y: y - x, x, lambda f, y: y - f(y), lambda g, y: y)

    eqns = jax.make_jaxpr(root)(1.0).eqns
    held = [str(e.primitive) for eqn in eqns for j in _jax.inner_jaxprs(eqn)
            for e in _jax.closed(j)[0].eqns]  # fmt: skip
    assert "sub" in held


def custom_square():
    square = jax.custom_jvp(lambda x: x**2)
    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 100 * tangents[0]))
    return square


def custom_cube():
    cube = jax.custom_vjp(lambda x: x**3)
    cube.defvjp(lambda x: (x**3, None), lambda _, g: (100 * g,))
    return cube


BOUND = {
    "sin": jnp.sin,
    "jit": jax.jit(jnp.sin),
    "custom_jvp": custom_square(),
    "custom_vjp": custom_cube(),
    "scan": lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=2)[0],
    "remat": jax.checkpoint(jnp.sin),
}


@pytest.mark.parametrize("function", BOUND.values(), ids=BOUND)
def test_bind_equation(function):
    """An equation runs on other arguments, and its derivative is still its own."""
    eqn = only_equation(function, 1.0)
    x = jnp.array(0.5)
    np.testing.assert_allclose(_jax.bind_equation(eqn, [x])[0], function(x))
    np.testing.assert_allclose(
        jax.grad(lambda x: _jax.bind_equation(eqn, [x])[0])(x), jax.grad(function)(x)
    )


def test_equation_context_and_source_line():
    def function(x):
        with jax.named_scope("here"):
            return jnp.sin(x)

    eqn = only_equation(function, 1.0)
    assert _jax.source_line(eqn).startswith(f"{__file__}:")

    def elsewhere(x):
        with jax.named_scope("there"), _jax.equation_context(eqn):
            return lax.cos(x)

    other = only_equation(elsewhere, 1.0)
    assert str(other.source_info.name_stack) == "there/here"
    assert _jax.source_line(other) == _jax.source_line(eqn)


@pytest.mark.parametrize("reverse", [True, False])
def test_scan_parts(reverse):
    def function(k, x, xs):
        return lax.scan(
            lambda c, x: (c * k + x[0], x[1]), x, (xs, xs * 2), reverse=reverse, unroll=3
        )

    jaxpr = jax.make_jaxpr(function)(2.0, 1.0, jnp.arange(3.0))
    eqn = jaxpr.eqns[-1]
    assert eqn.primitive is public.scan_p
    args = [object() for _ in eqn.invars]
    parts = _jax.ScanParts(eqn, args)
    assert (parts.length, parts.reverse, parts.unroll) == (3, reverse, 3)
    assert [len(parts.consts), len(parts.init), len(parts.xs)] == [1, 1, 2]
    assert [*parts.consts, *parts.init, *parts.xs] == args
    assert "mul" in [str(e.primitive) for e in parts.body.eqns]
    assert set(parts.options) <= {"_split_transpose"}


@pytest.mark.parametrize(("nonzero", "tangents"), [([True, False], 1), ([True, True], 2)])
def test_jvp_of_jaxpr(nonzero, tangents):
    jaxpr = jax.make_jaxpr(lambda x, y: (x * y, 3.0))(2.0, 5.0)
    derivative, out = _jax.jvp_of_jaxpr(jaxpr, nonzero)
    assert isinstance(derivative, ClosedJaxpr)
    assert list(out) == [True, False]
    results = jax.extend.core.jaxpr_as_fun(derivative)(2.0, 5.0, *[1.0] * tangents)
    assert [float(r) for r in results] == [10.0, 3.0, 5.0 + 2.0 * (tangents == 2)]


def test_zero_tangent():
    zero = _jax.zero_tangent(jnp.ones((2,), jnp.int32))
    assert isinstance(zero, _jax.Zero)
    assert zero.aval.shape == (2,)
    assert zero.aval.dtype == jax.dtypes.float0


def test_put_rules_before():
    """Ours where we say so, those that were there elsewhere; for `vmap`, `jvp` and `grad`."""
    used = []

    def batch(name):
        def rule(axis_data, args, dims, **params):
            used.append(f"{name} batch")
            return own_p.bind(*args, **params), dims[0]

        return rule

    def jvp(name):
        def rule(primals, tangents, **params):
            used.append(f"{name} jvp")
            return own_p.bind(*primals, **params), tangents[0] * 2

        return rule

    def linearize(*args, **params):
        used.append("their linearize")
        return _jax._ad.fallback_linearize_rule(own_p, *args, **params)

    own_p = Primitive("own")
    own_p.def_impl(lambda x, *, ours: x)
    own_p.def_abstract_eval(lambda x, *, ours: x)
    jax.interpreters.batching.fancy_primitive_batchers[own_p] = batch("their")
    jax.interpreters.ad.primitive_jvps[own_p] = jvp("their")
    _jax._ad.primitive_linearizations[own_p] = linearize
    _jax.put_rules_before(own_p, lambda params: params["ours"], batch("our"), jvp("our"))

    ours, theirs = (lambda x, ours=ours: own_p.bind(x, ours=ours) for ours in (True, False))
    for function, expected in [
        (ours, ["our batch", "our jvp", "our jvp"]),
        (theirs, ["their batch", "their jvp", "their linearize", "their jvp"]),
    ]:
        used.clear()
        jax.vmap(function)(jnp.ones(2))
        jax.jvp(function, (1.0,), (1.0,))
        assert jax.grad(function)(1.0) == 2
        assert used == expected


def test_vmap_like():
    """Called from a batching rule, with what JAX says about the axis there."""
    twin_p = Primitive("twin")
    twin_p.def_abstract_eval(lambda x: x)
    seen = []

    def rule(axis_data, args, dims):
        def one(x):
            seen.append(x.shape)
            return x * lax.axis_size("i")

        return _jax.vmap_like(one, axis_data, dims)(*args), 0

    jax.interpreters.batching.fancy_primitive_batchers[twin_p] = rule
    run = jax.vmap(lambda x: twin_p.bind(x), in_axes=1, axis_name="i")
    np.testing.assert_array_equal(jax.jit(run)(jnp.ones((2, 3))), np.full((3, 2), 3.0))
    assert seen == [(2,)]
    without_name = jax.vmap(lambda x: twin_p.bind(x))
    with pytest.raises(NameError, match="unbound axis name"):
        without_name(jnp.ones((2, 3)))


def test_ENTRY_POINTS():
    """The auditor replaces these; `tests/audit/trace/test_capture.py` says what for."""
    assert {"batch", "vjp", "jvp", "linearize", "scan", "while_loop"} <= set(_jax.ENTRY_POINTS)
    assert all(callable(function) for function in _jax.ENTRY_POINTS.values())


def test_differentiation_settings():
    import sys

    from verax.audit.trace.capture import regions

    seen = []

    def loss(x, y):
        seen.append(_jax.differentiation_settings(sys._getframe()))
        return x * y

    with regions():
        jax.make_jaxpr(jax.grad(loss, argnums=1))(1.0, 2.0)
    # A frame of the user's is not one of JAX's, whatever called it.
    assert seen == [None]


def test_origin_of():
    def named(x):
        return x

    name, file, line = _jax.origin_of(named)
    assert (name, file) == ("named", __file__)
    assert line == named.__code__.co_firstlineno


def test_source_of():
    def named(x):
        return x + 1

    name, file, line = _jax.source_of(jax.make_jaxpr(named)(1.0).jaxpr)
    assert (name, file, line) == ("named", __file__, named.__code__.co_firstlineno)


def test_raw_frames():
    def named(x):
        return jnp.sin(x)

    frames = _jax.raw_frames(only_equation(named, 1.0))
    assert named.__code__ in [code for code, _ in frames]
