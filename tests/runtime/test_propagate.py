"""The retry loop: no step is lost or run twice, and repairs leave no trace in the result."""

import logging
import os
import pickle
import signal
import threading
import time
from dataclasses import replace
from functools import partial

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest

from verax import (
    RetryLimitError,
    as_result_function,
    dataclass,
    field,
    propagate,
    propagate_and_fix,
    runtime_assert,
)
from verax.runtime import LARGEST


@dataclass
class Walk:
    """Random walkers; those that are far away are listed in a buffer of fixed size."""

    room: int = field(static=True)
    x: jax.Array
    key: jax.Array
    step: jax.Array
    listed: jax.Array  # A digest of all buffers so far: shows if one was ever too small.


def walk(walkers=6, room=1, seed=0):
    return Walk(room, jnp.zeros(walkers), jax.random.key(seed), jnp.array(0), jnp.array(0.0))


def advance(state: Walk) -> Walk:
    key, own = jax.random.split(state.key)
    x = state.x + jax.random.normal(own, state.x.shape)
    far = jnp.abs(x) > 1.0
    runtime_assert(
        far.sum() <= state.room,
        "{n} far away, room for {room}",
        {"n": far.sum(), "room": state.room},
        fix_fn=lambda state, n: replace(state, room=int(n)),
        fix_args=far.sum(),
    )
    buffer = x[jnp.nonzero(far, size=state.room, fill_value=0)[0]]
    used = jnp.arange(state.room) < far.sum()
    return replace(
        state,
        x=x,
        key=key,
        step=state.step + 1,
        listed=state.listed + jnp.where(used, buffer, 0.0).sum(),
    )


jitted_advance = jax.jit(advance)


def by_hand(state: Walk, num_steps: int) -> Walk:
    """The reference: one step after another, with room for all walkers."""
    state = replace(state, room=state.x.size)
    for _ in range(num_steps):
        state = jitted_advance(state)
    return state


@pytest.mark.parametrize("seed", [0, 1])
def test_the_trajectory_is_that_of_large_buffers(seed):
    run = propagate(advance, walk(seed=seed), 40)
    expected = by_hand(walk(seed=seed), 40)
    assert run.steps == run.state.step == 40
    assert run.repairs
    for name in ("x", "step"):
        np.testing.assert_array_equal(getattr(run.state, name), getattr(expected, name))
    np.testing.assert_array_equal(
        jax.random.key_data(run.state.key), jax.random.key_data(expected.key)
    )
    np.testing.assert_allclose(run.state.listed, expected.listed, rtol=1e-5)


def test_bit_for_bit_as_one_run_with_large_buffers():
    small, large = propagate(advance, walk(), 25), propagate(advance, walk(room=6), 25)
    assert large.repairs == ()
    assert small.repairs
    np.testing.assert_array_equal(small.state.x, large.state.x)
    assert (jax.random.key_data(small.state.key) == jax.random.key_data(large.state.key)).all()


def test_each_step_is_made_once():
    """A repaired step counts once: the state notes every step that it went through."""

    def step(state):
        runtime_assert(
            state["at"] < state["limit"],
            "at {at}",
            {"at": state["at"]},
            fix_fn=lambda state, at: {**state, "limit": at + 3},
            fix_args=state["at"],
        )
        return {**state, "at": state["at"] + 1, "seen": state["seen"].at[state["at"]].add(1)}

    start = {"at": jnp.array(0), "limit": jnp.array(2), "seen": jnp.zeros(20, int)}
    run = propagate(step, start, 20)
    np.testing.assert_array_equal(run.state["seen"], np.ones(20))
    assert run.steps == 20
    assert [repair.step for repair in run.repairs] == [2, 5, 8, 11, 14, 17]


