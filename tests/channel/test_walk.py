"""How a program is walked: once, and only where there is something to bring out."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.extend.source_info_util import summarize
from jax.interpreters import batching, mlir

from verax import runtime_assert, with_runtime_assertions
from verax.channel import (
    Channel,
    Collector,
    Fold,
    Scope,
    UnknownPrimitiveError,
    Visit,
    collect,
    emit,
    evaluate,
    recording,
    register,
)

TAPS = Channel("taps")


def equations(jaxpr):
    """All equations of a program and of those inside it."""
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.params.values():
            for item in value if isinstance(value, (tuple, list)) else [value]:
                if hasattr(item, "eqns"):
                    yield from equations(item)


def nested(depth, count, check):
    """Scans inside of each other; `count` is told of every Python call of a body."""

    def level(k):
        def body(carry, x):
            count(k)
            check(carry)
            return (level(k - 1)(carry) if k else carry + x), None

        return lambda x: lax.scan(body, x, jnp.zeros(2))[0]

    return level(depth)


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_the_function_is_traced_once(jit):
    calls = []

    def program(x):
        calls.append(x)
        emit(TAPS, x)
        return x + 1

    run = jit(lambda x: [e.payload for e in collect(program, TAPS)(x)[1]])
    run(jnp.array(1))
    assert len(calls) == 1


@pytest.mark.parametrize("wrap", [
    lambda f: f,
    jax.jit,
    jax.vmap,
    jax.checkpoint,
    lambda f: jax.grad(lambda x: f(x).sum()),
    lambda f: jax.vmap(jax.grad(f)),
    lambda f: lambda x: lax.scan(lambda c, x: (c + f(x), None), 0.0, x),
    lambda f: lambda x: lax.cond(x.sum() > 0, f, lambda x: x, x),
    lambda f: jax.vmap(lambda x: lax.cond(x > 0, f, lambda x: x, x)),
    lambda f: lambda x: lax.while_loop(lambda x: x.sum() < 9, f, x),
    lambda f: jax.vmap(lambda x: lax.while_loop(lambda x: x < 9, f, x)),
    lambda f: lambda x: lax.map(f, x, batch_size=2),
    lambda f: jax.grad(lambda x: lax.scan(lambda c, x: (c + f(x), None), 0.0, x)[0]),
], ids=[
    "plain", "jit", "vmap", "remat", "grad", "vmap_grad", "scan", "cond", "vmap_cond", "while",
    "vmap_while", "map_batches", "grad_scan",
])  # fmt: skip
def test_functions_inside_are_traced_as_often_as_bare(wrap):
    calls = []

    def inner(x):
        calls.append(x)
        runtime_assert(x < 5, "x is {x}", {"x": x})
        return x + 1

    x = jnp.arange(4.0)
    jax.make_jaxpr(wrap(inner))(x)
    bare = len(calls)
    with_runtime_assertions(wrap(inner))(x)
    assert len(calls) - bare == bare


def test_bodies_of_nested_scans_are_traced_as_often_as_bare():
    calls = []
    program = nested(4, calls.append, lambda x: runtime_assert(x < 9, "x"))
    jax.make_jaxpr(program)(0.0)
    bare = sorted(calls)
    calls.clear()
    jax.make_jaxpr(lambda x: with_runtime_assertions(program)(x)[0])(jnp.array(0.0))
    assert sorted(calls) == bare


def _size(depth):
    """The work of collecting from scans nested so deeply: laws applied, and equations made."""
    used = {"combine": 0, "neutral": 0}

    def combine(a, b):
        used["combine"] += 1
        return Visit(a.payload | b.payload, b.path)

    def neutral(shapes):
        used["neutral"] += 1
        return jnp.zeros(shapes.shape, shapes.dtype)

    channel = Channel("any", Fold(combine, neutral))
    program = nested(depth, lambda k: None, lambda x: emit(channel, x > 5))
    made = jax.make_jaxpr(lambda x: collect(program, channel)(x)[0])(jnp.array(0.0))
    return used["combine"], used["neutral"], len(list(equations(made)))


def test_work_grows_with_the_number_of_assertions_times_depth_at_most():
    """Level k passes k + 1 loops on its way out, so here work is quadratic in depth.

    What doubled with each level would be 64 times as much at depth 7 as at depth 1.
    """
    sizes = [_size(depth) for depth in (1, 3, 7)]
    for first, second, third in zip(*sizes, strict=True):
        assert second <= 4 * first
        assert third <= 4 * second


def _innermost_size(depth):
    used = []
    channel = Channel(
        "any",
        Fold(
            lambda a, b: used.append("combine") or Visit(a.payload | b.payload, b.path),
            lambda shapes: used.append("neutral") or jnp.zeros(shapes.shape, shapes.dtype),
        ),
    )

    def level(k):
        def body(carry, x):
            if k == 0:
                emit(channel, carry > 5)
            return (level(k - 1)(carry) if k else carry + x), None

        return lambda x: lax.scan(body, x, jnp.zeros(2))[0]

    made = jax.make_jaxpr(lambda x: collect(level(depth - 1), channel)(x)[0])(jnp.array(0.0))
    return used.count("combine"), used.count("neutral"), len(list(equations(made)))


def test_work_for_one_assertion_grows_linearly_with_depth():
    combines, neutrals, sizes = zip(*map(_innermost_size, range(1, 9)), strict=True)
    assert combines == tuple(range(1, 9))
    assert neutrals == tuple(range(1, 9))
    steps = set(np.diff(sizes).tolist())
    assert len(steps) == 1, f"{sizes} do not grow by the same number at each level"


def test_programs_without_payload_pass_through_untouched():
    """The very objects that JAX made are in the collected program."""

    def program(x):
        y = lax.scan(lambda c, x: (c + x, c), 0.0, x)[0]
        z = lax.cond(y > 0, lambda y: y, lambda y: -y, y)
        w = jax.jit(lambda z: z * 2)(z)
        emit(TAPS, w)
        return lax.while_loop(lambda w: w < 9, lambda w: w + 1, w)

    with recording(TAPS):
        recorded = jax.make_jaxpr(program)(jnp.zeros(3))
    held = {"jaxpr", "branches", "cond_jaxpr", "body_jaxpr"}
    before = [id(eqn.params[name]) for eqn in recorded.eqns for name in held & eqn.params.keys()]
    assert len(before) == 5

    scope = Scope(Collector(frozenset([TAPS])))
    jaxpr = getattr(recorded, "jaxpr", recorded)

    def run(x):
        return evaluate(scope, jaxpr, recorded.consts, [x])[0]

    collected = jax.make_jaxpr(run)(jnp.zeros(3))
    after = [id(eqn.params[name]) for eqn in collected.eqns for name in held & eqn.params.keys()]
    assert before == after


def named(eqns, primitive):
    return [eqn for eqn in eqns if str(eqn.primitive) == primitive]


@pytest.mark.parametrize("check", [
    lambda x: None, lambda x: runtime_assert(x > 0, "positive")
], ids=["bare", "asserting"])  # fmt: skip
def test_name_scopes_survive(check):
    def program(x):
        with jax.named_scope("outer"):
            x = jnp.sin(x)

            def body(c, _):
                with jax.named_scope("inner"):
                    check(c)
                    return jnp.cos(c), None

            return lax.scan(body, x, None, length=2)[0]

    made = jax.make_jaxpr(lambda x: with_runtime_assertions(program)(x)[0])(jnp.array(1.0))
    everything = list(equations(made))
    (sin,), (cos,) = named(everything, "sin"), named(everything, "cos")
    assert str(sin.source_info.name_stack) == "outer"
    assert str(cos.source_info.name_stack) == "inner"
    (scan,) = named(everything, "scan")
    assert str(scan.source_info.name_stack) == "outer"


def test_source_lines_survive():
    def program(x):
        def body(c, _):
            runtime_assert(c > 0, "positive")
            return jnp.cos(c), None

        return lax.scan(body, jnp.sin(x), None, length=2)[0]

    bare = jax.make_jaxpr(program)(1.0)
    made = jax.make_jaxpr(lambda x: with_runtime_assertions(program)(x)[0])(jnp.array(1.0))
    for name in ("sin", "cos", "scan"):
        (one,), (other,) = named(equations(bare), name), named(equations(made), name)
        assert summarize(other.source_info) == summarize(one.source_info)
        assert __file__ in summarize(other.source_info)


def test_jitted_parts_keep_their_names():
    @jax.jit
    def inner_part(x):
        runtime_assert(x > 0, "positive")
        return jnp.cos(x)

    made = jax.make_jaxpr(lambda x: with_runtime_assertions(inner_part)(x)[0])(jnp.array(1.0))
    assert "inner_part" in [eqn.params.get("name") for eqn in equations(made)]


def invented():
    """A primitive that holds a program, of which nobody has heard."""
    twice_p = Primitive("twice")

    def run(x, *, program):
        for _ in range(2):
            (x,) = jaxpr_as_fun(program)(x)
        return x

    twice_p.def_impl(run)
    twice_p.def_effectful_abstract_eval(lambda x, *, program: (x, program.effects))
    mlir.register_lowering(twice_p, mlir.lower_fun(run, multiple_results=False))
    batching.primitive_batchers[twice_p] = lambda args, dims, **params: (
        jax.vmap(lambda x: run(x, **params))(*args),
        0,
    )
    return twice_p, lambda f, x: twice_p.bind(x, program=jax.make_jaxpr(f)(x))


def tapped(x):
    emit(TAPS, x)
    return x * 3


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
class TestUnknownPrimitive:
    def program(self):
        _, twice = invented()
        return lambda x: (emit(TAPS, x), twice(tapped, x))[1]

    def test_raise(self, jit):
        program = self.program()
        with pytest.raises(UnknownPrimitiveError) as caught:
            jit(lambda x: collect(program, TAPS)(x)[0])(jnp.array(1))
        text = str(caught.value)
        for part in ("taps", "'twice'", __file__, "register", "on_unknown"):
            assert part in text

    def test_warn(self, jit):
        program = self.program()
        run = jit(lambda x: _payloads(collect(program, TAPS, on_unknown="warn")(x)))
        with pytest.warns(UserWarning, match="'twice'"):
            value, payloads = run(jnp.array(1))
        assert (value, payloads) == (9, [1])

    def test_ignore(self, jit):
        program = self.program()
        run = jit(lambda x: _payloads(collect(program, TAPS, on_unknown="ignore")(x)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert run(jnp.array(1)) == (9, [1])

    def test_without_payload(self, jit):
        """Nobody needs to know a primitive that holds nothing."""
        _, twice = invented()

        def program(x):
            return (emit(TAPS, x), twice(lambda x: x * 3, x))[1]

        run = jit(lambda x: _payloads(collect(program, TAPS)(x)))
        assert run(jnp.array(1)) == (9, [1])

    def test_registered(self, jit):
        twice_p, twice = invented()

        class Twice:
            def specs(self, collector, eqn, depth):
                return [
                    spec
                    for _ in range(2)
                    for spec in collector.specs(eqn.params["program"].jaxpr, depth)
                ]

            def run(self, scope, eqn, args):
                program, emitted = eqn.params["program"], []
                for _ in range(2):
                    args, new = evaluate(scope, program.jaxpr, program.consts, args)
                    emitted += new
                return args, emitted

        register(twice_p, Twice())

        def program(x):
            return (twice(tapped, x), emit(TAPS, -x))[0]

        run = jit(lambda x: _payloads(collect(program, TAPS)(x)))
        assert run(jnp.array(1)) == (9, [1, 3, -1])


def _payloads(collected):
    value, emissions = collected
    return value, [emission.payload for emission in emissions]


def test_unknown_primitive_of_an_assertion():
    _, twice = invented()

    def checked(x):
        return (runtime_assert(x > 9, "large"), x)[1]

    def program(x):
        return twice(checked, x)

    with pytest.raises(UnknownPrimitiveError, match="assertions"):
        with_runtime_assertions(program)(jnp.array(1))
    value, assertions = with_runtime_assertions(program, on_unknown="ignore")(jnp.array(1))
    assert (value, assertions) == (1, [])
