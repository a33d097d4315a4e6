"""Rules about what a program costs: compiling, memory, leaving the device."""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax.audit.rules.registry import find
from verax.audit.run import audit_callable

X = jnp.ones((32, 4))


def found(rule, function, *args):
    report = audit_callable(function, args, {}, rules=[find(rule)], strict=True)
    return report.findings


# --- Unrolled loops


def over_elements(xs):
    h = xs[0]
    for x in xs:
        h = jnp.tanh(h + x)
    return h


def backwards(xs):
    h, outs = xs[0], []
    for t in reversed(range(xs.shape[0])):
        h = 0.9 * h + xs[t]
        outs.append(h)
    return jnp.stack(outs)


def in_a_jitted_cell(xs):
    cell = jax.jit(lambda h, x: jnp.tanh(h + x))
    h = xs[0]
    for t in range(xs.shape[0]):
        h = cell(h, xs[t])
    return h


def descent(xs):
    x = xs[0]
    for _ in range(40):
        x = x - 0.1 * jax.grad(lambda x: jnp.sum(x**2))(x)
    return x


def under_grad(xs):
    def loss(w):
        h = w
        for t in range(xs.shape[0]):
            h = jnp.tanh(h + xs[t])
        return h.sum()

    return jax.grad(loss)(xs[0])


@pytest.mark.parametrize(
    "function", [over_elements, backwards, in_a_jitted_cell, descent, under_grad]
)
def test_an_unrolled_loop_is_found_at_its_head(function):
    (finding,) = found("unrolled-loop", jax.jit(function), X)
    lines = Path(__file__).read_text().splitlines()
    assert lines[finding.place.line - 1].strip().startswith("for ")


