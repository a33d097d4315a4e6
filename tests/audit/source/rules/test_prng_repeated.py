"""Keys that every turn of a loop or every lane of a map uses."""

import pytest

from .random_keys import found

REPEATED = {
    "what is folded by a function": (
        """
        def f(key, x, scales):
            return functools.reduce(lambda y, s: y + s * jax.random.normal(key, x.shape), scales, x)
        """,
        2,
    ),
    "what is mapped by Python": (
        """
        def f(key, sizes):
            return list(map(lambda n: jax.random.normal(key, (n,)), sizes))
        """,
        2,
    ),
    "a module of which several parts are replaced, but not the key": (
        """
        import equinox as eqx

        class Walk(eqx.Module):
            place: jax.Array
            count: jax.Array
            key: jax.Array

        class Search(eqx.Module):
            walk: Walk
            best: jax.Array

        def f(place, key):
            def body(search, _):
                walk = search.walk
                _, sub = jax.random.split(walk.key)
                place = walk.place + jax.random.normal(sub, walk.place.shape)
                new = (place, walk.count + 1, jnp.minimum(search.best, place))
                parts = lambda it: (it.walk.place, it.walk.count, it.best)
                return eqx.tree_at(parts, search, new), None

            start = Search(Walk(place, 0, key), place)
            return jax.lax.scan(body, start, None, length=5)
        """,
        19,
    ),
    "one key beside each batch": (
        """
        import itertools

        def train(x, batches, key):
            for batch, key in zip(batches, itertools.repeat(key)):
                x = x + jax.random.normal(key, batch.shape)
            return x
        """,
        5,
    ),
    "the dropout of each step of training": (
        """
        @jax.jit
        def step(state, batch, key):
            def loss(params):
                return jnp.mean(state.apply_fn(params, batch, rngs={"dropout": key}))

            return state.apply_gradients(grads=jax.grad(loss)(state.params))

        def epoch(state, loader, key):
            for batch in loader:
                state = step(state, batch, key)
            return state
        """,
        10,
    ),
    "a while loop that carries the key": (
        """
        def f(key, x):
            def body(state):
                i, key, x = state
                _, sub = jax.random.split(key)
                return i + 1, key, x + jax.random.normal(sub)

            return jax.lax.while_loop(lambda state: state[0] < 9, body, (0, key, x))
        """,
        5,
    ),
    "a carry in a dict": (
        """
        def step(carry, x):
            noise = jax.random.normal(carry["key"], x.shape)
            return {"key": carry["key"], "x": carry["x"] + noise}, None

        def f(key, xs):
            return jax.lax.scan(step, {"key": key, "x": jnp.zeros(3)}, xs)
        """,
        3,
    ),
    "a state whose key is not replaced": (
        """
        from flax import struct

        @struct.dataclass
        class State:
            x: jax.Array
            key: jax.Array

        def step(state: State, _):
            key, sub = jax.random.split(state.key)
            return state.replace(x=state.x + jax.random.normal(sub)), state.x

        def run(state: State):
            return jax.lax.scan(step, state, None, length=9)
        """,
        10,
    ),
    "a state of training that keeps its key": (
        """
        def train(model, state, batches):
            for batch in batches:
                out = model.apply(state.params, batch, rngs={"dropout": state.dropout_key})
                state = state.apply_gradients(grads=jnp.square(out), epoch=3)
            return state
        """,
        3,
    ),
    "a state that a step gives back with its key": (
        """
        import dataclasses

        @dataclasses.dataclass(frozen=True)
        class Chain:
            x: jax.Array
            key: jax.Array

        def move(chain: Chain):
            noise = jax.random.normal(chain.key, chain.x.shape)
            return dataclasses.replace(chain, x=chain.x + noise)

        def run(chain: Chain, n):
            for _ in range(n):
                chain = move(chain)
            return chain
        """,
        9,
    ),
    "objects made from one key": (
        """
        class Layer:
            def __init__(self, key):
                self.w = jax.random.normal(key, (3,))

        def layers(key, n):
            return [Layer(key) for _ in range(n)]
        """,
        6,
    ),
    "a helper in a fori loop": (
        """
        def noise(key, x):
            return x + jax.random.normal(key, x.shape)

        def f(key, x):
            return jax.lax.fori_loop(0, 5, lambda i, x: noise(key, x), x)
        """,
        5,
    ),
    "a loop of Python's": (
        """
        def f(key, sizes):
            params = []
            for a, b in zip(sizes[:-1], sizes[1:]):
                params.append(jax.random.normal(key, (a, b)))
            return params
        """,
        4,
    ),
    "a comprehension": (
        """
        def f(key, sizes):
            return [jax.random.normal(key, (size,)) for size in sizes]
        """,
        2,
    ),
    "split inside, always into the same": (
        """
        def f(key, x):
            def step(x, _):
                a, b = jax.random.split(key)
                return x + jax.random.normal(a) * jax.random.normal(b), None

            return jax.lax.scan(step, x, None, length=3)
        """,
        3,
    ),
    "dropout while training": (
        """
        def train(model, params, batches, key):
            for i in range(100):
                params = model.apply(params, batches[i], rngs={"dropout": key})
            return params
        """,
        3,
    ),
    "a method's key": (
        """
        class Env:
            def roll(self, n):
                return [jax.random.normal(self.key) for _ in range(n)]
        """,
        3,
    ),
}