def test_several_repairs_of_one_step():
    """Two assertions that fail at once are repaired at once; one that shows later, later."""

    def step(state):
        for name in ("a", "b", "c"):
            met = state["size"][name] >= 4
            if name == "c":
                met = met | (state["size"]["a"] < 4)
            runtime_assert(
                met, name + " too small", fix_fn=partial(_set, name), fix_args=jnp.int32(4)
            )
        return {**state, "n": state["n"] + 1}

    def _set(name, state, size):
        return {**state, "size": {**state["size"], name: size}}

    start = {"size": {name: jnp.array(1) for name in "abc"}, "n": jnp.array(0)}
    run = propagate(step, start, 5)
    assert run.state["n"] == 5
    assert [repair.messages for repair in run.repairs] == [
        ("a too small", "b too small"), ("c too small",)
    ]  # fmt: skip


def test_record_of_repairs():
    state = replace(walk(), x=jnp.full(6, 10.0))
    run = propagate(advance, state, 3)
    (repair,) = run.repairs
    assert repair.step == 0
    assert repair.messages == ("6 far away, room for 1",)
    (site,) = repair.sites
    assert (site.file, site.function) == (__file__, "advance")
    (change,) = repair.changes
    assert (change.where, change.before, change.after) == ("state.room", 1, 6)
    assert str(repair) == "step 0: 6 far away, room for 1 (state.room: 1 -> 6)"


def test_the_callers_state_stays_usable():
    state = walk()
    propagate(advance, state, 10)
    assert state.room == 1
    np.testing.assert_array_equal(state.x, np.zeros(6))
    again = propagate(advance, state, 10)
    assert again.steps == 10


def test_weakly_typed_arrays_of_the_caller_stay_usable():
    state = {"x": jnp.asarray(3.0), "v": jnp.full((4,), 2.0)}
    run = propagate(lambda s: {"x": s["x"] + 1, "v": s["v"] * 2}, state, 3)
    assert (float(run.state["x"]), float(state["x"])) == (6, 3)
    np.testing.assert_array_equal(state["v"], np.full(4, 2.0))


def test_state_of_numbers_and_numpy_arrays():
    run = propagate(lambda s: {"x": s["x"] + 1, "v": s["v"] * 2}, {"x": 1, "v": np.ones(2)}, 3)
    assert run.state["x"] == 4
    np.testing.assert_array_equal(run.state["v"], [8, 8])


def test_no_steps():
    run = propagate(advance, walk(), 0)
    assert (run.steps, run.repairs) == (0, ())
    np.testing.assert_array_equal(run.state.x, np.zeros(6))


def test_without_assertions():
    assert propagate(lambda x: x + 1, jnp.array(0), 1000).state == 1000


def never_enough(state):
    runtime_assert(
        state["n"] + state["room"] < 3,
        "no room at {n}",
        {"n": state["n"]},
        fix_fn=lambda state, room: {**state, "room": room + 10},
        fix_args=state["room"],
    )
    return {**state, "n": state["n"] + 1}


def test_retry_limit():
    start = {"n": jnp.array(0), "room": jnp.array(1)}
    with pytest.raises(RetryLimitError) as caught:
        propagate(never_enough, start, 9, max_retries=3)
    error = caught.value
    first, message, place, *rest = str(error).splitlines()
    assert first == "step 2 fails still, after 3 repairs:"
    assert message == "  no room at 2"
    assert place.startswith(f"    asserted at {__file__}:")
    assert rest == [
        "what the repairs changed:",
        "  state['room']: 1 -> 11 -> 21 -> 31",
        "If it would have come right in the end, raise max_retries.",
    ]
    assert len(error.repairs) == 3
    # The state from before the failing step, as far as it was repaired, is not lost.
    assert error.propagation.steps == 2
    assert error.propagation.state["n"] == 2
    assert any("`propagation`" in note for note in error.__notes__)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_fix_that_changes_nothing_is_told_so():
    def step(n):
        runtime_assert(n < 0, "full", fix_fn=lambda state, _: state, fix_args=n)
        return n

    with pytest.raises(RetryLimitError) as caught:
        propagate(step, jnp.array(0), 1, max_retries=1)
    first, *_, told, _ = str(caught.value).splitlines()
    assert first == "step 0 fails still, after one repair:"
    assert told == "  nothing: a fix_fn must return a changed state"


