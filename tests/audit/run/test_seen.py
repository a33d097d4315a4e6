"""Which calls are seen, with which arguments, and what is said of compilations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import verax
from verax.audit.frontends.run.calls import Call, signature_of
from verax.audit.frontends.run.copies import Copies
from verax.audit.frontends.run.session import Session


def observed(program, **options):
    """What a recorder knows after a program has run."""
    session = Session(**options)
    session.start()
    try:
        program()
    finally:
        session.stop()
    assert session.recorder is not None
    assert session.recorder.failures == []
    return session.recorder.functions


def names(functions):
    return {(kind, origin.name.rpartition(".")[2]) for kind, origin in functions}


def double(x):
    return 2 * x


def total(x):
    return jnp.sum(x * x)


class Model:
    scale = 3.0

    def apply(self, x):
        return self.scale * x

    def __call__(self, x):
        return self.scale + x


JITTED_BEFORE = jax.jit(double)
jit_taken_before = jax.jit
scan_taken_before = jax.lax.scan

WAYS = {
    "older than the run": (lambda x: JITTED_BEFORE(x), ("jit", "double")),
    "name of jit older": (lambda x: jit_taken_before(double)(x), ("jit", "double")),
    "call": (lambda x: jax.jit(double)(x), ("jit", "double")),
    "partial": (lambda x: jax.jit(functools.partial(double))(x), ("jit", "double")),
    "method": (lambda x: jax.jit(Model().apply)(x), ("jit", "apply")),
    "object": (lambda x: jax.jit(Model())(x), ("jit", "Model")),
    "of vmap": (lambda x: jax.jit(jax.vmap(double))(x), ("jit", "double")),
    "of grad": (lambda x: jax.jit(jax.grad(total))(x), ("jit", "total")),
    "lowered": (lambda x: jax.jit(double).lower(x).compile()(x), ("jit", "double")),
    "vmap": (lambda x: jax.vmap(double)(x), ("vmap", "double")),
    "grad": (lambda x: jax.grad(total)(x), ("grad", "total")),
    "value and grad": (lambda x: jax.value_and_grad(total)(x), ("grad", "total")),
    "vjp": (lambda x: jax.vjp(double, x), ("vjp", "double")),
    "jvp": (lambda x: jax.jvp(double, (x,), (x,)), ("jvp", "double")),
    "jacobian": (lambda x: jax.jacrev(double)(x), ("jacobian", "double")),
    "scan": (lambda x: jax.lax.scan(lambda c, y: (c + y, y), 0.0, x), ("scan", "<lambda>")),
    "scan's name older": (
        lambda x: scan_taken_before(lambda c, y: (c + y, y), 0.0, x),
        ("scan", "<lambda>"),
    ),
    "pmap": (lambda x: jax.pmap(double)(x[:2]), ("pmap", "double")),
}


@pytest.mark.parametrize(("program", "expected"), WAYS.values(), ids=WAYS)
def test_calls_are_seen(program, expected):
    jax.clear_caches()
    found = observed(lambda: program(jnp.arange(4.0)))
    assert names(found) == {expected}
    (function,) = found.values()
    (call,) = function.calls
    # What is kept can be called again, and does the same.
    args = jax.tree.map(lambda it: it if callable(it) else jnp.asarray(it), call.args)
    jax.eval_shape(lambda: call.function(*args, **call.kwargs))


def test_what_jax_does_for_itself_is_not_seen():
    def program():
        x = jnp.where(jnp.arange(4) > 2, 1.0, 0.0)
        jax.random.normal(jax.random.key(0), (3,)) + x.sum()
        jnp.linalg.solve(jnp.eye(3), jnp.ones(3))
        jnp.vectorize(jnp.sin)(x)

    assert observed(program) == {}


def test_what_is_called_inside_is_part_of_the_outer_call():
    @jax.jit
    def outer(x):
        return jax.lax.scan(lambda c, y: (JITTED_BEFORE(c), y), x[0], x)[0]

    def program():
        outer(jnp.ones(3))
        jax.vmap(outer)(jnp.ones((2, 3)))

    assert names(observed(program)) == {("jit", "outer"), ("vmap", "outer")}


def test_arguments_are_kept_as_they_were():
    @functools.partial(jax.jit, donate_argnums=0, static_argnames="mode")
    def step(state, rate, key, mode):
        return jax.tree.map(lambda x: x * rate, state)

    state = {"a": jnp.arange(3.0), "b": jnp.arange(4)}
    found = observed(lambda: step(state, 0.5, jax.random.key(1), mode="fast"))
    ((call,),) = (function.calls for function in found.values())
    assert call.donated == {0, "state"}
    assert call.static == {"mode", 3}
    kept, rate, key = call.args
    assert isinstance(kept["a"], np.ndarray)
    np.testing.assert_array_equal(kept["a"], [0.0, 1.0, 2.0])
    assert kept["b"].dtype == np.int32
    assert rate == 0.5
    assert jnp.array_equal(jax.random.key_data(key), jax.random.key_data(jax.random.key(1)))
    assert call.kwargs == {"mode": "fast"}


def test_copies_end_with_the_budget():
    copies = Copies(budget=20)
    small, large, key = copies.of((jnp.ones(3), jnp.ones(3), np.float32(2)))
    assert isinstance(small, np.ndarray)
    assert large == jax.ShapeDtypeStruct((3,), np.float32)
    assert key == np.float32(2)


def test_weak_types_are_told_apart():
    def of(x):
        return signature_of(Call("jit", None, double, (x,), {}))  # type: ignore[arg-type]

    assert of(1.0) != of(jnp.float32(1.0))
    assert of(jnp.ones(2)) == of(np.ones(2, np.float32))
    assert of(jnp.ones(2)) != of(jnp.ones(2, jnp.int32))


def test_the_run_computes_the_same_and_leaves_nothing():
    x = jnp.linspace(0.0, 1.0, 7)
    before = jax.lax.scan
    bare = jax.jit(total)(x), jax.grad(total)(x)
    jax.clear_caches()
    found = []
    observed(lambda: found.extend((jax.jit(total)(x), jax.grad(total)(x))))
    for one, other in zip(bare, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert jax.lax.scan is before


def recompiled(program):
    with verax.observe() as seen:
        program()
    return {it.name.rpartition(".")[2]: it for it in seen.report.compiled}


def test_recompilations_are_explained():
    @functools.partial(jax.jit, static_argnames="n")
    def shapes(x, n=1):
        return x * n

    def program():
        shapes(jnp.ones((8, 4)))
        shapes(jnp.ones((9, 4)))
        shapes(jnp.ones((9, 4)), n=2)
        shapes(jnp.ones((9, 4), jnp.int32), n=2)
        shapes(3.0, n=2)
        shapes(jnp.float32(3.0), n=2)
        shapes(jnp.ones((8, 4)))

    found = recompiled(program)["shapes"]
    assert found.count == 6
    assert found.seconds > 0
    assert [it.reason for it in found.again] == [
        "`x`: f32[8,4] → f32[9,4]",
        "`n` is new",
        "`x`: f32[9,4] → i32[9,4]",
        "`x`: i32[9,4] → a Python float",
        "`x`: a Python float → f32[]",
    ]
    lines = [it.place.line for it in found.again]
    assert lines == list(range(lines[0], lines[0] + 5))
    first = program.__code__.co_firstlineno
    assert lines[0] == first + 2


def test_new_functions_are_explained():
    def program():
        for _ in range(3):
            jax.jit(lambda x: x + 1)(jnp.ones(3))

    found = recompiled(program)["<lambda>"]
    assert found.count == 3
    assert {it.reason.partition(":")[0] for it in found.again} == {
        "a new function object with the same arguments"
    }


def test_steps_end_the_outermost_loop():
    calls = {"step": 0, "inner": 0}
    inner = jax.jit(lambda x: x * 2)
    step = jax.jit(lambda x: x + 1)

    def one(x):
        for _ in range(4):
            x = inner(x)
            calls["inner"] += 1
        return x

    def program():
        x = one(jnp.ones(3))
        while True:
            x = step(x)
            calls["step"] += 1
            x = one(x)

    from verax.audit.frontends.run.steps import StepsDoneError

    with pytest.raises(StepsDoneError):
        observed(program, steps=5)
    assert calls["step"] == 5


def test_signatures_are_limited():
    def program():
        for size in range(1, 6):
            JITTED_BEFORE(jnp.ones(size))

    jax.clear_caches()
    ((function,),) = (observed(program, signatures=2).values(),)
    assert len(function.calls) == 2
    assert len(function.compiled) == 5
