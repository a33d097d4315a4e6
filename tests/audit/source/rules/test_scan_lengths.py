"""How long a loop is, against what it counts along; and loops that are unrolled."""

import pytest

from .reading import found

SMOOTH = """
    def smooth(signals, decay):
        steps = signals.shape[0]

        def back(i, state):
            level, out = state
            t = steps - 1 - i
            level = decay * level + signals[:, t]
            return level, out.at[:, t].set(level)

        start = (jnp.zeros(signals.shape[0]), jnp.zeros_like(signals))
        return lax.fori_loop(0, steps, back, start)[1]

    smooth(jnp.ones((3, 8)), 0.9)
"""


def test_a_counter_that_goes_back_is_one_of_another_axis():
    assert found("SC004", SMOOTH) == [2]
    assert (
        found("SC004", SMOOTH.replace("steps = signals.shape[0]", "steps = signals.shape[1]")) == []
    )


FLY = """
    class Flight(NamedTuple):
        position: jax.Array
        tick: jax.Array

    def fly(path, count):
        def step(flight, _):
            goal = lax.dynamic_index_in_dim(path, flight.tick, axis=1, keepdims=False)
            return Flight(flight.position + 0.1 * goal, flight.tick + 1), None

        start = Flight(path[:, 0], jnp.int32(0))
        return lax.scan(step, start, length=count)

    AXES = {"path": "drone time dim"}

    def entry(path):
        drones = path.shape[0]
        return fly(path, drones)

    def inputs():
        return (jnp.ones((3, 20, 3)),)
"""


def test_the_length_is_followed_to_where_it_is_taken():
    assert found("SC004", FLY) == [16]
    assert found("SC004", FLY.replace("= path.shape[0]", "= path.shape[1]")) == []
    assert found("SC004", FLY.replace("path, drones)", "path, count=len(path))")) == [17]


def test_there_may_be_one_more_of_what_is_counted():
    table = """
        def fill(costs):
            size = costs.shape[1]
            table = jnp.zeros((size + 1, size))

            def step(i, table):
                return table.at[i].set(costs[0] + i)

            def total(i, sums):
                return sums + table[i].sum()

            table = lax.fori_loop(0, size, step, table)
            return lax.fori_loop(0, size, total, 0.0)

        fill(jnp.ones((2, 5)))
    """
    assert found("SC004", table) == []


STREAM = """
    def adapt(level, xs, ys):
        for x, y in zip(xs, ys):
            level = level - 0.1 * (level * x - y)
        return level

    jax.jit(adapt)(jnp.ones(()), jnp.ones(50), jnp.ones(50))
"""


def test_rows_of_two_arrays_are_unrolled():
    assert found("SC302", STREAM) == [2]
    numbered = STREAM.replace("x, y in zip(xs, ys)", "i, x in enumerate(xs)").replace("- y", "- i")
    assert found("SC302", numbered) == [2]
    short = STREAM.replace("jnp.ones(50)", "jnp.ones(5)")
    assert found("SC302", short) == []


def test_layers_beside_their_inputs_are_no_rows():
    layers = """
        def apply(layers, x):
            for w, b in layers:
                x = jnp.tanh(x @ w + b)
            return x

        def skip(weights, biases, x):
            for w, b in zip(weights, biases):
                x = jnp.tanh(x @ w + b)
            return x

        jax.jit(apply)([(jnp.ones((4, 4)), jnp.ones(4))] * 20, jnp.ones(4))
        jax.jit(skip)([jnp.ones((4, 4))] * 20, [jnp.ones(4)] * 20, jnp.ones(4))
    """
    assert found("SC302", layers) == []


def test_the_length_is_followed_into_the_function_that_takes_it():
    counted = FLY.replace("drones = path.shape[0]", "drones = count(path)")
    helper = counted + "\n    def count(path):\n        return path.shape[0]\n"
    assert found("SC004", helper) == [23]
    assert found("SC004", helper.replace("return path.shape[0]", "return path.shape[1]")) == []


FOLD = """
    def run(cell, start, xs):
        return functools.reduce(lambda h, x: jnp.tanh(cell * h + x), xs, start)

    jax.jit(run)(0.5, jnp.zeros(3), jnp.ones((40, 3)))
"""


def test_what_reduce_goes_through_is_unrolled():
    assert found("SC302", FOLD) == [2]
    assert found("SC302", FOLD.replace("jnp.ones((40, 3))", "[jnp.ones(3)] * 40")) == []
    assert found("SC302", FOLD.replace("jax.jit(run)", "run")) == []


LIST = """
    @jax.jit
    def unroll(state, actions):
        states = [state]
        for action in actions:
            states.append(0.9 * states[-1] + action)
        return jnp.stack(states)

    unroll(jnp.zeros(2), jnp.ones((30, 2)))
"""


