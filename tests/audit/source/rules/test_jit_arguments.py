"""Arguments that are static or donated: what may be passed, and what may be used afterwards."""

from .reading import found


def test_static_arguments_that_cannot_be():
    program = """
    from dataclasses import dataclass

    @dataclass
    class Config:
        size: int

    @functools.partial(jax.jit, static_argnums=2)
    def f(x, config):
        return x

    @functools.partial(jax.jit, static_argnames=("confg",))
    def g(x, config):
        return x

    @functools.partial(jax.jit, static_argnums=(1,))
    def h(x, config):
        return x

    def main(x):
        return h(x, Config(3)), h(x, {"size": 3}), h(x, [1, 2]), h(x, config=jnp.ones(3))

    class Agent:
        def __init__(self):
            self.f = jax.jit(self.step, static_argnums=(1,))

        def step(self, x):
            return x
    """
    assert found("JT105", program) == [7, 11, 20, 24]


def test_static_arguments_that_can_be():
    program = """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Config:
        size: int

    class Plain:
        pass

    class Agent:
        @functools.partial(jax.jit, static_argnums=(0, 2), static_argnames="mode")
        def step(self, x, config, *, mode="a"):
            return x

        def run(self, x):
            return self.step(x, Config(3), mode="b"), self.step(x, (1, 2)), self.step(x, Plain())

    f = jax.jit(lambda *args, **options: args, static_argnums=3, static_argnames="name")

    def main(x, numbers, names):
        g = jax.jit(f, static_argnums=numbers)
        return g(x, names), jax.jit(jnp.sum, static_argnames="axis")(x, axis=0)
    """
    assert found("JT105", program) == []


def test_a_donated_array_is_used_again():
    program = """
    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, batch):
        return params, state

    def train(params, state, batches):
        for batch in batches:
            new, state = step(params, state, batch)
        return new

    class Trainer:
        def __init__(self):
            self.update = jax.jit(self._update, donate_argnames="params")

        def _update(self, params, x):
            return params - x

        def run(self, x):
            new = self.update(self.params, x)
            if x.ndim > 1:
                print(self.params)
            self.params = new
    """
    assert found("JT106", program) == [7, 20]


def test_a_donated_array_is_replaced():
    program = """
    step = jax.jit(lambda params, x: params - x, donate_argnums=0)

    def train(params, xs, self):
        for x in xs:
            params = step(params, x)
            self.params = step(self.params, x)
        total = step(params, x)
        params = total
        return params

    def once(params, x):
        if x is None:
            return step(params, x)
        new = step(params, x)
        print(params.shape)
        return new

    @jax.jit
    def inside(params, x):
        return step(params, x) + params
    """
    assert found("JT106", program) == []


def test_a_donated_array_is_used_under_another_name():
    program = """
    import flax.struct
    import optax
    from typing import NamedTuple

    @flax.struct.dataclass
    class State:
        params: dict
        step: jax.Array
        apply: object = flax.struct.field(pytree_node=False)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, batch):
        return state

    def with_target(state: State, batches):
        for batch in batches:
            old = state.params
            apply = state.apply
            state = step(state, batch)
            target = optax.incremental_update(state.params, old, 0.1)
            apply(target)
        return target

    def keeps_the_last(state, batches):
        for batch in batches:
            last = state
            state = step(state, batch)
            print(jnp.sum(last.mean))

    def unknown(state, batch):
        params, model = state.params, state.model
        before = state.params
        config = state.config
        state = step(state, batch)
        return config.rate * (state.params - before)
    """
    assert found("JT106", program) == [20, 28, 35]