@pytest.mark.parametrize("case", REPEATED)
def test_a_key_that_every_turn_uses_is_found(case: str):
    program, line = REPEATED[case]
    assert found(program) == [("RK002", line)]


SHARED = {
    "a runner that is copied with its key": (
        """
        class Runner(NamedTuple):
            x: jax.Array
            key: jax.Array

        def walk(runner):
            def step(runner, _):
                key, sub = jax.random.split(runner.key)
                return runner._replace(x=runner.x + jax.random.normal(sub), key=key), None

            return jax.lax.scan(step, runner, None, length=9)

        def copies(tree, n):
            return jax.tree.map(lambda it: jnp.broadcast_to(it, (n, *it.shape)), tree)

        def f(xs, key):
            key, sub = jax.random.split(key)
            return key, jax.vmap(walk)(Runner(xs, copies(sub, xs.shape[0])))
        """,
        17,
    ),
    "environments that start from copies, by somebody else's function": (
        """
        def start(env, rng, n):
            rngs = jnp.tile(rng[None], (n, 1))
            return jax.vmap(env.reset)(rngs)
        """,
        2,
    ),
    "closed over": (
        """
        def f(key, xs):
            def noisy(x):
                return x + jax.random.normal(key, x.shape)

            return jax.vmap(noisy)(xs)
        """,
        3,
    ),
    "broadcast, by a decorator with arguments": (
        """
        @partial(jax.vmap, in_axes=(None, 0))
        def act(key, obs):
            return obs + jax.random.normal(key, obs.shape)
        """,
        1,
    ),
    "one key several times": (
        """
        def f(key, xs):
            keys = jnp.repeat(key[None], xs.shape[0], axis=0)
            return jax.vmap(lambda k, x: x + jax.random.normal(k))(keys, xs)
        """,
        3,
    ),
    "one key of several": (
        """
        def f(key, xs):
            keys = jax.random.split(key, 3)
            return jax.vmap(lambda x: x + jax.random.normal(keys[1], x.shape))(xs)
        """,
        3,
    ),
}


@pytest.mark.parametrize("case", SHARED)
def test_a_key_that_all_lanes_use_is_found(case: str):
    program, line = SHARED[case]
    assert found(program) == [("RK003", line)]


@pytest.mark.parametrize(("data", "codes"), [("jax.lax.axis_index('env')", []), ("7", ["RK003"])])
def test_a_key_is_each_lanes_own_once_its_number_is_folded_in(data: str, codes: list[str]):
    program = f"""
    def f(key, xs):
        def noisy(x):
            return x + jax.random.normal(jax.random.fold_in(key, {data}), x.shape)

        return jax.vmap(noisy, axis_name="env")(xs)
    """
    assert [code for code, _ in found(program)] == codes


def test_a_key_that_a_choice_hands_on_as_it_came():
    program = """
    class World(NamedTuple):
        place: jax.Array
        key: jax.Array

    def begin(key):
        first, second = jax.random.split(key)
        return World(jax.random.normal(first) + jax.random.normal(second), key)

    def begin_anew(key):
        first, second = jax.random.split(key)
        return World(jax.random.normal(first), second)

    def step(world, again):
        over = world.place > 1.0
        fresh = again(world.key)
        return jax.tree.map(lambda a, b: jnp.where(over, a, b), fresh, world)

    def wrong(keys):
        turn = lambda worlds, _: (jax.vmap(lambda it: step(it, begin))(worlds), None)
        return lax.scan(turn, jax.vmap(begin)(keys), None, 10)

    def right(keys):
        turn = lambda worlds, _: (jax.vmap(lambda it: step(it, begin_anew))(worlds), None)
        return lax.scan(turn, jax.vmap(begin_anew)(keys), None, 10)
    """
    assert found(program) == [("RK002", 7)]