def test_a_list_hands_on_its_last_element():
    assert found("SC302", LIST) == [4]
    assert found("SC302", LIST.replace("0.9 * states[-1]", "0.9 * state")) == []


COUNTED = """
    class Heat:
        def __init__(self, dt):
            self.dt = dt

        def solve(self, field, duration):
            count = int(round(duration / self.dt))
            done = 0
            while done < count:
                field = field - self.dt * field
                done += 1
            return field

    @jax.jit
    def solve(field):
        return Heat(0.25).solve(field, 10.0)

    solve(jnp.ones(4))
"""


def test_a_while_that_counts_is_unrolled():
    assert found("SC302", COUNTED) == [8]
    assert found("SC302", COUNTED.replace("field, 10.0", "field, 2.0")) == []
    assert found("SC302", COUNTED.replace("@jax.jit\n", "\n")) == []
    halved = COUNTED.replace("done += 1", "done = 2 * done + 1")
    assert found("SC302", halved) == []


def test_a_square_matrix_that_the_program_asks_for():
    program = """
    def shares(matrix, labels):
        rows, columns = matrix.shape
        assert rows == columns, "a matrix of all pairs"
        matrix = jnp.abs(matrix)

        def one(i):
            own = matrix[:, i]
            return jnp.sum(jnp.where(labels == labels[i], own, 0.0)) / jnp.sum(own)

        return jax.vmap(one)(jnp.arange(rows))
    """
    check = '        assert rows == columns, "a matrix of all pairs"\n'
    raised = "        if rows != columns:\n            raise ValueError(rows)\n"
    assert found("SC004", program) == []
    assert found("SC004", program.replace(check, raised)) == []
    assert found("SC004", program.replace(check, "")) == [9]


UNROLLED = """
    @jax.jit
    def run(w, h, xs):
        {loop}
            h = jnp.tanh(w @ h + x)
        return h

    run(jnp.ones((3, 3)), jnp.ones(3), jnp.ones((40, 3)))
"""


@pytest.mark.parametrize(
    "loop",
    ["for x in jnp.unstack(xs):", "for x in jnp.split(xs, 20):", "for x in np.linspace(0, 1, 20):"],
)
def test_the_parts_of_an_array_are_unrolled(loop: str):
    program = UNROLLED.format(loop=loop)
    assert found("SC302", program) == [3]
    assert found("SC302", program.replace("20", "4").replace("40", "4")) == []
    assert found("SC302", program.replace("@jax.jit", "")) == []


def test_a_while_that_counts_to_a_size_is_unrolled():
    program = UNROLLED.format(loop="t = 0\n        while t < xs.shape[0]:")
    program = program.replace("+ x)", "+ xs[t]); t += 1")
    assert found("SC302", program) == [4]
    assert found("SC302", program.replace("shape[0]", "shape[1]")) == []


def test_what_accumulate_goes_through_is_unrolled():
    program = """
        import itertools

        @jax.jit
        def run(w, h, xs):
            step = lambda h, x: jnp.tanh(w @ h + x)
            return jnp.stack(list(itertools.accumulate(xs, step, initial=h)))

        run(jnp.ones((3, 3)), jnp.ones(3), jnp.ones((40, 3)))
    """
    assert found("SC302", program) == [6]
    assert found("SC302", program.replace("(40, 3)", "(4, 3)")) == []


STORED = """
    class Net:
        def __init__(self, w):
            self.w = w

        def run(self, h, xs):
            self.h = h
            for x in xs:
                self.h = jnp.tanh(self.w @ self.h + x)
            return self.h

    @jax.jit
    def run(w, h, xs):
        state = {"h": h}
        for x in xs:
            state["h"] = jnp.tanh(w @ state["h"] + x)
        return state["h"], Net(w).run(h, xs)

    run(jnp.ones((3, 3)), jnp.ones(3), jnp.ones((40, 3)))
"""


def test_attributes_and_keys_go_from_turn_to_turn():
    assert found("SC302", STORED) == [7, 14]
    apart = STORED.replace("self.w @ self.h + x", "self.w @ x").replace(
        'w @ state["h"] + x', "w @ x"
    )
    assert found("SC302", apart) == []


UNTIL = """
    def smooth(s, obs):
        steps = obs.shape[0]

        def more(state):
            return (state[1] < steps) & jnp.all(state[0] < 9.0)

        def turn(state):
            s, t = state
            return s + obs[:, t], t + 1

        return lax.while_loop(more, turn, (s, 0))
"""