@dataclass
class Sized:
    room: int = field(static=True)
    n: jax.Array


def test_retry_limit_says_how_sizes_grew():
    def step(state):
        runtime_assert(
            state.n < 0,
            "needs more than {room}",
            {"room": state.room},
            fix_fn=lambda state, _: replace(state, room=state.room * 2),
            fix_args=state.n,
        )
        return state

    with pytest.raises(RetryLimitError) as caught:
        propagate(step, Sized(3, jnp.array(0)), 1, max_retries=4)
    lines = str(caught.value).splitlines()
    assert "  state.room: 3 -> 6 -> 12 -> 24 -> 48" in lines
    # What still fails is the last try, with the last size.
    assert lines[1] == "  needs more than 48"


def test_one_retry_is_enough_for_the_largest_of_a_loop():
    def step(state):
        def body(_, n):
            runtime_assert(
                n <= state.room,
                "need {n}",
                {"n": n},
                fix_fn=lambda state, n: replace(state, room=int(n)),
                fix_args=n,
                fix_law=LARGEST,
            )
            return None, None

        jax.lax.scan(body, None, jnp.array([3, 9, 5]))
        return replace(state, n=state.n + 1)

    run = propagate(step, Sized(1, jnp.array(0)), 3)
    assert run.state.room == 9
    assert [repair.messages for repair in run.repairs] == [("need 3",)]


def hopeless(state):
    runtime_assert(state["n"] < 3, "lost at {n}", {"n": state["n"]}, FloatingPointError)
    return {"n": state["n"] + 1}


def test_what_cannot_be_fixed_leaves_the_last_good_state():
    with pytest.raises(FloatingPointError, match="lost at 3") as caught:
        propagate(hopeless, {"n": jnp.array(0)}, 9)
    propagation = caught.value.propagation
    assert (propagation.steps, propagation.repairs) == (3, ())
    assert propagation.state["n"] == 3
    assert "while computing step 3" in caught.value.__notes__


def test_a_fix_that_raises_is_seen():
    def broken(state, needed):
        raise LookupError("no more memory")

    def step(n):
        runtime_assert(n < 2, "full", fix_fn=broken, fix_args=n)
        return n + 1

    with pytest.raises(LookupError, match="no more memory") as caught:
        propagate(step, jnp.array(0), 5)
    assert caught.value.propagation.state == 2


def test_no_retries_allowed():
    """The error names the step and what failed, though nothing was tried."""
    with pytest.raises(RetryLimitError, match="no room at 2") as caught:
        propagate(never_enough, {"n": jnp.array(0), "room": jnp.array(1)}, 5, max_retries=0)
    error = caught.value
    first, message, place, last = str(error).splitlines()
    assert (first, message) == ("step 2 fails and nothing was to be repaired:", "  no room at 2")
    assert place.startswith(f"    asserted at {__file__}:")
    assert last == "If it would have come right in the end, raise max_retries."
    assert (error.repairs, error.messages) == ((), ("no room at 2",))
    assert (error.propagation.steps, error.propagation.state["n"]) == (2, 2)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(("num_steps", "every"), [(7, 2), (6, 3), (2, 5), (5, 1)])
def test_callback(num_steps, every):
    seen = []
    propagate(
        advance, walk(), num_steps, every=every, callback=lambda n, s: seen.append((n, int(s.step)))
    )
    expected = range(every, num_steps + 1, every)
    assert seen == [(n, n) for n in expected]


def test_callback_may_keep_the_state():
    """Though the next steps reuse the memory of the loop's state."""
    kept = []
    propagate(lambda x: x + 1, jnp.zeros(2), 4, every=1, callback=lambda n, s: kept.append(s))
    assert [np.asarray(s).tolist() for s in kept] == [[n, n] for n in (1.0, 2.0, 3.0, 4.0)]


