"""Where a mistake is told that several functions take part in: where it is to be mended."""

import pytest

from .reading import found

BLAMED = {
    "a helper that is right inside of a pmap, called outside of one": (
        "VM201",
        """
        def centred(x):
            return x - jax.lax.pmean(x, "i")

        def evaluate(x):
            return centred(x).sum()

        train = jax.pmap(lambda x: centred(x), axis_name="i")
        train(jnp.ones((2, 3)))
        evaluate(jnp.ones(3))
        """,
        5,
    ),
    "a helper that collects, which is right outside of the scan": (
        "JT101",
        """
        class Log:
            def __init__(self):
                self.rows = []

            def add(self, row):
                self.rows.append(row)

        def run(xs):
            log = Log()

            def body(total, x):
                log.add(total)
                return total + x, None

            total, _ = lax.scan(body, 0.0, xs)
            log.add(total)
            return total
        """,
        12,
    ),
    "a helper that collects, and is called nowhere else": (
        "JT101",
        """
        class Log:
            def __init__(self):
                self.rows = []

            def add(self, row):
                self.rows.append(row)

        def run(xs):
            log = Log()

            def body(total, x):
                log.add(total)
                return total + x, None

            return lax.scan(body, 0.0, xs)
        """,
        6,
    ),
    "trees that a helper is given": (
        "PT203",
        """
        def blend(old, new, rate):
            return jax.tree.map(lambda a, b: a + rate * (b - a), old, new)

        def twice(old, new):
            return blend(old, new, 0.5)

        def run(x):
            target = {"w": x}
            return twice(target, {"w": x, "b": x})
        """,
        9,
    ),
    "trees of which a helper makes one": (
        "PT203",
        """
        def blend(old, x):
            new = {"w": x, "b": x}
            return jax.tree.map(lambda a, b: a + b, old, new)

        def run(x):
            return blend({"w": x}, x)
        """,
        3,
    ),
    "a memory that starts as nothing": (
        "SC201",
        """
        from typing import NamedTuple

        class Memory(NamedTuple):
            total: jax.Array
            last: jax.Array

        def start():
            total = jnp.zeros(())
            return Memory(
                total,
                None,
            )

        def body(memory, x):
            return Memory(memory.total + x, x), None

        def run():
            return lax.scan(body, start(), jnp.ones(5))
        """,
        11,
    ),
    "nothing in a dict of an object": (
        "SC201",
        """
        from flax import struct

        @struct.dataclass
        class Carry:
            seen: dict

        def body(carry, x):
            return carry.replace(seen={"last": x}), None

        def run():
            seen = {
                "last": None,
            }
            first = Carry(seen=seen)

            return lax.scan(body, first, jnp.ones(5))
        """,
        12,
    ),
    "a key that a helper adds, by a name that is put together": (
        "SC201",
        """
        NAMES = ("a", "b")

        def note(sums, x):
            sums = dict(sums)
            for name in NAMES:
                sums[f"sum/{name}"] = sums[f"sum/{name}"] + x
            sums["last"] = x
            return sums

        def run():
            sums = {f"sum/{name}": jnp.zeros(()) for name in NAMES}
            return lax.scan(lambda sums, x: (note(sums, x), x), sums, jnp.ones(5))
        """,
        7,
    ),
    "a carry that a body uses as it is and meets with a column": (
        "SC201",
        """
        def turn(i, level):
            rest = (jnp.ones(4) - jnp.eye(4) @ level)[:, None]
            step = 0.1 * rest
            return level + step

        def run():
            start = jnp.zeros(4)
            return lax.fori_loop(0, 3, turn, start)
        """,
        4,
    ),
    "a start that should be a column, as all that it meets": (
        "SC201",
        """
        def turn(level, row):
            size = jnp.sum(row * row, axis=-1, keepdims=True)
            level = 0.9 * level + 0.1 * size
            return level, None

        def run():
            start = jnp.zeros(4)
            return lax.scan(turn, start, jnp.ones((6, 4, 3)))
        """,
        7,
    ),
    "a counter that a body adds weights to": (
        "SC201",
        """
        def body(i, state):
            total, count = state
            weight = jnp.exp(total)
            count = count + weight
            return total + weight, count

        def run():
            count = jnp.zeros((), jnp.int32)
            return lax.fori_loop(0, 3, body, (jnp.zeros(()), count))
        """,
        4,
    ),
    "a sum that starts as an integer": (
        "SC201",
        """
        def body(i, state):
            weight = jnp.exp(jnp.ones(()))
            return state + weight

        def run():
            total = jnp.zeros((), jnp.int32)
            return lax.fori_loop(0, 3, body, total)
        """,
        6,
    ),
    "axes that are written elsewhere": (
        "VM202",
        """
        AXES = {"w": 0}


        def apply(params, x):
            return params["w"] * x + params["b"]

        def run(x):
            params = {"w": jnp.ones(3), "b": jnp.ones(())}
            return jax.vmap(apply, in_axes=(AXES, None))(params, x)
        """,
        1,
    ),
    "children that are not in the order of the constructor": (
        "PT101",
        """
        @jax.tree_util.register_pytree_node_class
        class Affine:
            def __init__(self, scale, shift):
                self.scale = scale
                self.shift = shift

            def tree_flatten(self):
                return (self.shift, self.scale), None

            @classmethod
            def tree_unflatten(cls, _, children):
                return cls(*children)
        """,
        8,
    ),
    "children that are taken apart in another order": (
        "PT101",
        """
        @jax.tree_util.register_pytree_node_class
        class Affine:
            def __init__(self, scale, shift):
                self.scale = scale
                self.shift = shift

            def tree_flatten(self):
                return (self.scale, self.shift), None

            @classmethod
            def tree_unflatten(cls, _, children):
                shift, scale = children
                return cls(scale, shift)
        """,
        12,
    ),
    "the one branch of three that returns another dtype": (
        "JT206",
        """
        def best(q):
            return q.max()

        def pick(rank, q):
            return jnp.argsort(q)[rank]

        def act(scale, mode):
            q = jnp.exp(jnp.full((4,), 0.5))
            branches = [jnp.argmax, best, functools.partial(pick, 1)]
            return lax.switch(mode, branches, q)
        """,
        2,
    ),
    "the branch that does not return what both are given": (
        "JT206",
        """
        def again(state):
            x, count = state
            return x * 0, 0.0

        def on(state):
            return state

        def step(x, done):
            state = x, jnp.zeros((), jnp.int32)
            return lax.cond(done, again, on, state)
        """,
        3,
    ),
    "the branch that does not return as many as are taken": (
        "JT206",
        """
        def shrink(x):
            return x / 2

        def grow(x):
            return x * 2, x

        def step(x, small):
            big, old = lax.cond(small, shrink, grow, jnp.sin(x))
            return big - old
        """,
        2,
    ),
    "the branch that is in another order than what a shared function returns": (
        "JT206",
        """
        from flax import struct

        @struct.dataclass
        class World:
            x: jax.Array

        def reset(key):
            world = World(jax.random.normal(key, (3,)))
            return world.x, world

        def on(world):
            return world, world.x

        def step(world, key):
            return lax.cond(world.x.sum() > 0, lambda w: reset(key), on, world)

        def run(key):
            return step(World(jnp.zeros(3)), key)
        """,
        12,
    ),
    "branches of which neither is the odd one": (
        "JT206",
        """
        def low(x):
            return x.sum()

        def high(x):
            return x * 2

        def step(x, small):
            x = jnp.sin(jnp.broadcast_to(x, (3,)))
            return lax.cond(small, low, high, x)
        """,
        9,
    ),
    "the whole of what is scanned": (
        "SC003",
        """
        def discounted(rewards, gamma):
            scaled = jnp.tanh(rewards)

            def back(total, reward):
                total = scaled + gamma * total
                return total, total

            return lax.scan(back, jnp.zeros(()), scaled, reverse=True)
        """,
        5,
    ),
    "a map whose name nothing inside goes by": (
        "VM201",
        """
        def synced(x):
            return lax.pmean(x, "i"), lax.axis_index("i")

        def run(x):
            return jax.vmap(synced, axis_name="j")(x)

        run(jnp.ones((2, 3)))
        """,
        5,
    ),
    "a sum that starts with the structure of another tree": (
        "PT203",
        """
        def run(params, xs):
            params = {"a": {"w": jnp.ones(3)}, "b": {"w": jnp.ones(2)}}
            zeros = jax.tree.map(jnp.zeros_like, params["a"])

            def body(carry, x):
                total, count = carry
                grads = jax.tree.map(lambda p: p * x, params)
                return (jax.tree.map(jnp.add, total, grads), count + 1), x

            first = (zeros, 0)
            return lax.scan(body, first, jnp.sin(xs))
        """,
        10,
    ),
    "layers that are scanned, while the body takes all of them": (
        "SC003",
        """
        def layer(params, x):
            return jnp.tanh(x @ params["w"] + params["b"])

        def run(x, key):
            layers = {"w": jax.random.normal(key, (4, 3, 3)), "b": jnp.zeros((4, 3))}

            def body(x, own):
                x = x * 2
                return layer(layers, x), None

            return lax.scan(body, x, layers)[0]
        """,
        9,
    ),
    "a counter that a condition asks for and nobody moves on": (
        "SC007",
        """
        def more(state):
            x, error, turn = state
            return (error > 1e-3) & (turn < 50)

        def improve(state):
            x, _, turn = state
            new = 0.5 * (x + 2 / x)
            return new, jnp.abs(new - x), turn

        def root(x):
            return lax.while_loop(more, improve, (x, jnp.ones(()), jnp.zeros((), jnp.int32)))
        """,
        8,
    ),
    "a window that grows by a row of which little is known": (
        "SC201",
        """
        def push(window, row):
            return jnp.concatenate([window, row[:, None]], axis=1)

        def run(net, params, xs):
            def body(window, x):
                window = push(window, net.apply(params, x))
                return window, window.sum()

            return lax.scan(body, jnp.zeros((3, 4, 8)), xs)
        """,
        2,
    ),
    "sizes that are zipped with keys under names": (
        "SC201",
        """
        SHAPES = {"w": (3, 3), "b": (3,)}

        def run(key):
            keys = jax.random.split(key, len(SHAPES))
            params = {n: jax.random.normal(k, s) for k, (n, s) in zip(keys, SHAPES.items())}

            def body(h, x):
                h = params["w"] @ h + params["b"][:, None]
                return h, h

            return lax.scan(body, jnp.zeros((3,)), None, length=5)
        """,
        11,
    ),
    "a new version of a field of a state": (
        "DF104",
        """
        from flax import struct

        @struct.dataclass
        class Buffer:
            rows: jax.Array

            def add(self, row):
                return self.replace(rows=self.rows.at[0].set(row))

        @struct.dataclass
        class State:
            buffer: Buffer
            x: jax.Array

        def step(state: State, row):
            state.buffer.add(row)
            return state.replace(x=state.x + 1)
        """,
        16,
    ),
}