def test_the_length_of_a_while_loop_is_in_its_condition():
    assert found("SC004", UNTIL) == [2]
    assert found("SC004", UNTIL.replace("obs.shape[0]", "obs.shape[1]")) == []
    backwards = UNTIL.replace("t + 1", "t - 1")
    assert found("SC004", backwards) == []


KEPT = """
    class Sweep:
        def __init__(self, obs):
            self.obs = obs
            self.steps = obs.shape[0]

        def turn(self, carry, _):
            s, t = carry
            return (s + self.obs.at[:, t].get(), t + 1), None

        def run(self, s):
            return lax.scan(self.turn, (s, 0), None, length=self.steps)

    def smooth(s, obs):
        return Sweep(obs).run(s)
"""


def test_the_length_is_followed_to_the_attribute_that_keeps_it():
    assert found("SC004", KEPT) == [4]
    assert found("SC004", KEPT.replace("steps = obs.shape[0]", "steps = obs.shape[1]")) == []


BACKWARDS = """
    def smooth(obs):
        steps = obs.shape[0]

        def more(carry):
            return carry[1] >= 0

        def turn(carry):
            s, t = carry
            return s + obs[:, t], t - 1

        return lax.while_loop(more, turn, (jnp.zeros(obs.shape[0]), {start}))
"""


@pytest.mark.parametrize(("start", "line"), [("steps - 1", 2), ("jnp.int32(steps - 1)", 11)])
def test_a_counter_of_a_carry_starts_at_the_last_of_another_axis(start: str, line: int):
    program = BACKWARDS.replace("{start}", start)
    assert found("SC004", program) == [line]
    assert found("SC004", program.replace("steps = obs.shape[0]", "steps = obs.shape[1]")) == []
    # What starts at a size is not fixed, although it is known while tracing.
    assert found("SC007", program) == []


GONE_THROUGH = """
    def smooth(s, obs):
        steps = obs.shape[0]

        def turn(s, t):
            return s + obs[:, {index}], None

        return lax.scan(turn, s, {numbers})[0]
"""


@pytest.mark.parametrize(
    ("index", "numbers"),
    [
        ("t", "jnp.arange(steps)[::-1]"),
        ("t", "jnp.flip(jnp.arange(steps))"),
        ("steps - t - 1", "jnp.arange(steps)"),
    ],
)
def test_numbers_that_are_gone_through_from_the_last_are_of_another_axis(index: str, numbers: str):
    program = GONE_THROUGH.replace("{index}", index).replace("{numbers}", numbers)
    assert found("SC004", program) == [2]
    assert found("SC004", program.replace("obs.shape[0]", "obs.shape[1]")) == []


def test_a_while_loop_may_include_its_last_number():
    program = UNTIL.replace("< steps", "<= steps - 1")
    assert program != UNTIL
    assert found("SC004", program) == [2]
    assert found("SC004", program.replace("obs.shape[0]", "obs.shape[1]")) == []


@pytest.mark.parametrize("change", ["t -= 1", "t = t - 1"])
def test_a_while_that_counts_down_is_unrolled(change: str):
    program = f"""
    @jax.jit
    def returns(rewards):
        total = jnp.zeros(3)
        t = rewards.shape[0] - 1
        while t >= 0:
            total = rewards[t] + 0.9 * total
            {change}
        return total

    returns(jnp.ones((16, 3)))
"""
    assert found("SC302", program) == [5]
    assert found("SC302", program.replace("(16, 3)", "(15, 3)")) == []


def test_a_range_of_unknown_size_that_goes_down_is_unrolled():
    program = """
    @jax.jit
    def returns(rewards):
        total = jnp.zeros(3)
        for t in range(rewards.shape[0] - 1, -1, -1):
            total = rewards[t] + 0.9 * total
        return total
"""
    assert found("SC302", program) == [4]


BOOKS = """
    def settle(paths):
        books, assets = paths.shape[0], paths.shape[-1]

        def day(cash, t):
            return cash + paths[:, t], None

        start = jnp.zeros((books, assets))
        return lax.scan(day, start, jnp.arange(books))[0]
"""


def test_a_size_that_others_rightly_have_is_wrong_where_the_loop_takes_it():
    assert found("SC004", BOOKS) == [8]
    # An array that has a place for each turn has the wrong size as well.
    kept = BOOKS.replace("cash + paths[:, t]", "cash.at[t].add(paths[:, t].sum())")
    assert found("SC004", kept) == [2]


MOORED = """
    class Mooring(NamedTuple):
        tides: jax.Array

        @property
        def hours(self):
            return self.tides.shape[0]

    class Watch(NamedTuple):
        mooring: Mooring
        turns: int

    def keep(watch):
        def step(hour, level):
            return 0.9 * level + watch.mooring.tides[:, hour]

        return lax.fori_loop(0, watch.turns, step, jnp.zeros(watch.mooring.tides.shape[0]))

    @jax.jit
    def entry(tides):
        mooring = Mooring(tides)
        return keep(Watch(mooring, turns=mooring.hours))

    AXES = {"tides": "buoy hour"}

    def inputs():
        return (jnp.ones((3, 8)),)
"""


