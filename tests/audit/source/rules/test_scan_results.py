"""Loops that are right, what becomes of their results, and carries that are only recorded."""

from functools import partial

import pytest

from .reading import found_of

found = partial(found_of, "scan")


FINE = {
    "a conditional with two operands, and the older form with one for each branch": """
        def f(done, start, state, key):
            new = lax.cond(done, lambda state, key: start, lambda state, key: state, state, key)
            return lax.cond(done, state, lambda x: x + 1, new, lambda x: x - 1)
        """,
    "a switch whose operand is named": """
        def f(turns, block):
            return lax.switch(index=turns, branches=(lambda a: a, lambda a: a.T), operand=block)
        """,
    "a record of which one branch of two makes a new one": """
        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class Graph:
            edges: jax.Array
            count: jax.Array

        def add(graph: Graph, edge):
            def grown(graph):
                return Graph(graph.edges.at[graph.count].set(edge), graph.count + 1), True

            return lax.cond(edge[0] > edge[1], grown, lambda *_: (graph, False), graph)

        def fill(graph: Graph, total, key):
            def is_open(carry):
                graph, total, _ = carry
                return graph.count < total

            def body(carry):
                graph, total, key = carry
                key, now = jax.random.split(key)
                graph, _ = add(graph, jax.random.randint(now, (2,), 0, 5))
                return graph, total, key

            return lax.while_loop(is_open, body, (graph, total, key))
        """,
    "a carry of fixed size": """
        def f(xs):
            def step(window, x):
                window = jnp.concatenate([window[1:], x[None]])
                return window, window.mean(axis=0)

            return lax.scan(step, jnp.zeros((3, xs.shape[-1])), xs)
        """,
    "numbers of Python's become arrays": """
        def f(xs):
            def step(carry, x):
                total, count = carry
                return (total + x.sum(), count + 1), None

            return lax.scan(step, (0.0, 0), xs)
        """,
    "parameters that ride along": """
        def f(params, xs):
            def step(params, x):
                y = params["w"] * x
                return params, y

            return lax.scan(step, params, xs)
        """,
    "a method that somebody else defines": """
        class Env:
            def step(self, state, action):
                raise NotImplementedError

            def roll(self, state, actions):
                def body(state, action):
                    state = self.step(state, action)
                    return state, None

                return lax.scan(body, state, actions)
        """,
    "scan under partial and jit": """
        def f(state, keys):
            def step(state, key):
                return state + jax.random.normal(key), state

            return jax.jit(partial(lax.scan, step))(state, keys)
        """,
    "the whole sequence, at a place that moves": """
        def f(xs, start):
            def step(carry, _):
                h, t = carry
                return (h + xs[t], t + 1), xs[0]

            return lax.scan(step, (start, 0), None, length=xs.shape[0])
        """,
    "the slice and the first element": """
        def f(xs, start):
            return lax.scan(lambda h, x: (h + x - xs[0], h), start, xs)
        """,
    "rounded on purpose": """
        def f(hits):
            def body(i, count):
                return jnp.floor(count / 2).astype(jnp.int32)

            return lax.fori_loop(0, 9, body, jnp.zeros(4, dtype=jnp.int32))
        """,
    "layers": """
        @jax.jit
        def f(layers, x):
            for i in range(8):
                x = jnp.tanh(x @ layers[i])
            for w in layers:
                x = x @ w
            return x
        """,
    "a loop outside of jit": """
        def train(params, steps):
            for _ in range(1000):
                params = params - 0.1 * jnp.sin(params)
            return params
        """,
    "independent turns": """
        @jax.jit
        def f(xs):
            out = []
            for t in range(xs.shape[0]):
                out.append(jnp.sin(xs[t]))
            return jnp.stack(out)
        """,
    "defaults of a body": """
        def step(carry, x, scale=2.0):
            return carry + scale * x, None

        def f(start, xs):
            return lax.scan(step, start, xs)
        """,
    "a tree of parameters in the carry": """
        def train(params, state, batches, update):
            def step(carry, batch):
                params, state = carry
                grads = jax.tree.map(lambda p: p * 2, params)
                updates, state = update(grads, state, params)
                params = jax.tree.map(lambda p, u: p + u, params, updates)
                return (params, state), None

            return lax.scan(step, (params, state), batches)
        """,
}