@pytest.mark.parametrize("case", BLAMED)
def test_the_place_to_mend(case: str):
    code, program, line = BLAMED[case]
    assert found(code, program) == [line]


FINE = {
    "a tolerance that the loop carries": (
        "SC007",
        """
        def more(state):
            x, error, tolerance = state
            return error > tolerance

        def improve(state):
            x, _, tolerance = state
            new = 0.5 * (x + 2 / x)
            return new, jnp.abs(new - x), tolerance

        def root(x):
            return lax.while_loop(more, improve, (x, jnp.inf, 1e-3 * jnp.ones(())))
        """,
    ),
    "a tolerance that the loop carries, and an error that is measured": (
        "SC007",
        """
        def more(state):
            x, error, tolerance = state
            return error > tolerance

        def improve(state):
            x, _, tolerance = state
            new = 0.5 * (x + 2 / x)
            return new, jnp.abs(new - x), tolerance

        def root(x):
            return lax.while_loop(more, improve, (x, jnp.ones(()), 1e-3))
        """,
    ),
    "a table that goes with the steps": (
        "SC003",
        """
        def run(x, times):
            def body(x, t):
                return x + jnp.interp(t, times, jnp.sin(times)), None

            return lax.scan(body, x, times)[0]
        """,
    ),
    "a map of which one collective goes by the name": (
        "VM201",
        """
        def synced(x):
            return lax.pmean(x, "i"), lax.axis_index("j")

        def run(x):
            return jax.vmap(jax.vmap(synced, axis_name="j"), axis_name="i")(x)

        run(jnp.ones((2, 3)))
        """,
    ),
    "a last key that a shorter list does not reach": (
        "RK001",
        """
        def init(key, sizes):
            keys = jax.random.split(key, len(sizes))
            layers = [
                jax.random.normal(k, (n, m)) for k, n, m in zip(keys, sizes[:-1], sizes[1:])
            ]
            return layers, jax.random.normal(keys[-1], (3,))
        """,
    ),
}


@pytest.mark.parametrize("case", FINE)
def test_nothing_to_mend(case: str):
    code, program = FINE[case]
    assert found(code, program) == []


def test_a_last_key_that_goes_with_the_last_element_is_used_again():
    program = """
    def init(key, sizes):
        keys = jax.random.split(key, len(sizes))
        layers = [jax.random.normal(k, (n,)) for k, n in zip(keys, sizes)]
        return layers, jax.random.normal(keys[-1], (3,))
    """
    assert found("RK001", program) == [4]
