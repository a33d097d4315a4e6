"""Parts of a carry that are handed on as they came, though their next value is computed."""

import pytest

from .reading import found

MOMENTS = """
    class Moments(NamedTuple):
        count: jax.Array
        mean: jax.Array

    def include(moments, x):
        seen = moments.count + 1.0
        mean = moments.mean + (x - moments.mean) / seen
        return Moments(moments.count, mean)

    def stream(xs):
        def step(moments, x):
            moments = include(moments, x)
            return moments, x - moments.mean

        return lax.scan(step, Moments(jnp.zeros(()), jnp.zeros(3)), xs)

    stream(jnp.ones((9, 3)))
"""


def test_a_count_that_starts_at_zero_stays_there():
    assert found("SC002", MOMENTS) == [8]
    assert (
        found("SC002", MOMENTS.replace("Moments(moments.count, mean)", "Moments(seen, mean)")) == []
    )


def test_a_number_that_is_given_stays_what_it_is():
    given = MOMENTS.replace("def stream(xs)", "def stream(xs, prior)")
    given = given.replace("Moments(jnp.zeros(()),", "Moments(prior,")
    assert found("SC002", given.replace("9, 3)))", "9, 3)), jnp.ones(()))")) == []


TARGET = """
    def fit(w, xs):
        def step(state, x):
            w, slow = state
            w = w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - x @ slow) ** 2))(w)
            followed = jax.tree.map(lambda n, o: 0.05 * n + 0.95 * o, w, slow)
            return (w, slow), jnp.sum((w - followed) ** 2)

        return lax.scan(step, (w, w), xs)

    fit(jnp.ones(3), jnp.ones((20, 5, 3)))
"""


def test_an_average_that_is_only_measured_is_lost():
    assert found("SC002", TARGET) == [6]
    assert found("SC002", TARGET.replace("(w, slow), jnp", "(w, followed), jnp")) == []
    distance = TARGET.replace("0.05 * n + 0.95 * o", "n - o")
    assert found("SC002", distance) == []


FALL = """
    def bounce(x, v):
        below = x < 0.0
        return jnp.where(below, -x, x), jnp.where(below, -v, v)

    def fall(x):
        def step(i, state):
            x, v = state
            speed = v - 0.1
            moved, turned = bounce(x + 0.1 * speed, speed)
            return moved, v

        return lax.fori_loop(0, 9, step, (x, jnp.zeros_like(x)))

    fall(jnp.ones(4))
"""


def test_what_a_helper_makes_of_the_carry_is_dropped():
    assert found("SC002", FALL) == [10]
    assert found("SC002", FALL.replace("return moved, v\n", "return moved, turned\n")) == []


def test_a_constant_part_may_be_read():
    steady = FALL.replace("moved, turned = bounce", "moved, _ = bounce").replace(
        "return moved, v\n", "return moved + jnp.sum(speed), v\n"
    )
    assert (
        found("SC002", steady.replace("_ = bounce(x + 0.1 * speed, speed)", "_ = bounce(x, x)"))
        == []
    )


STORE = """
    from flax import struct

    @struct.dataclass
    class Store:
        rows: jax.Array
        size: jax.Array
        capacity: int

        def put(self, row):
            rows = self.rows.at[self.size].set(row)
            return self.replace(rows=rows, size=self.size + 1)

    def collect(env, rows, obs, actions):
        def step(carry, action):
            store, obs = carry
            next_obs = env.move(obs, action)
            store = store.put(next_obs)
            return (store, obs), action

        return lax.scan(step, (Store(rows, 0, 5), obs), actions)
"""


def test_the_part_that_stays_is_told_and_not_another_one_that_may():
    assert found("SC002", STORE) == [18]
    assert found("SC002", STORE.replace("return (store, obs)", "return (store, next_obs)")) == []