def test_callback_at_a_step_that_is_repaired():
    """The callback is called once for a step, before the next is tried and repaired."""

    def step(state):
        runtime_assert(
            state["n"] < state["room"],
            "full",
            fix_fn=lambda state, n: {**state, "room": n + 2},
            fix_args=state["n"],
        )
        return {**state, "n": state["n"] + 1}

    seen = []
    start = {"n": jnp.array(0), "room": jnp.array(2)}
    run = propagate(step, start, 6, every=2, callback=lambda n, s: seen.append(n))
    assert seen == [2, 4, 6]
    assert len(run.repairs) == 2


@pytest.mark.parametrize("kind", [KeyboardInterrupt, LookupError])
def test_callback_that_raises(kind):
    def stop(n, state):
        if n == 4:
            raise kind

    with pytest.raises(kind) as caught:
        propagate(lambda x: x + 1, jnp.array(0), 8, every=2, callback=stop)
    assert (caught.value.propagation.steps, caught.value.propagation.state) == (4, 4)


@pytest.mark.parametrize("every", [10, 10**6])
def test_an_interrupted_run_leaves_a_good_state(every):
    """Ctrl-C comes between loops, or during one: the state is one that the run went through."""
    begun = threading.Event()

    def press():
        begun.wait()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    def step(state):
        return {"n": state["n"] + 1, "twice": state["twice"] + 2}

    start = {"n": jnp.int32(0), "twice": jnp.int32(0)}
    finger = threading.Thread(target=press)
    finger.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        propagate(step, start, 2**31 - 1, every=every, callback=lambda *_: begun.set())
    finger.join()
    left = caught.value.propagation
    assert left.steps >= every
    assert (left.state["n"], left.state["twice"]) == (left.steps, 2 * left.steps)
    assert any("`propagation`" in note for note in caught.value.__notes__)
    # The run goes on from there as if nothing had happened.
    rest = propagate(step, left.state, 7)
    assert rest.state["n"] == left.steps + 7


def test_a_mistake_in_the_step_is_told_without_talk_of_a_state():
    with pytest.raises(TypeError, match="same structure") as caught:
        propagate(lambda x: (x, x), jnp.array(0), 3)
    assert "propagation" not in "".join(getattr(caught.value, "__notes__", []))


def growing(state):
    runtime_assert(
        state["n"] < state["room"],
        "full at {n}",
        {"n": state["n"]},
        fix_fn=lambda state, n: {**state, "room": n + 3},
        fix_args=state["n"],
    )
    return {**state, "n": state["n"] + 1}


def test_repairs_are_told_when_they_happen():
    told = []
    start = {"n": jnp.array(0), "room": jnp.array(2)}
    run = propagate(growing, start, 9, on_repair=told.append)
    assert tuple(told) == run.repairs
    assert [(repair.step, repair.messages) for repair in told] == [
        (2, ("full at 2",)), (5, ("full at 5",)), (8, ("full at 8",))
    ]  # fmt: skip


def test_telling_of_a_repair_may_end_the_run():
    """The state is then the repaired one, before the step that failed."""

    def stop(repair):
        raise LookupError(str(repair))

    with pytest.raises(LookupError, match="step 2: full at 2") as caught:
        propagate(growing, {"n": jnp.array(0), "room": jnp.array(2)}, 9, on_repair=stop)
    left = caught.value.propagation
    assert (left.steps, len(left.repairs)) == (2, 1)
    assert (left.state["n"], left.state["room"]) == (2, 5)


def test_side_effects_of_steps_that_passed_happen_once():
    """Though steps before a failure may be made again; one that fails has its own each time."""
    seen = []

    def step(state):
        jax.experimental.io_callback(lambda n: seen.append(int(n)), None, state["n"], ordered=True)
        return growing(state)

    # Far enough for the loop to make many steps at a time.
    run = propagate(step, {"n": jnp.array(0), "room": jnp.array(500)}, 600)
    assert run.state["n"] == 600
    failed = [repair.step for repair in run.repairs]
    assert len(failed) > 30
    assert seen == sorted([*range(600), *failed])


