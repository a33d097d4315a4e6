"""Bare, a program with emissions is the program without them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import check_assertions, runtime_assert
from verax.channel import Channel, collect, emit

TAPS = Channel("taps")


def tap(x):
    emit(TAPS, {"x": x, "squared": x**2}, static="tap")
    runtime_assert(x.sum() < 5, "x is {x}", {"x": x}, fix_fn=lambda s, a: s, fix_args=x)


def nothing(x):
    pass


def line(check, x):
    check(x)
    return jnp.sin(x) * 2


def scan(check, x):
    def body(total, x):
        check(x)
        return total + jnp.sin(x), total * x

    return lax.scan(body, 0.0, x)


def while_loop(check, x):
    def condition(state):
        check(state[1])
        return state[0] < 4

    def body(state):
        check(state[1])
        return state[0] + 1, state[1] * 2

    return lax.while_loop(condition, body, (0, x))


def vmapped_cond(check, x):
    def one(x):
        return lax.cond(x > 0, lambda x: (check(x), jnp.sin(x))[1], lambda x: -x, x)

    return jax.vmap(one)(x)


def grad_of_scan(check, x):
    return jax.grad(lambda x: scan(check, x)[0])(x)


def remat(check, x):
    return jax.grad(jax.checkpoint(lambda x: line(check, x).sum()))(x)


def custom_derivative(check, x):
    @jax.custom_vjp
    def f(x):
        check(x)
        return jnp.sin(x).sum()

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
    return jax.grad(f)(x)


def jitted(check, x):
    return jax.jit(lambda x: line(check, x))(x)


PROGRAMS = [line, scan, while_loop, vmapped_cond, grad_of_scan, remat, custom_derivative, jitted]
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def compiled_text(function, *args):
    """The optimised program, without what only tells where it came from."""
    text = jax.jit(function).lower(*args).compile().as_text()
    # Newer releases print tables of files and places above the first computation.
    _, start, body = re.split(r"^(%|ENTRY)", text, maxsplit=1, flags=re.MULTILINE)
    body = re.sub(r", metadata=\{[^}]*\}", "", body)
    return start + re.sub(r"(?<=\w)\.\d+", "", body)  # The numbers that end names.


@programs
def test_optimised_program_is_the_same(program):
    x = jnp.array([1.0, -2.0, 3.0])
    with_taps = compiled_text(lambda x: program(tap, x), x)
    assert with_taps == compiled_text(lambda x: program(nothing, x), x)


@programs
def test_traced_program_knows_nothing_of_the_channel(program):
    jaxpr = jax.make_jaxpr(lambda x: program(tap, x))(jnp.array([1.0, -2.0, 3.0]))
    assert jaxpr.effects == set()
    assert not re.search(r"\b(emit|ask)\b", str(jaxpr))


def test_the_comparison_can_fail():
    x = jnp.array([1.0, -2.0, 3.0])
    assert compiled_text(lambda x: line(nothing, x), x) != compiled_text(lambda x: jnp.cos(x), x)


def test_question_leaves_no_trace():
    def asks(x):
        return jnp.where(check_assertions(), x * 2, x)

    x = jnp.array([1.0])
    assert compiled_text(asks, x) == compiled_text(lambda x: x * 2, x)


@pytest.mark.parametrize(
    "program",
    [program for program in PROGRAMS if program is not while_loop],  # Which cannot stack.
    ids=lambda f: f.__name__,
)
def test_collected_after_it_ran_bare(program):
    """A trace that JAX keeps from a bare run must not serve a collector, nor the reverse."""
    x = jnp.array([1.0, -2.0, 3.0])

    @jax.jit
    def function(x):
        return program(lambda x: emit(TAPS, x * 10), x)

    bare = function(x)
    value, emissions = collect(function, TAPS)(x)
    assert len(emissions) == 1
    again = function(x)
    for one, two, three in zip(*map(jax.tree.leaves, (bare, value, again)), strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)
    assert len(collect(function, TAPS)(x)[1]) == 1


def test_jitted_function_inside_of_a_collected_one_after_a_bare_run():
    inner = jax.jit(lambda x: (emit(TAPS, x), x + 1)[1])

    def outer(x):
        return inner(x) * 2

    assert outer(jnp.array(1)) == 4
    value, (emission,) = collect(outer, TAPS)(jnp.array(1))
    assert (value, emission.payload) == (4, 1)
    assert jax.make_jaxpr(outer)(1).effects == set()


def test_bare_run_inside_of_a_collector_of_another_channel():
    """Only what is collected is recorded."""
    other = Channel("other")
    _, emissions = collect(lambda x: (emit(TAPS, x), emit(other, -x)), other)(jnp.array(1))
    assert [emission.payload for emission in emissions] == [-1]


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_emission_survives_elimination_of_dead_code(jit):
    """Neither the emission nor what it needs is used for any result."""

    def program(x):
        jax.jit(lambda x: emit(TAPS, x * 3))(x)
        lax.scan(lambda c, _: (c, emit(TAPS, c * 5)), x, None, length=2)
        jax.checkpoint(lambda x: emit(TAPS, x * 7))(x)
        lax.cond(x > 0, lambda x: emit(TAPS, x * 11), lambda x: None, x)
        return 0

    run = jit(lambda x: [emission.payload for emission in collect(program, TAPS)(x)[1]])
    assert [np.asarray(payload).tolist() for payload in run(jnp.array(1))] == [3, [5, 5], 7, 11]


def test_unused_gradient_keeps_its_emissions():
    def program(x):
        jax.grad(lambda x: (emit(TAPS, x), x**2)[1])(x)
        return x

    _, emissions = collect(program, TAPS)(jnp.array(3.0))
    assert [e.payload for e in emissions] == [3.0]