def test_a_donated_array_is_copied_under_another_name():
    program = """
    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, batch):
        return state

    def copies(state, batches):
        for batch in batches:
            last = jax.tree.map(jnp.copy, state)
            state = step(state, batch)
            print(last)

    def takes_a_new_one(state, batch):
        params = state.params
        state = step(state, batch)
        params = state.params
        return params

    def asks_only(state, batch):
        last = state
        state = step(state, batch)
        return last is None, last.shape

    def of_something_else(state, other, batch):
        params = other.params
        state = step(state, batch)
        return params
    """
    assert found("JT106", program) == []


def test_the_default_of_a_field_is_no_static_argument():
    program = """
    from dataclasses import dataclass, field

    @dataclass
    class Model:
        heads: int = 4

    @dataclass(frozen=True)
    class Optimiser:
        rate: float = 0.1

    @dataclass
    class Config:
        model: Model = field(default_factory=Model)
        optimiser: Optimiser = field(default_factory=lambda: Optimiser(0.2))

    @functools.partial(jax.jit, static_argnames="config")
    def forward(x, config):
        return x

    def main(x):
        config = Config()
        forward(x, config.optimiser)
        return forward(x, config.model)
    """
    assert found("JT105", program) == [23]


def test_a_part_of_an_array_is_no_static_argument():
    program = """
    @functools.partial(jax.jit, static_argnums=(1,))
    def f(x, receivers, n):
        return x[receivers] * n

    def g(x, edges):
        senders, receivers = jnp.asarray(edges).T
        return f(x, receivers, len(edges)), f(x, edges.shape[0], 3)
    """
    assert found("JT105", program) == [7]


def test_static_arguments_that_are_named_elsewhere():
    program = """
    def step(x, flag):
        if flag > 3:
            return x
        return -x

    def build(config):
        return jax.jit(step, static_argnames=config["static"])
    """
    assert found("JT201", program) == []
    assert found("JT201", program.replace('config["static"]', "()")) == [2]


def test_what_a_loop_keeps_of_donated_states():
    program = """
    class Training(NamedTuple):
        params: jax.Array
        average: jax.Array

    @partial(jax.jit, donate_argnums=0)
    def step(state, x):
        return Training(state.params + x, 0.9 * state.average + x)

    def best_of(state: Training, xs, score):
        best, kept = 0.0, None
        for x in xs:
            state = step(state, x)
            if score(state) > best:
                best, value = score(state), state
                kept = state.average
        return kept

    def all_of(state: Training, xs):
        seen, names = [], []
        for x in xs:
            state = step(state, x)
            seen.append(state)
            names.append(x)
        return seen, names

    def fine(state: Training, xs, score):
        copies, last, first = [], None, None
        for x in xs:
            state = step(state, x)
            copies.append(jax.tree.map(jnp.copy, state))
            last = state
            if score(state) > 3:
                first = state
                break
        return copies, last, first
    """
    assert found("JT106", program) == [15, 22]


def test_a_random_key_is_not_static():
    program = """
    class Model:
        @partial(jax.jit, static_argnums=(0, 2))
        def noisy(self, x, key, scale):
            return self.add(x, key, scale)

        @partial(jax.jit, static_argnums=(0, 3))
        def scaled(self, x, key, scale):
            return self.add(x, key, scale)

        @partial(jax.jit, static_argnums=(0, 2))
        def seeded(self, x, seed):
            return self.add(x, jax.random.key(seed), 1.0)

        def add(self, x, key, scale):
            return x + scale * jax.random.normal(key, x.shape)
    """
    assert found("JT105", program) == [2]


def test_what_every_turn_makes_anew_is_not_what_was_kept():
    program = """
    @functools.partial(jax.jit, donate_argnames="x")
    def scaled(x, by):
        return x * by

    def shards(devices, by):
        kept = []
        for device in devices:
            part = jnp.ones(3, device=device)
            part = scaled(part, by)
            kept.append(part)
        return jnp.stack(kept)

    def steps(part, count, by):
        kept = []
        for _ in range(count):
            part = scaled(part, by)
            kept.append(part)
        return jnp.stack(kept)
    """
    assert found("JT106", program) == [17]