def test_steps_before_a_failure_are_not_lost():
    """Many steps at a time, of which a later one fails: the state is that of the one before."""
    start = {"n": jnp.array(0), "room": jnp.array(100_000)}
    run = propagate(growing, start, 100_010)
    assert [repair.step for repair in run.repairs] == [100_000, 100_003, 100_006, 100_009]
    assert (run.steps, run.state["n"]) == (100_010, 100_010)
    with pytest.raises(RetryLimitError) as caught:
        propagate(growing, start, 100_010, max_retries=0)
    assert (caught.value.propagation.steps, caught.value.propagation.state["n"]) == (10**5, 10**5)


def test_repairs_are_logged(caplog):
    state = replace(walk(), x=jnp.full(6, 10.0))
    with caplog.at_level(logging.INFO, logger="verax"):
        propagate(advance, state, 2)
    assert [record.getMessage() for record in caplog.records] == [
        "repaired step 0: 6 far away, room for 1 (state.room: 1 -> 6)"
    ]


def test_progress_is_off_where_nobody_watches(capfd):
    propagate(advance, walk(), 5)
    assert capfd.readouterr() == ("", "")


def test_progress_when_asked_for(capfd):
    propagate(advance, replace(walk(), x=jnp.full(6, 10.0)), 5, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "5/5" in err
    assert "steps/s" in err
    assert "1 repaired" in err


def test_progress_on_a_terminal(capfd, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    propagate(advance, walk(), 5)
    assert "5/5" in capfd.readouterr().err
    propagate(advance, walk(), 5, progress=False)
    assert capfd.readouterr().err == ""


def test_a_step_is_compiled_once_for_each_size():
    traced = []

    def step(state):
        traced.append(state.room)
        return advance(state)

    run = propagate(step, walk(), 30)
    assert len(traced) == len(set(traced)) == len(run.repairs) + 1


def test_steps_may_be_jitted_already():
    run = propagate(jitted_advance, walk(), 12)
    assert run.state.step == 12
    np.testing.assert_array_equal(run.state.x, by_hand(walk(), 12).x)


def test_propagate_and_fix():
    """As in the seed document: the value, and the state that it was computed from."""

    @jax.jit
    @as_result_function
    def total(state):
        runtime_assert(
            jnp.asarray(state.room >= 10),
            "{room} < 10",
            {"room": state.room},
            fix_fn=lambda state, room: replace(state, room=int(room)),
            fix_args=jnp.array(10),
        )
        return state.n * 2

    value, state = propagate_and_fix(total, Sized(4, jnp.array(3)))
    assert (value, state.room) == (6, 10)
    value, state = propagate_and_fix(total, state, max_retries=0)
    assert (value, state.room) == (6, 10)


def test_propagate_and_fix_gives_up():
    calls = []

    @as_result_function
    def never(state):
        calls.append(state.room)
        runtime_assert(
            False,
            "{room} is too small",
            {"room": state.room},
            fix_fn=lambda state, _: replace(state, room=state.room + 1),
            fix_args=state.n,
        )

    with pytest.raises(RetryLimitError) as caught:
        propagate_and_fix(never, Sized(1, jnp.array(0)), max_retries=2)
    assert calls == [1, 2, 3]
    first, message, _, _, growth, _ = str(caught.value).splitlines()
    # There are no steps here, so there is no talk of one.
    assert (first, message) == ("it fails still, after 2 repairs:", "  3 is too small")
    assert growth == "  state.room: 1 -> 2 -> 3"


def test_propagate_and_fix_cannot_fix():
    with pytest.raises(ValueError, match="never") as caught:
        propagate_and_fix(
            as_result_function(lambda x: runtime_assert(x < 0, "never", {}, ValueError)),
            jnp.array(0),
        )
    assert "step" not in "".join(getattr(caught.value, "__notes__", []))