def test_the_length_is_followed_through_records_and_properties():
    assert found("SC004", MOORED) == [6]
    assert found("SC004", MOORED.replace("self.tides.shape[0]", "self.tides.shape[1]")) == []
    taken = MOORED.replace("turns=mooring.hours", "turns=len(tides)")
    assert found("SC004", taken) == [21]


def test_a_property_of_a_named_tuple_is_a_number():
    right = MOORED.replace("self.tides.shape[0]", "self.tides.shape[1]")
    assert found("JT203", right) == found("JT101", right) == []


@pytest.mark.parametrize("base", ["NamedTuple", ""])
def test_the_length_is_followed_to_the_record_that_is_made_with_it(base: str):
    program = f"""
    from dataclasses import dataclass

    {"" if base else "@dataclass"}
    class Plan{f"({base})" if base else ""}:
        steps: int
        rate: float

        @classmethod
        def of(cls, targets):
            return cls(targets.shape[0], rate=0.1)

    def entry(start, targets):
        plan = Plan.of(targets)

        def step(x, t):
            return x + plan.rate * (targets[:, t] - x), None

        return lax.scan(step, start, jnp.arange(plan.steps))[0]
    """
    assert found("SC004", program) == [10]
    assert found("SC004", program.replace("shape[0]", "shape[1]")) == []


def test_loops_in_loops_are_unrolled_together():
    program = """
    @jax.jit
    def entry(a, b):
        row = b
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                row = row.at[j].set(row[j - 1] + a[i])
        return row

    def inputs():
        return jnp.ones(12), jnp.ones(10)
    """
    assert found("SC302", program) == [5]
    assert found("SC302", program.replace("ones(12)", "ones(3)")) == []


def test_a_loop_may_start_from_infinity():
    program = """
    def entry(x):
        def body(state):
            x, error = state
            return 0.5 * x, jnp.abs(x).max()

        return lax.while_loop(lambda state: state[1] > 1e-3, body, (x, jnp.inf))
    """
    assert found("SC007", program) == []


def test_what_is_read_by_a_name_is_not_counted():
    program = """
        def look_up(tables, kind):
            def step(total, i):
                return total + tables[kind + "_table"][i], None

            return lax.scan(step, 0.0, jnp.arange(4))[0]
    """
    assert found("SC004", program) == []


PLAYED = """
    class Limits(NamedTuple):
        turns: int = 4
        gain: float = 0.5

    class Player:
        def __init__(self, limits):
            self.limits = limits

        def play(self, start, moves):
            count = moves.shape[0]

            def turn(state, _):
                level, t, total = state
                level = level + self.limits.gain * moves[t]
                return (level, t + 1, total + level**2), level

            begin = (start, jnp.int32(0), jnp.float32(0.0))
            turns = self.limits.turns
            (level, _, total), levels = lax.scan(turn, begin, None, length=turns)
            return level, share(levels, total, moves, count)

    def share(levels, total, moves, count):
        return total / count

    player = Player(Limits())

    def entry(start, moves):
        return jax.vmap(player.play)(start, moves)

    def inputs():
        return jnp.ones(3), jnp.ones((3, 7))
"""


@pytest.mark.parametrize(
    ("was", "now", "lines"),
    [
        ("", "", [18]),
        ("total / count", "jnp.sum(levels) / count", [18]),
        ("total / count", "jnp.divide(levels.max(), moves.shape[0])", [18]),
        ("None, length=turns", "jnp.arange(turns)", [18]),
        # Some turns may do, of a table that is long enough.
        ("total / count", "total", []),
        ("total / count", "total / 7", []),
        ("total / count", "jnp.sum((moves - total) ** 2) / count", []),
        # It runs as often as there are moves, ...
        ("turns = self.limits.turns", "turns = moves.shape[0]", []),
        ("turns: int = 4", "turns: int = 7", []),
        # ... or nobody knows.
        ("jnp.ones((3, 7))", "unknown()", []),
        ("Player(Limits())", "Player(Limits(unknown()))", []),
    ],
)
def test_a_share_of_all_is_taken_of_some_turns(was: str, now: str, lines: list[int]):
    program = PLAYED.replace(was, now) if was else PLAYED
    if "arange" in now:
        program = program.replace("turn(state, _)", "turn(state, i)").replace(
            "moves[t]", "moves[i]"
        )
    assert found("SC004", program) == lines
