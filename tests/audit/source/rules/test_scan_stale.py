"""Parts of a carry that are handed on as they came, though their next value is computed."""

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