@pytest.mark.parametrize("case", FINE)
def test_loops_that_are_right_are_not_reported(case: str):
    assert found(FINE[case]) == []


def test_a_value_that_starts_several_carries_is_read_for_itself():
    program = """
    def search(state, tiles):
        first = second = player = state.player

        def turn(i, found):
            first, second = found
            other = (player + i) % 4
            first = jnp.where(tiles[other] > 2, other, first)
            return first, player + tiles[other]

        return lax.fori_loop(0, 3, turn, (first, second))
    """
    assert found(program) == []
    apart = program.replace("first = second = player = state.player", "first, player = state")
    read = found(apart.replace("(first, second))", "(first, player))"))
    assert read == [("SC005", 8)]


RESULTS_SWAPPED = {
    "a state and its metrics, by a helper": (
        """
        class State(NamedTuple):
            params: jax.Array
            count: jax.Array

        def train(state, data):
            def step(state, x):
                loss = (state.params * x).sum()
                return State(state.params - x, state.count + 1), {"loss": loss}

            return lax.scan(step, state, data)

        def epoch(params, data):
            metrics, state = train(State(params, jnp.zeros((), jnp.int32)), data)
            return state.params, metrics["loss"].mean()
        """,
        13,
    ),
    "records that are read in another function": (
        """
        class Row(NamedTuple):
            reward: jax.Array
            done: jax.Array

        def total(rows):
            return rows.reward.sum()

        def run(keys):
            def step(carry, key):
                x = carry["x"] + jax.random.normal(key)
                return {"x": x}, Row(x, x > 1)

            rows, last = lax.scan(step, {"x": jnp.zeros(())}, keys)
            return total(rows)
        """,
        13,
    ),
}


@pytest.mark.parametrize("case", RESULTS_SWAPPED)
def test_results_of_a_scan_that_are_swapped(case: str):
    program, line = RESULTS_SWAPPED[case]
    assert ("SC204", line) in found(program)


def test_parts_that_neither_result_of_a_scan_has_are_no_swap():
    program = """
    class Row(NamedTuple):
        reward: jax.Array

    def run(xs):
        carry, rows = lax.scan(lambda c, x: ({"x": c["x"] + x}, Row(x)), {"x": xs[0]}, xs)
        return rows.reward, carry["x"], rows.values, carry["y"], rows._replace(reward=0)
    """
    assert found(program) == []


def test_a_carry_that_is_only_recorded():
    program = """
    def wrong(net, world, seen, keys):
        def turn(carry, key):
            world, now = carry
            world, after = world.step(net(seen), key)
            return (world, after), now

        return lax.scan(turn, (world, seen), keys)

    def right(net, world, seen, keys):
        def turn(carry, key):
            world, now = carry
            world, after = world.step(net(now), key)
            return (world, after), now

        return lax.scan(turn, (world, seen), keys)
    """
    assert found(program) == [("SC005", 4)]


@pytest.mark.parametrize(
    ("names", "is_swapped"),
    [
        ("outputs, final", True),
        ("loss_history, last_state", True),
        ("final, outputs", False),
        ("out, rest", False),
    ],
)
def test_names_tell_that_the_results_are_swapped(names: str, is_swapped: bool):
    program = f"""
    def entry(xs):
        {names} = lax.scan(lambda h, x: (jnp.tanh(h + x), x.sum()), xs[0], xs)
        return {names}
    """
    assert (("SC204", 2) in found(program)) is is_swapped


def test_half_precision_is_chosen_and_the_body_loses_it():
    program = """
    def entry(xs):
        start = jnp.zeros(3, jnp.bfloat16)

        def step(total, x):
            scale = jnp.ones((), jnp.float32)
            return total + scale * x.astype(jnp.bfloat16), None

        return lax.scan(step, start, xs)

    def inputs():
        return (jnp.ones((5, 3)),)
    """
    assert ("SC201", 6) in found(program)