ADAM = """
    import optax

    def fit(w, xs):
        tx = optax.adam(0.1)

        def step(carry, x):
            w, moments = carry
            slope = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
            change, later = tx.update(slope, moments, w)
            w = optax.apply_updates(w, change)
            return (w, moments), optax.global_norm(later)

        return lax.scan(step, (w, tx.init(w)), xs)

    fit(jnp.ones(3), jnp.ones((20, 5, 3)))
"""


def test_the_new_state_of_an_optimiser_is_only_measured():
    assert found("SC002", ADAM) == [11]
    assert found("SC002", ADAM.replace("(w, moments), optax", "(w, later), optax")) == []


def test_an_update_that_is_only_looked_at_leaves_the_optimiser_where_it_is():
    trial = ADAM.replace("w = optax.apply_updates(w, change)", "trial = change + w")
    trial = trial.replace("(w, moments), optax.global_norm(later)", "(0.9 * w, moments), trial")
    assert found("SC002", trial) == []


BELIEF = """
    class Belief(NamedTuple):
        mean: jax.Array
        spread: jax.Array

    def seen(belief, y):
        gain = belief.spread / (belief.spread + 1.0)
        return Belief(belief.mean + gain * (y - belief.mean), (1.0 - gain) * belief.spread)

    def follow(prior, ys):
        def step(carry, y):
            belief, total = carry
            sharper = seen(belief, y)
            total = total + (y - belief.mean) ** 2
            return (belief, total), sharper.mean

        return lax.scan(step, (prior, jnp.zeros(3)), ys)

    follow(Belief(jnp.zeros(3), jnp.ones(3)), jnp.ones((5, 3)))
"""


def test_a_part_of_the_carry_is_made_anew_and_only_measured():
    assert found("SC002", BELIEF) == [14]
    kept = BELIEF.replace("(belief, total), sharper", "(sharper, total), belief")
    assert found("SC002", kept) == []


def test_a_total_may_be_of_what_is_made_from_a_part_that_stays():
    total = BELIEF.replace("(y - belief.mean) ** 2", "(y - sharper.mean) ** 2")
    assert found("SC002", total) == []


REBOUND = """
    def gated(w, xs):
        def step(carry, x):
            h, c = carry
            i = jax.nn.sigmoid(x @ w)
            c = i * c + (1.0 - i) * jnp.tanh(x)
            h = i * jnp.tanh(c)
            return carry, h

        return lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), xs)
"""


def test_names_of_the_carry_get_its_next_value_and_the_carry_is_returned():
    assert found("SC002", REBOUND) == [7]
    assert found("SC002", REBOUND.replace("return carry, h", "return (h, c), h")) == []


def test_a_name_may_get_another_form_of_a_part_that_stays():
    form = REBOUND.replace("c = i * c + (1.0 - i) * jnp.tanh(x)", "c = jax.nn.softmax(c)")
    form = form.replace(
        "i * jnp.tanh(c)\n            return carry, h",
        "h + i * c\n            return (h, carry[1]), h",
    )
    assert found("SC002", form) == []


DRIFT = """
    class Phase(NamedTuple):
        q: jax.Array
        p: jax.Array

    def leap(force, i, phase):
        p = phase.p + 0.1 * force(phase.q)
        q = phase.q + 0.1 * p
        p = p + 0.1 * force(q)
        return phase._replace(p=p)

    def trajectory(q, p):
        return lax.fori_loop(0, 9, partial(leap, lambda q: -q), Phase(q, p))

    trajectory(jnp.ones(3), jnp.zeros(3))
"""


def test_a_field_is_moved_and_left_out_of_the_new_carry():
    assert found("SC002", DRIFT) == [9]
    assert found("SC002", DRIFT.replace("_replace(p=p)", "_replace(q=q, p=p)")) == []


def test_a_field_that_stays_may_be_read_in_another_form():
    scaled = DRIFT.replace("q = phase.q + 0.1 * p", "q = jnp.tanh(phase.q)")
    assert found("SC002", scaled) == []
    middle = DRIFT.replace("q = phase.q + 0.1 * p", "ahead = phase.q + 0.1 * p")
    assert found("SC002", middle.replace("force(q)", "force(ahead)")) == []


