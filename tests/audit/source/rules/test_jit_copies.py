"""Arguments of traced functions that are changed in place, and things outside that are counted."""

import pytest

from .reading import found


def test_a_changed_copy_is_lost():
    program = """
    import chex

    @chex.dataclass
    class State:
        x: jax.Array
        count: jax.Array

    @jax.jit
    def lost(state: State, x):
        y = state.x + x
        state.count = state.count + 1
        return y

    @jax.jit
    def kept(state: State, x):
        state.count = state.count + 1
        return state.replace(x=x)

    @jax.jit
    def used(batch, x):
        batch["x"] = x / 255.0
        return batch["x"].sum()

    def main(x):
        state = State(x=x, count=0)
        return lost(state, x), kept(state, x), used({"x": x}, x), lost(state, x)
    """
    assert found("JT101", program) == [11]


def test_a_bound_object_is_no_copy():
    program = """
    class Trainer:
        def __init__(self, rate):
            self.step = jax.jit(self._step)
            self.rate = rate
            self.state = None

        def _step(self, x):
            return x * self.rate
    """
    assert found("JT101", program) == []


def test_a_copy_is_changed_though_another_field_is_read_after():
    program = """
    import chex

    @chex.dataclass
    class Body:
        x: jax.Array
        v: jax.Array

        def energy(self):
            return (self.x ** 2).sum()

    @jax.jit
    def lost(body, dt):
        body.x = body.x + dt * body.v
        return jnp.sum(body.v)

    @jax.jit
    def asked(body, dt):
        body.x = body.x + dt * body.v
        return body.energy()

    @jax.jit
    def returned(body, dt):
        body.x = body.x + dt * body.v
        return body

    def run(x):
        body = Body(x=x, v=x)
        lost(body, 0.1)
        asked(body, 0.1)
        return returned(body, 0.1)
    """
    assert found("JT101", program) == [13]


TALLY = """
    {helper}

    @jax.jit
    def step(x, tally):
        {change}
        return {given}

    def main(x):
        tally = {{"n": jnp.int32(0), "sum": jnp.float32(0.0), "seen": []}}
        result = step(x, tally)
        return result, tally
"""
ADDS = "def add(tally, x): tally['sum'] = tally['sum'] + x.sum()"


@pytest.mark.parametrize(
    ("helper", "change", "line"),
    [
        (ADDS, "add(tally, x)", 1),
        ("", "tally.update(sum=tally['sum'] + x.sum())", 3),
        ("", "tally['seen'].append(x.max())", 3),
        ("", "tally['sum'] += x.sum()", 3),
    ],
)
def test_what_is_changed_in_an_argument_is_lost_unless_it_is_given_back(
    helper: str, change: str, line: int
):
    lost = TALLY.format(helper=helper, change=change, given="x * 2")
    assert found("JT101", lost) == [line]
    kept = TALLY.format(helper=helper, change=change, given="x * 2, tally")
    assert found("JT101", kept) == []
    inside = TALLY.format(helper=helper, change=change, given="{'x': x, 'more': {'t': tally}}")
    assert found("JT101", inside) == []


def test_a_helper_may_prepare_a_batch_that_its_caller_reads():
    program = """
    def prepare(batch):
        batch["x"] = batch["x"] / 255.0

    def loss(w, batch):
        return (w * batch["x"]).sum()

    @jax.jit
    def step(w, batch):
        prepare(batch)
        return jax.grad(loss)(w, batch)

    def main(x):
        return step(x, {"x": x})
    """
    assert found("JT101", program) == []


def test_a_context_may_change_a_copy_for_a_while():
    program = """
    import contextlib
    import chex

    @chex.dataclass
    class Data:
        x: jax.Array
        scale: jax.Array

        @contextlib.contextmanager
        def scaled(self, scale):
            before = self.scale
            self.scale = scale * self.scale
            yield self
            self.scale = before

    @jax.jit
    def step(data, x):
        with data.scaled(2.0) as it:
            return it.x * x

    def main(x):
        return step(Data(x=x, scale=x), x)
    """
    assert found("JT101", program) == []


@pytest.mark.parametrize(
    "count",
    [
        "SEEN[kind] = SEEN.get(kind, 0) + n",
        "before = SEEN.get(kind, 0); SEEN[kind] = before + n",
        "SEEN.update([kind])",
        "SEEN[kind] += n",
    ],
)
def test_what_counts_is_told_where_traced_code_calls_it_if_others_may(count: str):
    program = f"""
    import collections

    SEEN = collections.Counter()

    def note(kind, n):
        {count}

    @jax.jit
    def step(x):
        note("rows", x.shape[0])
        return x * 2

    def main(x):
        {{}}
        return step(x), SEEN
    """
    assert found("JT101", program.format("pass")) == [6]
    assert found("JT101", program.format("note('calls', 1)")) == [10]
