"""What comes out of a collected function, and in which order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

from verax.channel import (
    Channel,
    Fold,
    Query,
    Stack,
    Visit,
    ask,
    collect,
    emit,
    is_recording,
    recording,
)

STACKED = Channel("stacked")
SUMMED = Channel(
    "summed",
    Fold(
        lambda a, b: Visit(jax.tree.map(jnp.add, a.payload, b.payload), b.path),
        lambda shapes: jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes),
    ),
)
jits = pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])


def payloads(program, *args, channel=STACKED, jit=lambda f: f):
    value, emissions = jit(lambda *args: _arrays(collect(program, channel)(*args)))(*args)
    bare = program(*args)
    jax.tree.map(np.testing.assert_array_equal, value, bare)
    return [jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), one) for one in emissions]


def _arrays(collected):
    value, emissions = collected
    return value, [emission.payload for emission in emissions]


@jits
def test_in_program_order(jit):
    def program(x):
        emit(STACKED, x)
        y = jax.jit(lambda x: (emit(STACKED, x * 2), x + 1)[1])(x)
        emit(STACKED, (y, {"deep": [y, y * 2]}))
        return y

    assert payloads(program, jnp.array(1), jit=jit) == [1, 2, (2, {"deep": [2, 4]})]


def test_what_an_emission_says():
    def program(x):
        emit(STACKED, x, static=("layer", 3))
        return x

    _, (emission,) = collect(program, STACKED)(jnp.array(1))
    assert emission.static == ("layer", 3)
    assert (emission.lanes, emission.path) == (0, None)
    assert (emission.site.file, emission.site.function) == (
        __file__,
        "test_what_an_emission_says.<locals>.program",
    )


@jits
def test_scan_stacks(jit):
    def program(xs):
        def body(total, x):
            emit(STACKED, {"total": total, "x": x})
            return total + x, None

        return lax.scan(body, 0, xs)

    assert payloads(program, jnp.array([1, 2, 3]), jit=jit) == [
        {"total": [0, 1, 3], "x": [1, 2, 3]}
    ]


@jits
def test_reverse_scan_stacks_in_the_order_of_its_inputs(jit):
    def program(xs):
        return lax.scan(lambda c, x: (c + x, emit(STACKED, c)), 0, xs, reverse=True)

    assert payloads(program, jnp.array([1, 2, 3]), jit=jit) == [[5, 3, 0]]


@jits
def test_nested_scans_stack_outer_first(jit):
    def program(rows):
        def inner(c, x):
            return (c, emit(STACKED, x))

        return lax.scan(lambda c, row: (c, lax.scan(inner, None, row)), None, rows)

    assert payloads(program, jnp.array([[1, 2, 3], [4, 5, 6]]), jit=jit) == [[[1, 2, 3], [4, 5, 6]]]


@jits
def test_zero_length_scan_stacks_nothing(jit):
    def program(xs):
        return lax.scan(lambda c, x: (c, emit(STACKED, x)), None, xs)

    _, (payload,) = jit(lambda xs: _arrays(collect(program, STACKED)(xs)))(jnp.zeros((0, 2)))
    assert payload.shape == (0, 2)


@jits
@pytest.mark.parametrize(("chosen", "expected"), [(True, [0, 3]), (False, [6, 0])])
def test_zeros_for_a_branch_not_taken(jit, chosen, expected):
    def program(chosen, x):
        return lax.cond(
            chosen,
            lambda x: (emit(STACKED, x), x)[1],
            lambda x: (emit(STACKED, x * 2), x)[1],
            x,
        )

    assert payloads(program, jnp.array(chosen), jnp.array(3), jit=jit) == expected


def test_own_neutral_for_a_branch_not_taken():
    channel = Channel(
        "nan", Stack(lambda shapes: jax.tree.map(lambda s: jnp.full(s.shape, -1.0), shapes))
    )

    def program(x):
        return lax.cond(x > 0, lambda x: emit(channel, x), lambda x: None, x)

    assert payloads(program, jnp.array(-5.0), channel=channel) == [-1.0]


@jits
def test_scan_of_cond_stacks_zeros_where_not_taken(jit):
    def program(xs):
        def body(c, x):
            lax.cond(x > 1, lambda x: emit(STACKED, x), lambda x: None, x)
            return c, None

        return lax.scan(body, None, xs)

    assert payloads(program, jnp.array([1, 2, 3]), jit=jit) == [[0, 2, 3]]


@pytest.mark.parametrize("place", ["body", "condition"])
def test_stacking_in_a_while_loop_is_refused(place):
    def program(x):
        def condition(x):
            if place == "condition":
                emit(STACKED, x)
            return x < 5

        def body(x):
            if place == "body":
                emit(STACKED, x)
            return x + 1

        return lax.while_loop(condition, body, x)

    with pytest.raises(ValueError, match="stacks the payloads of a loop") as caught:
        collect(program, STACKED)(jnp.array(0))
    text = str(caught.value)
    assert "Channel('stacked')" in text
    assert text.count(__file__) == 2  # Of the loop, and of the emission.
    assert "Use a scan, or a channel that folds." in text


@jits
def test_folding_in_all_loops(jit):
    def program(xs):
        lax.scan(lambda c, x: (c, emit(SUMMED, x)), None, xs)
        lax.while_loop(lambda i: i < 3, lambda i: (emit(SUMMED, i), i + 1)[1], 0)
        lax.fori_loop(0, 3, lambda i, _: emit(SUMMED, {"x": xs[i]}), None)
        return xs

    expected = [6, 3, {"x": 6}]
    assert payloads(program, jnp.array([1, 2, 3]), channel=SUMMED, jit=jit) == expected


def test_shard_map_stacks_devices_and_folds_over_them():
    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))

    def program(xs):
        def body(x):
            emit(STACKED, x[0])
            emit(SUMMED, x[0])
            return x

        return jax.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(xs)

    xs = jnp.arange(8)
    assert payloads(program, xs, channel=STACKED) == [list(range(8))]
    assert payloads(program, xs, channel=SUMMED) == [28]
    _, emissions = jax.jit(lambda xs: _arrays(collect(program, STACKED, SUMMED)(xs)))(xs)
    assert [np.asarray(e).tolist() for e in emissions] == [list(range(8)), 28]


@jits
def test_axes_of_vmap_lead_those_of_loops(jit):
    def program(rows):
        return jax.vmap(lambda row: lax.scan(lambda c, x: (c, emit(STACKED, x)), None, row))(rows)

    rows = jnp.arange(6).reshape(2, 3)
    lanes = []

    @jit
    def run(rows):
        _, (emission,) = collect(program, STACKED)(rows)
        lanes.append(emission.lanes)
        return emission.payload

    np.testing.assert_array_equal(run(rows), rows)
    assert lanes == [1]


def test_arguments_that_are_not_arrays_arrive_as_they_are():
    def program(x, name, *, flag, n, function):
        assert (name, flag, n) == ("text", True, 3)
        assert isinstance(n, int)
        emit(STACKED, x * n)
        return function(x), name, n

    value, (emission,) = collect(program, STACKED)(
        np.array(2), "text", flag=True, n=3, function=lambda x: x + 1
    )
    assert value == (3, "text", 3)
    assert emission.payload == 6


def test_two_channels_at_once():
    other = Channel("other")

    def program(x):
        emit(STACKED, x)
        emit(other, x * 2, static="o")
        emit(STACKED, x * 3)
        return x

    _, emissions = collect(program, STACKED, other)(jnp.array(1))
    assert [(e.static, int(e.payload)) for e in emissions] == [(None, 1), ("o", 2), (None, 3)]


@jits
def test_collectors_inside_of_collectors(jit):
    """The inner one collects its own channel, the outer one the other."""
    mine, theirs = Channel("mine"), Channel("theirs")

    def inner(x):
        emit(mine, x)
        emit(theirs, x * 10)
        return x + 1

    def outer(x):
        emit(mine, x * 100)
        y, emissions = collect(inner, mine)(x)
        return y, [e.payload for e in emissions]

    @jit
    def run(x):
        (y, collected), others = collect(outer, theirs)(x)
        return y, collected, [e.payload for e in others]

    y, collected, others = run(jnp.array(1))
    assert (int(y), [int(e) for e in collected], [int(e) for e in others]) == (2, [1], [10])


@jits
def test_collectors_of_the_same_channel_inside_of_each_other(jit):
    def inner(x):
        emit(STACKED, x)
        return x

    def outer(x):
        _, emissions = collect(inner, STACKED)(x)
        emit(STACKED, emissions[0].payload * 10)
        return x

    assert payloads(outer, jnp.array(3), jit=jit) == [30]


def test_collector_inside_of_a_scan():
    def program(xs):
        def body(c, x):
            _, emissions = collect(lambda x: emit(STACKED, x * 2), STACKED)(x)
            return c, emissions[0].payload

        return lax.scan(body, None, xs)[1]

    np.testing.assert_array_equal(jax.jit(program)(jnp.arange(3)), [0, 2, 4])


COUNT = Query(SUMMED, 0, lambda count, payload: count + jnp.sum(payload))


@jits
def test_questions(jit):
    """The answer takes in all that was emitted before, in loops and branches too."""

    def program(xs):
        first = ask(COUNT)
        emit(SUMMED, xs[0])
        second = ask(COUNT)

        def body(c, x):
            emit(SUMMED, x)
            return c, ask(COUNT)

        third = lax.scan(body, None, xs)[1]
        lax.cond(xs[0] > 99, lambda: emit(SUMMED, xs[0]), lambda: emit(SUMMED, xs[1]))
        return first, second, third, ask(COUNT)

    value = jit(lambda xs: collect(program, SUMMED)(xs)[0])(jnp.array([1, 2, 3]))
    first, second, third, last = (np.asarray(leaf).tolist() for leaf in value)
    assert (first, second, third, last) == (0, 1, [2, 4, 7], 9)
    bare = program(jnp.array([1, 2, 3]))
    assert [np.asarray(leaf).tolist() for leaf in bare] == [0, 0, [0, 0, 0], 0]


def test_recording_for_a_later_collector():
    assert not is_recording(STACKED)
    with recording(STACKED):
        assert is_recording(STACKED)
        assert not is_recording(SUMMED)
        jaxpr = jax.make_jaxpr(lambda x: emit(STACKED, x))(jnp.array(1))
    assert [str(eqn.primitive) for eqn in jaxpr.eqns][-1:] == ["emit"]
    assert not is_recording(STACKED)


BAD = {
    "no_channel": (lambda: collect(len), TypeError, "at least one Channel"),
    "not_a_channel": (lambda: collect(len, "taps"), TypeError, "'taps'"),
    "policy": (lambda: collect(len, STACKED, on_unknown="no"), ValueError, "on_unknown"),
}


@pytest.mark.parametrize(("call", "error", "text"), BAD.values(), ids=BAD)
def test_bad_calls(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("payload", "static", "text"),
    [("text", None, r"leaf of type str.*static data"), (1, [1], r"must be hashable.*tuples")],
)
def test_bad_emissions(payload, static, text):
    with pytest.raises(TypeError, match=text) as caught:
        collect(lambda x: emit(STACKED, payload, static=static), STACKED)(jnp.array(1))
    assert "Channel('stacked')" in str(caught.value)