FILTER = """
    class Estimate(NamedTuple):
        bias: jax.Array
        skipped: jax.Array

    def correct(estimate, error):
        far = jnp.linalg.norm(error) > 3.0
        bias = jnp.where(far, estimate.bias, estimate.bias + 0.1 * error)
        return Estimate(bias, estimate.skipped + far)

    def follow(start, readings):
        def step(estimate, reading):
            corrected = correct(estimate, reading - estimate.bias)
            return estimate._replace(skipped=corrected.skipped), reading - corrected.bias

        return lax.scan(step, start, readings)

    follow(Estimate(jnp.zeros(3), jnp.zeros((), jnp.int32)), jnp.ones((5, 3)))
"""


def test_one_part_of_a_new_state_is_handed_on_and_another_is_not():
    assert found("SC002", FILTER) == [13]
    kept = FILTER.replace("estimate._replace(skipped=corrected.skipped)", "corrected")
    assert found("SC002", kept) == []


CELL = """
    def run(w, h, xs):
        def cell(h, x):
            return jnp.tanh(h @ w + x)

        return lax.scan(lambda h, x: (h, cell(h, x)), h, xs)

    run(jnp.ones((3, 3)), jnp.zeros(3), jnp.ones((5, 3)))
"""


def test_the_next_state_is_given_out_and_the_old_one_handed_on():
    assert found("SC002", CELL) == [5]
    assert found("SC002", CELL.replace("(h, cell(h, x))", "(cell(h, x), h)")) == []


@pytest.mark.parametrize(
    "result", ["h * x", "x - h", "jnp.sum(h * x)", "h + jax.random.normal(jax.random.key(0), (3,))"]
)
def test_a_fixed_carry_that_others_are_scaled_by_compared_with_or_drawn_around(result: str):
    assert found("SC002", CELL.replace("cell(h, x)", result)) == []


RING = """
    def remember(xs):
        def step(carry, x):
            ring, at = carry
            ring = ring.at[at].set(x)
            return (ring, at), ring.mean()

        return lax.scan(step, (jnp.zeros((4, 3)), 0), xs)
"""


def test_a_position_that_never_moves_is_written_in_each_turn():
    assert found("SC002", RING) == [5]
    assert found("SC002", RING.replace("(ring, at), ring", "(ring, (at + 1) % 4), ring")) == []
    given = RING.replace("remember(xs)", "remember(xs, slot)").replace(
        "3)), 0), xs)", "3)), slot), xs)"
    )
    assert found("SC002", given) == []
    # A turn brings the rest of the position.
    layers = RING.replace("at[at]", "at[x.astype(int)[0], at]").replace("4, 3)", "4, 3, 3)")
    assert found("SC002", layers) == []


THREADED = """
    def correct(mean, var, y, r):
        gain = var / (var + r)
        return mean + gain * (y - mean), (1 - gain) * var, jnp.log(var + r)

    def smooth(ys, r):
        def step(carry, y):
            mean, var = carry
            centre, spread, fit = correct(mean, 1.1 * var, y, r)
            return (centre, var), (spread, fit)

        return lax.scan(step, (jnp.zeros(()), jnp.ones(())), ys)

    smooth(jnp.ones(9), jnp.float32(0.1))
"""


def test_a_function_moves_two_parts_of_which_one_is_handed_on():
    assert found("SC002", THREADED) == [9]
    assert found("SC002", THREADED.replace("(centre, var),", "(centre, spread),")) == []


def test_a_result_at_another_place_than_the_part_that_stays_is_none_of_its_versions():
    apart = THREADED.replace("return mean + gain", "return (mean + gain")
    apart = apart.replace("(y - mean), (1 - gain) * var, jnp", "(y - mean)), y, jnp")
    assert found("SC002", apart) == []


