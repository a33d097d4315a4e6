"""Lists that grow from turn to turn, and what is made of all their rows at once."""

import pytest

from .reading import found

PROGRAM = """
@jax.jit
def fit(w, xs, ys):
    return w - jnp.mean((xs @ w - ys)[:, None] * xs, axis=0)

def joined(*rows):
    return jnp.stack(rows)

def entry(w, stream):
    seen = []
    for x, y in stream:
        {turn}
    return w
"""


@pytest.mark.parametrize(
    "turn",
    [
        "seen.append((x, y)); xs, ys = zip(*seen); w = fit(w, jnp.stack(xs), jnp.stack(ys))",
        "seen.append((x, y)); xs, ys = map(jnp.stack, zip(*seen)); w = fit(w, xs, ys)",
        "seen.append(x); w = fit(w, joined(*seen), y)",
        "seen.append({'x': x}); w = fit(w, jax.tree.map(joined, *seen)['x'], y)",
        "seen.append((x, y)); w = fit(w, *jax.tree.map(lambda *v: jnp.stack(v), *seen))",
    ],
)
def test_columns_of_rows_that_grow(turn: str):
    assert found("JT304", PROGRAM.format(turn=turn)) == [11]


@pytest.mark.parametrize(
    "turn",
    [
        "rows = [(x, y), (y, x)]; xs, ys = zip(*rows); w = fit(w, jnp.stack(xs), jnp.stack(ys))",
        "w = fit(w, joined(x, x, x), joined(y, y, y))",
        "seen.append((x, y)); xs, ys = zip(*seen[-1:]); w = fit(w, xs[0], ys[0])",
    ],
)
def test_columns_of_as_many_rows_in_each_turn(turn: str):
    assert found("JT304", PROGRAM.format(turn=turn)) == []


@pytest.mark.parametrize(
    "loop", ["for _ in range(9):\n            one.next()", "[one.next() for _ in range(9)]"]
)
@pytest.mark.parametrize(
    ("kept", "line"),
    [
        ("jnp.concatenate([self.seen, new[None]])", 10),
        ("jnp.concatenate([self.seen[1:], new[None]])", None),
    ],
)
def test_an_object_hands_over_what_it_makes_longer_afterwards(loop, kept, line):
    program = f"""
    @jax.jit
    def mean(seen):
        return seen.mean(0)

    class Reader:
        def __init__(self, seen):
            self.seen = seen

        def next(self):
            new = mean(self.seen)
            self.seen = {kept}
            return new

    def entry(seen):
        one = Reader(seen)
        {loop}
        return one.seen
    """
    assert found("JT304", program) == ([line] if line else [])


def test_a_dict_hands_over_what_it_makes_longer_afterwards():
    program = """
    @jax.jit
    def mean(seen):
        return seen.mean(0)

    def entry(rows):
        state = {"seen": rows, "first": rows}
        for _ in range(9):
            new = mean(state["seen"])
            old = mean(rows)
            state["seen"] = jnp.concatenate([state["seen"], new[None]])
        return state
    """
    assert found("JT304", program) == [8]
