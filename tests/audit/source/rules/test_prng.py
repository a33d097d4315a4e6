"""Random keys, as they are used in programs of other shapes than the rules' examples."""

import textwrap

import pytest

from verax.audit.source.analyse import audit_text

HEADER = (
    "import jax\nimport jax.numpy as jnp\nfrom functools import partial\n"
    "from typing import NamedTuple\n"
)


def found(program: str) -> list[tuple[str, int]]:
    """Codes of this family with the line of the program, which counts from one."""
    report = audit_text(HEADER + textwrap.dedent(program).lstrip("\n"), strict=True)
    lines = HEADER.count("\n")
    return [(it.code, it.place.line - lines) for it in report.findings if it.family == "prng"]


REUSED = {
    "a draw after a branch that drew": (
        """
        def f(key, x, noisy):
            if noisy:
                x = x + jax.random.normal(key, x.shape)
            return x * jax.random.bernoulli(key, 0.9, x.shape)
        """,
        4,
    ),
    "helpers, the second given what the first consumed": (
        """
        def layer(key, n):
            w_key, b_key = jax.random.split(key)
            return jax.random.normal(w_key, (n, n)), jax.random.normal(b_key, (n,))

        def init(key):
            return {"a": layer(key, 3), "b": layer(key, 4)}
        """,
        6,
    ),
    "a key that a helper returns as it was": (
        """
        def noise(key, x):
            return x + jax.random.normal(key, x.shape), key

        def f(key, x):
            x, key = noise(key, x)
            x, key = noise(key, x)
            return x
        """,
        6,
    ),
    "an attribute of self": (
        """
        class Sampler:
            def __init__(self, seed):
                self.key = jax.random.PRNGKey(seed)

            def sample(self, shape):
                self.key, key = jax.random.split(self.key)
                return jax.random.normal(key, shape) + jax.random.uniform(key, shape)
        """,
        7,
    ),
    "an object whose key does not move on": (
        """
        class Sampler:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            def sample(self):
                return jax.random.normal(self.key)

        def pair():
            sampler = Sampler(0)
            return sampler.sample(), sampler.sample()
        """,
        10,
    ),
    "the same keys in two comprehensions": (
        """
        def f(key):
            keys = jax.random.split(key, 5)
            weights = [jax.random.normal(k, (3,)) for k in keys]
            return weights, [jax.random.uniform(k) for k in keys]
        """,
        4,
    ),
    "the same keys in two maps": (
        """
        def f(key):
            keys = jax.random.split(key, 5)
            place = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
            speed = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
            return place, speed
        """,
        4,
    ),
    "the same number folded in": (
        """
        def f(key):
            a = jax.random.normal(jax.random.fold_in(key, 1))
            return a + jax.random.normal(jax.random.fold_in(key, 1))
        """,
        3,
    ),
    "a loop that starts from a used key": (
        """
        def f(key, x):
            x = x + jax.random.normal(key, x.shape)
            for _ in range(3):
                key, sub = jax.random.split(key)
                x = x + jax.random.normal(sub, x.shape)
            return x
        """,
        4,
    ),
    "the parameters of two networks": (
        """
        from flax import linen as nn

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(4)(x)

        def init(key, x):
            actor, critic = Net(), Net()
            return actor.init(key, x), critic.init({"params": key}, x)
        """,
        10,
    ),
    "two layers of a module": (
        """
        import equinox as eqx

        class Net(eqx.Module):
            def __init__(self, key):
                self.first = eqx.nn.Linear(2, 3, key=key)
                self.second = eqx.nn.Linear(2, 3, key=key)
        """,
        6,
    ),
    "samples of distributions": (
        """
        def f(key, policy, prior):
            key, sub = jax.random.split(key)
            return policy.sample(seed=sub), prior.sample(seed=sub)
        """,
        3,
    ),
    "a reset and the steps of an environment": (
        """
        def rollout(env, key, actions):
            obs, state = env.reset(key)

            def step(state, inputs):
                action, k = inputs
                obs, state, reward, done, _ = env.step(key, state, action)
                return state, reward

            return jax.lax.scan(step, state, (actions, jax.random.split(key, 10)))
        """,
        6,
    ),
    "a used key that a scan hands on": (
        """
        def f(key, x):
            def step(carry, _):
                x, key = carry
                key, sub = jax.random.split(key)
                x = x + jax.random.normal(sub, x.shape)
                return (x, sub), x

            return jax.lax.scan(step, (x, key), None, length=5)
        """,
        6,
    ),
    "a used key that a turn hands on": (
        """
        def f(key, x):
            for _ in range(5):
                key, sub = jax.random.split(key)
                x = x + jax.random.normal(key, x.shape)
            return x
        """,
        4,
    ),
    "inside of what a factory returns": (
        """
        def make_sampler(scale):
            def noise(key, x):
                return scale * jax.random.normal(key, x.shape)

            def sample(key, x):
                key, sub = jax.random.split(key)
                return noise(sub, x) + noise(sub, 2 * x)

            return sample
        """,
        7,
    ),
    "a key bound by a partial": (
        """
        def f(key, a, b):
            draw = partial(jax.random.normal, key)
            return draw(a.shape), draw(b.shape)
        """,
        3,
    ),
}