def layers(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return x


def short(xs):
    h = xs[0]
    for t in range(8):
        h = jnp.tanh(h + xs[t])
    return h


def independent(xs):
    outs = []
    for t in range(xs.shape[0]):
        outs.append(jnp.tanh(xs[t]) * 2)
    return jnp.stack(outs)


def scanned(xs):
    return lax.scan(lambda h, x: (jnp.tanh(h + x), None), xs[0], xs)[0]


def polynomial(xs):
    return jnp.polyval(jnp.ones(40), xs)


@pytest.mark.parametrize("function", [short, independent, scanned, polynomial])
def test_a_loop_that_is_short_or_has_no_carry_is_left_alone(function):
    assert not found("unrolled-loop", jax.jit(function), X)


def test_a_hundred_layers_are_left_alone():
    params = [jnp.ones((4, 4)) for _ in range(100)]
    assert not found("unrolled-loop", jax.jit(layers), params, X)


def test_what_is_not_compiled_is_left_alone():
    assert not found("unrolled-loop", over_elements, X)


# --- Compilations


@jax.jit
def total(x):
    return x.sum()


def growing(xs):
    return [total(xs[:n]) for n in range(1, 9)]


def shrinking(xs):
    return [total(xs[n:]) for n in range(8)]


def jitted_anew(xs):
    return [jax.jit(lambda x: x * 2)(xs) for _ in range(6)]


def padded(xs):
    return [total(jnp.where(jnp.arange(32)[:, None] < n, xs, 0.0)) for n in range(8)]


def few_sizes(xs):
    return [total(xs[:n]) for n in (8, 16, 32)]


def differing_leaves(xs):
    return [total(jnp.ones(shape)) for shape in ((3,), (4, 4), (7,), (2, 2, 2), (5,))]


@jax.jit
def score(weights, item, mask):
    return (item @ weights * mask[:, None]).sum()


def item_by_item(xs):
    weights = jnp.ones((xs.shape[1], 2))
    return [score(weights, xs[:n], jnp.ones(n)) for n in (3, 7, 4, 9, 20)]


def in_a_few_lengths(xs):
    weights = jnp.ones((xs.shape[1], 2))
    return [score(weights, xs[:n], jnp.ones(n)) for n in (3, 7, 3, 9, 20)]


def layer_by_layer(xs):
    sizes = ((3, 4), (5, 3), (4, 6), (6, 2))
    return [score(jnp.ones((n, 2)), jnp.ones((m, n)), jnp.ones(m)) for m, n in sizes]


def looked_up(xs):
    rows = [np.arange(n) * 2 for n in (3, 7, 4, 9, 6)]
    return [total(xs[row]) for row in rows]


def looked_up_padded(xs):
    rows = [np.resize(np.arange(n) * 2, 9) for n in (3, 7, 4, 9, 6)]
    return [total(xs[row]) for row in rows]


def looked_up_elsewhere(xs):
    tables = [xs * n for n in (3, 7, 4, 9, 6)]
    return [total(it[np.arange(n)]) for n, it in zip((3, 7, 4, 9, 6), tables, strict=True)]


@pytest.mark.parametrize("function", [growing, shrinking, jitted_anew, item_by_item, looked_up])
def test_a_function_that_is_compiled_at_every_call_is_found(function):
    assert len(found("compiled-again", function, X)) == 1


@pytest.mark.parametrize(
    "function",
    [
        padded,
        few_sizes,
        differing_leaves,
        in_a_few_lengths,
        layer_by_layer,
        looked_up_padded,
        looked_up_elsewhere,
        jax.jit(growing),
    ],
)
def test_calls_that_share_a_program_are_left_alone(function):
    assert not found("compiled-again", function, X)


traces = []


def versions(function):
    """How often the function that it calls is traced when it really runs."""
    jax.clear_caches()
    traces.clear()
    function(X)
    return len(traces)


@jax.jit
def accumulated(state, x):
    traces.append(state)
    total, count = state
    return total + x.sum(), count + 1


def from_a_python_number(xs):
    state = (0.0, 0)
    for x in xs[:3]:
        state = accumulated(state, x)
    return state


def in_two_lines(xs):
    state = accumulated((0.0, 0), xs[0])
    return accumulated(state, xs[1])


def from_an_array(xs):
    state = (jnp.float32(0.0), 0)
    for x in xs[:3]:
        state = accumulated(state, x)
    return state


def from_numbers_only(xs):
    return [accumulated((float(n), n), xs[0]) for n in range(3)]


def from_a_filled_array(xs):
    state = (jnp.full(xs.shape[1:], 0.5), 0)
    for x in xs[:3]:
        state = accumulated(state, x)
    return state


def test_an_array_of_python_numbers_is_as_weak_as_these():
    (finding,) = found("compiled-for-weak-type", from_a_filled_array, X)
    assert "state[0] is made of Python numbers alone" in finding.current


@pytest.mark.parametrize("function", [from_a_python_number, in_two_lines])
def test_a_second_version_for_a_python_number_is_found(function):
    (finding,) = found("compiled-for-weak-type", function, X)
    assert "state[0]" in finding.current
    assert versions(function) == 2


@pytest.mark.parametrize("function", [from_an_array, from_numbers_only])
def test_one_version_is_left_alone(function):
    assert not found("compiled-for-weak-type", function, X)
    assert versions(function) == 1


@jax.jit
def scaled(x, factor):
    return x * factor


def test_numbers_here_and_arrays_there_are_left_alone():
    def program(xs):
        return scaled(xs, 2.0) + scaled(xs, xs[0, 0])

    assert not found("compiled-for-weak-type", program, X)


@partial(jax.jit, static_argnames="power")
def raised(x, power):
    traces.append(power)
    return x**power


def test_a_static_number_that_counts_up_is_found():
    def program(xs):
        return [raised(xs, power) for power in range(5)]

    (finding,) = found("compiled-again", program, X)
    assert "raised is compiled 5 times" in finding.current
    assert versions(program) == 5


# --- Constants and memory


def test_only_large_constants_in_compiled_code_are_found():
    table, small = jnp.ones((512, 1024)), jnp.ones((16, 16))

    def lookup(i):
        return table[i]

    assert len(found("captured-constant", jax.jit(lookup), 3 * jnp.ones(2, int))) == 1
    assert not found("captured-constant", lookup, jnp.ones(2, int))
    assert not found("captured-constant", jax.jit(lambda i: small[i]), jnp.ones(2, int))


def test_a_stack_that_is_read_is_left_alone():
    def rollout(x):
        return lax.scan(lambda c, _: (c + 1, c), x, None, length=1000)

    big = jnp.ones(1024)
    assert len(found("stacked-for-nothing", lambda x: rollout(x)[0], big)) == 1
    assert not found("stacked-for-nothing", rollout, big)
    assert not found("stacked-for-nothing", lambda x: rollout(x)[0], jnp.ones(2))


# --- Carries


def test_a_carry_of_whole_numbers_is_left_alone():
    def cut(update):
        def step(acc, x):
            return update(acc, x).astype(acc.dtype), None

        return lambda xs: lax.scan(step, jnp.zeros(4, jnp.int32), xs)[0]

    assert len(found("carry-truncated", cut(lambda acc, x: 0.5 * acc + x), X)) == 1
    assert not found("carry-truncated", cut(lambda acc, x: jnp.floor(0.5 * acc + x)), X)
    assert not found("carry-truncated", cut(lambda acc, x: jnp.round(acc + x)), X)
    assert not found("carry-truncated", cut(lambda acc, x: 2.0 * acc), X)
    # What is cut does not depend on the carry: nothing adds up.
    assert not found("carry-truncated", cut(lambda acc, x: 10 * x), X)
