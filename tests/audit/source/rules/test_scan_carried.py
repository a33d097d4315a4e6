"""What a loop carries: how long it grows, whether its counters move, of which type it is."""

import pytest

from .reading import found

STEP = """
def f(xs, first):
    def step(history, x):
        {0}
        return history, history.mean()

    return lax.scan(step, first, xs)
"""


@pytest.mark.parametrize(
    "grows",
    [
        "history = jnp.append(history, x)",
        "history = jnp.hstack([history, x])",
        "history = jnp.vstack((history, x)) * 2",
        "history = jnp.column_stack([history, x])",
        "history = jnp.insert(history, 0, x)",
        "history = jnp.concatenate([x[None], history])",
        "history = history[1:]",
    ],
)
def test_a_carry_of_unknown_length_grows_or_shrinks(grows):
    assert found("SC201", STEP.format(grows)) == [3]


@pytest.mark.parametrize(
    "keeps",
    [
        "history = jnp.append(history[1:], x)",
        "history = jnp.append(history, x)[-8:]",
        "history = jnp.roll(history, 1).at[0].set(x)",
        "history = jnp.append(history, x).reshape(2, -1).mean(0)",
        "history = jnp.where(x > 0, jnp.append(history[1:], x), history)",
    ],
)
def test_a_carry_of_unknown_length_keeps_it(keeps):
    assert found("SC201", STEP.format(keeps)) == []


def test_a_place_more_or_less():
    program = """
    def f(xs):
        def step(history, x):
            return {0}, None

        return lax.scan(step, jnp.zeros((4, 3)), xs)
    """
    assert found("SC201", program.format("jnp.insert(history, 0, x.sum(), axis=0)")) == [3]
    assert found("SC201", program.format("jnp.delete(history, 0, axis=0)")) == [3]
    renewed = "jnp.insert(jnp.delete(history, 0, axis=0), 3, x.sum(), axis=0)"
    assert found("SC201", program.format(renewed)) == []


CLASS = """
{0}
class Tank:
    rate: float = {1}

    {2}

    def hour(self, level, inflow):
        return self.rate * level + 1, level

    def day(self, inflows):
        return lax.scan(self.hour, jnp.array([3, 2]), inflows)

def f(inflows):
    return Tank().day(inflows)
"""


def test_an_annotated_name_of_a_plain_class_is_what_it_is_given():
    assert found("SC201", CLASS.format("", "0.2", "size: int")) == [10]
    assert found("SC201", CLASS.format("", "2", "size: int")) == []


def test_an_annotated_name_may_be_given_to_the_constructor_or_by_a_decorator():
    set_by_init = "def __init__(self):\n        self.rate = 2"
    assert found("SC201", CLASS.format("", "0.2", set_by_init)) == []
    decorated = CLASS.format("@configured", "0.2", "size: int")
    assert found("SC201", "from settings import configured\n" + decorated) == []


COUNTED = """
def f(xs{2}):
    def step(carry, x):
        mean, t = carry
        mean = 0.9 * mean + 0.1 * x
        return (mean, {0}), mean / (1 - 0.9 ** (t + 1))

    return lax.scan(step, (jnp.zeros(3), {1}), xs)
"""


@pytest.mark.parametrize("start", ["0", "jnp.int32(0)", "jnp.zeros((), jnp.int32)"])
def test_a_counter_is_handed_on_as_it_came(start):
    assert found("SC002", COUNTED.format("t", start, "")) == [5]
    assert found("SC002", COUNTED.format("t + 1", start, "")) == []


def test_a_number_that_is_carried_as_it_is_may_be_meant():
    assert found("SC002", COUNTED.format("t", "offset", ", offset")) == []
    assert found("SC002", COUNTED.format("t", "0.5", "")) == []


RECORD = """
def f(s, batch):
    def step(s, row):
        s = 0.9 * s + {0}
        return s, s

    return lax.scan(step, s, batch)
"""


@pytest.mark.parametrize(
    "read",
    [
        'batch["u"][0] * row["dt"]',
        "batch.u[0] * row.dt",
        'row["dt"] * jnp.sin(batch["u"][-1])',
    ],
)
def test_one_field_of_what_is_scanned_is_read_as_a_whole(read):
    assert found("SC003", RECORD.format(read)) == [3]


@pytest.mark.parametrize(
    "read",
    [
        'row["u"] - batch["u"][0]',
        'apply(row) + batch["u"][0]',
        'row["dt"] * batch["u"].mean()',
    ],
)
def test_a_field_is_read_as_a_whole_beside_its_slice(read):
    assert found("SC003", RECORD.format(read)) == []


def test_a_body_counts_on_itself():
    program = """
    def step(total, x):
        step.turns {0}
        return total + x / step.turns, None

    step.turns = 1

    def f(xs):
        return lax.scan(step, 0.0, xs)
    """
    assert found("JT101", program.format("+= 1")) == [2]
    assert found("JT101", program.format("= 1")) == []


@pytest.mark.parametrize("start", ["np.zeros(3, np.int32)", "np.ones(3, dtype=int)"])
def test_integers_of_numpy_are_handed_on_as_floats(start):
    program = """
    def f(xs):
        return lax.scan(lambda mean, x: (0.9 * mean + 1.0, x), {0}, xs)
    """
    assert found("SC201", program.format(start)) == [2]
    assert found("SC201", program.format("np.zeros(3)")) == []
    assert found("SC201", program.format("np.ones(3, dtype=np.float64)")) == []


def test_a_while_counts_in_a_statement_with_others():
    program = """
    @jax.jit
    def f(xs):
        h, t = jnp.zeros(4), {0}
        while t < 40:
            h, t = jnp.tanh(h + xs[t]), t + 1
        return h
    """
    assert found("SC302", program.format("0")) == [4]
    assert found("SC302", program.format("35")) == []