SCALED = """
    def train(theta, xs, decay):
        def step(carry, x):
            theta, second = carry
            slope = jnp.cos(theta) * x
            square = decay * second + (1.0 - decay) * slope**2
            return (theta - 0.1 * slope / jnp.sqrt(square + 1e-6), second), square.max()

        return lax.scan(step, (theta, jnp.zeros_like(theta)), xs)

    train(jnp.ones(3), jnp.ones((9, 3)), jnp.float32(0.9))
"""


def test_an_average_that_starts_with_nothing_is_used_and_not_kept():
    assert found("SC002", SCALED) == [6]
    assert found("SC002", SCALED.replace("1e-6), second)", "1e-6), square)")) == []
    # What theta is drawn towards stays where it is.
    assert found("SC002", SCALED.replace("jnp.zeros_like(theta)", "theta + 1")) == []


def test_points_on_the_way_between_two_that_stay_are_no_averages_to_keep():
    between = """
    def line(start, ts):
        def step(ends, t):
            one, other = ends
            return ends, (1.0 - t) * one + t * other

        return lax.scan(step, (start, jnp.zeros(3)), ts)
"""
    assert found("SC002", between) == []


PATH = """
    import typing

    class Search(typing.NamedTuple):
        mean: jax.Array
        sigma: jax.Array
        path: jax.Array

    def adapt(rate, s, step):
        path = {path}
        sigma = s.sigma * jnp.exp(jnp.linalg.norm(path) - 1.0)
        mean = s.mean + s.sigma * step
        return {made}

    def search(xs, rate):
        def turn(s, x):
            return adapt(rate, s, x), s.mean

        return lax.scan(turn, Search(jnp.zeros(3), jnp.ones(()), jnp.zeros(3)), xs)

    search(jnp.ones((5, 3)), 0.3)
"""


@pytest.mark.parametrize(
    "path", ["(1.0 - rate) * s.path + rate * step", "jax.nn.sigmoid(step) * s.path - step"]
)
@pytest.mark.parametrize(
    ("kept", "renewed"),
    [
        ("s._replace(mean=mean, sigma=sigma)", "s._replace(mean=mean, sigma=sigma, path=path)"),
        ("Search(mean, sigma, s.path)", "Search(mean, sigma, path)"),
        (
            "Search(path=s.path, mean=mean, sigma=sigma)",
            "Search(path=path, mean=mean, sigma=sigma)",
        ),
    ],
)
def test_a_field_that_stays_is_told_at_the_record_that_a_helper_makes(
    path: str, kept: str, renewed: str
):
    assert found("SC002", PATH.format(path=path, made=kept)) == [12]
    assert found("SC002", PATH.format(path=path, made=renewed)) == []


def test_a_setting_may_be_scaled_for_one_turn():
    scaled = PATH.format(path="s.path * 0.5", made="s._replace(mean=mean, sigma=sigma)")
    assert found("SC002", scaled) == []


def test_a_field_may_stay_where_a_setting_says_so():
    program = PATH.format(
        path="0.7 * s.path + step",
        made="s._replace(mean=mean, path=path) if rate is None else s._replace(mean=mean)",
    )
    assert found("SC002", program) == []


def test_a_state_that_is_lost_after_a_choice_between_arrays_of_a_length_with_a_name():
    program = """
    def run(key, count, table, steps):
        def resample(weights, states):
            places = jnp.arange(0.0, 1.0, 1.0 / count)
            return weights, states[jnp.searchsorted(jnp.cumsum(weights), places)]

        def step(carry, k):
            weights, states = carry
            made = table[states]
            keep = weights.sum() > 1.0
            weights, made = lax.cond(keep, lambda *args: args, resample, weights, made)
            return (weights, states), weights

        start = jax.random.randint(key, (count,), 0, 3)
        return lax.scan(step, (jnp.ones((count,)), start), jnp.arange(steps))

    def main(key, count, steps):
        return run(key, count, jnp.arange(3), steps)
    """
    assert found("SC002", program) == [11]
    assert (
        found("SC002", program.replace("(weights, states), weights", "(weights, made), weights"))
        == []
    )