@pytest.mark.parametrize("case", REUSED)
def test_a_key_that_is_used_again_is_found(case: str):
    program, line = REUSED[case]
    assert ("RK001", line) in found(program)


REPEATED = {
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


TOO_FEW = {
    "an index": (
        """
        def f(key):
            keys = jax.random.split(key, 3)
            return jax.random.normal(keys[0]) + jax.random.normal(keys[3])
        """,
        3,
    ),
    "a counter, by symbols": (
        """
        def f(key, x):
            n = x.shape[0]
            keys = jax.random.split(key, n - 1)
            return [jax.random.normal(keys[i]) for i in range(n)]
        """,
        4,
    ),
    "names": (
        """
        def f(key):
            a, b, c = jax.random.split(key)
            return a, b, c
        """,
        2,
    ),
    "layers beyond the keys": (
        """
        SIZES = (8, 8, 4)

        def f(key):
            keys = jax.random.split(key, len(SIZES) - 1)
            return [jax.random.normal(k, (n,)) for k, n in zip(keys, SIZES)]
        """,
        5,
    ),
}


@pytest.mark.parametrize("case", TOO_FEW)
def test_too_few_keys_are_found(case: str):
    program, line = TOO_FEW[case]
    assert ("RK004", line) in found(program)


CONSTANT = {
    "in a method that is jitted": (
        """
        class Model:
            @partial(jax.jit, static_argnums=0)
            def __call__(self, x):
                keep = jax.random.bernoulli(jax.random.PRNGKey(1), 0.5, x.shape)
                return x * keep
        """,
        4,
    ),
    "in a loop": (
        """
        def train(params, steps):
            for _ in range(steps):
                key = jax.random.PRNGKey(0)
                params = params + jax.random.normal(key, params.shape)
            return params
        """,
        3,
    ),
    "in a default": (
        """
        def dropout(x, rate, key=jax.random.key(0)):
            return x * jax.random.bernoulli(key, rate, x.shape)
        """,
        1,
    ),
}


@pytest.mark.parametrize("case", CONSTANT)
def test_a_constant_key_is_found(case: str):
    program, line = CONSTANT[case]
    assert found(program) == [("RK005", line)]


FINE = {
    "exclusive branches": """
        def f(key, x, heavy):
            if heavy:
                return x + jax.random.laplace(key, x.shape)
            return x + jax.random.normal(key, x.shape)
        """,
    "branches of cond": """
        def f(key, x, flag):
            return jax.lax.cond(
                flag,
                lambda: x + jax.random.normal(key, x.shape),
                lambda: x + jax.random.uniform(key, x.shape),
            )
        """,
    "a list of keys by position": """
        def f(key, n):
            keys = list(jax.random.split(key, n))
            first, second, *rest = keys
            return jax.random.normal(first) + jax.random.normal(second) + jax.random.normal(rest[0])
        """,
    "a key that self moves on": """
        class Env:
            def next_key(self):
                self.key, key = jax.random.split(self.key)
                return key

            def roll(self, n):
                return [jax.random.normal(self.next_key()) for _ in range(n)]

            def again(self, n):
                for _ in range(n):
                    self.key, key = jax.random.split(self.key)
                    self.x = jax.random.normal(key)
        """,
    "a key in a dict that moves on": """
        def f(key, n):
            state = {"key": key}
            for _ in range(n):
                state["key"], sub = jax.random.split(state["key"])
                print(jax.random.normal(sub))
        """,
    "a key in a dict that moves on twice": """
        def f(key, n):
            state = {"key": key}
            for _ in range(n):
                state["key"], sub = jax.random.split(state["key"])
                print(jax.random.normal(sub))
                state["key"], sub = jax.random.split(state["key"])
                print(jax.random.normal(sub))
        """,
    "keys from a stream": """
        def stream(key):
            while True:
                key, sub = jax.random.split(key)
                yield sub

        def f(key, sizes):
            keys = stream(key)
            return [jax.random.normal(next(keys), (size,)) for size in sizes]
        """,
    "a loop that is left after the draw": """
        def f(key, kinds, x):
            for kind in kinds:
                if kind.fits(x):
                    return jax.random.normal(key, x.shape)
            return x
        """,
    "the lane's own number folded in": """
        @partial(jax.pmap, in_axes=(None, 0), axis_name="devices")
        def f(key, x):
            key = jax.random.fold_in(key, jax.lax.axis_index("devices"))
            return x + jax.random.normal(key, x.shape)
        """,
    "keys in a carry and in xs": """
        def f(key, x):
            def step(carry, k):
                x, key = carry
                key, sub = jax.random.split(key)
                return (x + jax.random.normal(sub) + jax.random.normal(k), key), None

            key, scanned = jax.random.split(key)
            return jax.lax.scan(step, (x, key), jax.random.split(scanned, 4))
        """,
    "a constant key for shapes only": """
        def f(model, x):
            return jax.eval_shape(lambda: jax.random.normal(jax.random.key(0), x.shape))
        """,
    "a seed from outside": """
        def f(seeds):
            return [jax.random.normal(jax.random.PRNGKey(seed)) for seed in seeds]

        @jax.jit
        def g(seed, x):
            return x + jax.random.normal(jax.random.key(seed), x.shape)
        """,
    "conditions that exclude each other": """
        def f(key, x, train, mode):
            if train:
                x = x + jax.random.normal(key, x.shape)
            if mode == "a":
                x = x * 2
            if not train:
                x = x + jax.random.uniform(key, x.shape)
            return x

        def g(key, x, mode):
            if mode == "normal":
                x = x + jax.random.normal(key, x.shape)
            if mode == "uniform":
                x = x + jax.random.uniform(key, x.shape)
            return x
        """,
    "a generator of NumPy's": """
        def f(rng, policy, prior):
            return policy.sample(rng), prior.sample(rng), rng.normal()
        """,
    "one key for all collections": """
        def f(model, key, x):
            return model.init({"params": key, "dropout": key}, x)
        """,
    "a key that objects only hold": """
        class State(NamedTuple):
            key: jax.Array
            x: jax.Array

        def f(key, x):
            state = State(key=key, x=x)
            state = state._replace(key=key)
            return state, dict(key=key), jax.random.normal(key)
        """,
    "the same path at two times": """
        import equinox as eqx

        class Path(eqx.Module):
            key: jax.Array

            def at(self, t):
                return t * jax.random.normal(self.key)

            def between(self, a, b):
                return self.at(b) - self.at(a)
        """,
    "enough keys": """
        def f(key, x):
            n = x.shape[0]
            keys = jax.random.split(key, n + 1)
            a, b = jax.random.split(keys[n])
            *more, last = jax.random.split(b, 5)
            return [jax.random.normal(keys[i]) for i in range(n)]
        """,
}


@pytest.mark.parametrize("case", FINE)
def test_keys_that_are_used_once_are_not_reported(case: str):
    assert found(FINE[case]) == []
