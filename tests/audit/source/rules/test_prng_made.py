"""Keys as they are made: too few of them, or always the same."""

import pytest

from .random_keys import found

TOO_FEW = {
    "an index": (
        """
        def f(key):
            keys = jax.random.split(key, 3)
            return jax.random.normal(keys[0]) + jax.random.normal(keys[3])
        """,
        2,
    ),
    "a counter, by symbols": (
        """
        def f(key, x):
            n = x.shape[0]
            keys = jax.random.split(key, n - 1)
            return [jax.random.normal(keys[i]) for i in range(n)]
        """,
        3,
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
        4,
    ),
    "two for each turn": (
        """
        def f(key, x):
            keys = jax.random.split(key, 4)
            for i in range(3):
                x = x @ jax.random.normal(keys[2 * i], (4, 4)) + jax.random.normal(keys[2 * i + 1])
            return x
        """,
        2,
    ),
    "one after the counter of a loop": (
        """
        def f(key, x):
            steps = 5
            keys = jax.random.split(key, steps)
            start = x + jax.random.normal(keys[0], x.shape)
            body = lambda i, x: x + jax.random.normal(keys[i + 1], x.shape)
            return jax.lax.fori_loop(0, steps, body, start)
        """,
        3,
    ),
    "what a starred name is left": (
        """
        SIZES = (8, 8, 4)

        def f(key):
            first, *keys = jax.random.split(key, len(SIZES))
            rest = [jax.random.normal(k, (n,)) for k, n in zip(keys, SIZES)]
            return jax.random.normal(first), rest
        """,
        4,
    ),
}

ENOUGH = {
    "two for each turn, and one more": """
        def f(key, x):
            keys = jax.random.split(key, 7)
            for i in range(3):
                x = x @ jax.random.normal(keys[2 * i], (4, 4)) + jax.random.normal(keys[2 * i + 1])
            return x * jax.random.normal(keys[6])
        """,
    "the last of them by a counter that starts later": """
        def f(key, x):
            keys = jax.random.split(key, 4)
            for i in range(1, 5):
                x = x + jax.random.normal(keys[i - 1], x.shape)
            return x
        """,
    "between two names": """
        SIZES = (8, 8, 4)

        def f(key):
            first, *keys, last = jax.random.split(key, len(SIZES) + 2)
            rest = [jax.random.normal(k, (n,)) for k, n in zip(keys, SIZES)]
            return jax.random.normal(first), rest, jax.random.normal(last)
        """,
}


@pytest.mark.parametrize("case", ENOUGH)
def test_enough_keys_are_left_alone(case: str):
    assert found(ENOUGH[case]) == []


@pytest.mark.parametrize("case", TOO_FEW)
def test_too_few_keys_are_found(case: str):
    program, line = TOO_FEW[case]
    assert ("RK004", line) in found(program)


CONSTANT = {
    "the default of a field": (
        """
        import dataclasses

        @dataclasses.dataclass
        class Sampler:
            size: int = 3
            key: jax.Array = dataclasses.field(default_factory=lambda: jax.random.key(0))

            def draw(self):
                return jax.random.normal(self.key, (self.size,))

        def f():
            return Sampler().draw()
        """,
        6,
    ),
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
    "in a loop, from one seed": (
        """
        def evaluate(policy, config, episodes):
            returns = []
            for _ in range(episodes):
                returns.append(policy(jax.random.normal(jax.random.key(config.seed), (3,))))
            return returns
        """,
        4,
    ),
    "of which a fixed child is taken": (
        """
        @jax.jit
        def f(x, step):
            keys = jax.random.split(jax.random.key(0), 100)
            return x + step * jax.random.normal(keys[3], x.shape)
        """,
        3,
    ),
    "streams of nnx in a step": (
        """
        from flax import nnx

        @nnx.jit
        def create():
            rngs = nnx.Rngs(0)
            return nnx.Linear(3, 3, rngs=rngs)

        @nnx.jit
        def step(model, x):
            rngs = nnx.Rngs(noise=0)
            return model(x + jax.random.normal(rngs.noise(), x.shape))
        """,
        10,
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


SEEDS = {
    "of their own in each turn": """
        def f(seed, n):
            return [jax.random.normal(jax.random.key(seed + i)) for i in range(n)]
        """,
    "that a loop counts up": """
        class Sampler:
            def __init__(self, seed):
                self.seed = seed

            def draw(self, n):
                drawn = []
                for _ in range(n):
                    drawn.append(jax.random.normal(jax.random.key(self.seed)))
                    self.seed += 1
                return drawn
        """,
    "into which a number of the program's is folded": """
        @jax.jit
        def f(x, step):
            key = jax.random.fold_in(jax.random.key(0), step)
            return x + jax.random.normal(key, x.shape)
        """,
    "of which the program takes one": """
        @jax.jit
        def f(x, step):
            keys = jax.random.split(jax.random.key(0), 100)
            return x + jax.random.normal(keys[step], x.shape)
        """,
    "the same for each of several models": """
        def f(seed, models):
            return [model + jax.random.normal(jax.random.key(seed)) for model in models]
        """,
}


@pytest.mark.parametrize("case", SEEDS)
def test_seeds_may_be_made_into_keys_in_loops(case: str):
    assert found(SEEDS[case]) == []
