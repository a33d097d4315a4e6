"""Functions that are called by ways around: records, defaults, tables, haiku, contexts."""

from .reading import found


def test_functions_in_records_that_libraries_make_are_followed():
    program = """
    import collections
    import optax
    from types import SimpleNamespace
    from typing import NamedTuple

    Pair = collections.namedtuple("Pair", "init update")
    Other = NamedTuple("Other", [("init", object), ("update", object)])

    def clip(decay, make):
        def init(params):
            return 0.0

        def update(gradient, state):
            return gradient, max(decay * state, jnp.sum(gradient))
        return make(init, update)

    def noisy(make):
        def update(gradient, state):
            return gradient if state > 0 else -gradient
        return make(update=update)

    def plain(gradient, state):
        return gradient if state.ndim else -gradient

    @jax.jit
    def first(gradient, state):
        return clip(0.9, Pair).update(gradient, state)

    @jax.jit
    def second(gradient, state):
        return noisy(SimpleNamespace).update(gradient, state)

    @jax.jit
    def third(gradient, state):
        transformation = optax.GradientTransformation(lambda p: p, plain)
        return transformation.update(gradient, state), Other(1, plain).update(gradient, state)
    """
    assert found("JT201", program) == [14, 19]


def test_the_default_of_a_field_is_called():
    program = """
    from collections.abc import Callable
    from dataclasses import dataclass

    def positive(x):
        return x if x.sum() > 0 else -x

    def flat(x):
        return x if x.ndim == 1 else x.reshape(-1)

    @dataclass(frozen=True)
    class Net:
        act: Callable = positive
        last: Callable = flat

        def __call__(self, x):
            return self.last(self.act(x))

    @jax.jit
    def forward(x):
        return Net()(x)
    """
    assert found("JT201", program) == [5]


def test_a_method_stands_in_for_a_field():
    program = """
    import equinox as eqx

    class Base(eqx.Module):
        rate: eqx.AbstractVar[float]

    class Fast(Base):
        width: int

        @property
        def rate(self):
            return 0.1

    @eqx.filter_jit
    def forward(x):
        return x * 2 if Fast(3).rate > 0 else x
    """
    assert found("JT201", program) == []


def test_context_managers_of_the_program_are_entered():
    program = """
    import time

    class Timer:
        def __enter__(self):
            self.began = time.perf_counter()
            return self

        def __exit__(self, *error):
            self.took = time.perf_counter() - self.began

    @jax.jit
    def forward(x):
        with Timer() as timer:
            return x + 1

    def outside(x):
        with Timer() as timer:
            return forward(x)
    """
    assert found("JT104", program) == [5, 9]


def test_arrays_that_an_object_makes_are_tracers_where_equinox_filters():
    program = """
    import equinox as eqx

    class Head(eqx.Module):
        temperature: jax.Array
        greedy: bool

        def __init__(self, greedy=False):
            self.temperature = jnp.ones(())
            self.greedy = greedy

        def pick(self, x):
            if self.greedy:
                return x
            return x if self.temperature == 0 else x / self.temperature

    class Decoder(eqx.Module):
        head: Head

    @eqx.filter_jit
    def decode(decoder, x):
        return decoder.head.pick(x)

    def run(x):
        return decode(Decoder(Head()), x)
    """
    assert found("JT201", program) == [14]


def test_functions_that_haiku_makes_pure_are_followed():
    program = """
    import haiku as hk

    class Policy(hk.Module):
        def __call__(self, x, training):
            explore = jax.random.uniform(hk.next_rng_key()) < 0.1
            if training:
                x = 2 * x
            if explore:
                return x
            return hk.Linear(3)(x)

    def forward(x):
        return Policy()(x, True)

    def main(params, key, x):
        model = hk.transform(forward)
        return jax.jit(model.apply)(params, key, x)

    def norm(x):
        return x if x.ndim == 1 else x[0]

    def without_a_key(params, x):
        model = hk.without_apply_rng(hk.transform(norm))
        return jax.jit(model.apply)(params, x)

    def with_state(params, state, key, x):
        model = hk.transform_with_state(lambda x: x if x.sum() > 0 else -x)
        y, state = jax.jit(model.apply)(params, state, key, x)
        return y if y.sum() > 0 else -y
    """
    assert found("JT201", program) == [8, 27]


def test_loops_go_through_functions_that_are_known_by_name():
    program = """
    def flat(x):
        return x if x.ndim == 1 else x[0]

    def signed(x):
        return x if x.sum() > 0 else -x

    def checked(x):
        return x if x.max() < 1 else x / x.max()

    KNOWN = {"flat": flat, "signed": signed}

    class Layer:
        def __init__(self, name):
            self.act = KNOWN[name]

        def __call__(self, scale, x):
            return self.act(scale * x)

    class Stack:
        def __init__(self, names):
            self.layers = [Layer(name) for name in names]

        def __call__(self, params, x):
            for layer, scale in zip(self.layers, params):
                x = layer(scale, x)
            return x

    @jax.jit
    def numbered(x):
        for i, function in enumerate([flat, checked]):
            x = x + i * function(x)
        return x

    def main(params, x):
        return jax.jit(Stack(["flat", "signed"]))(params, x)
    """
    assert found("JT201", program) == [5, 8]


def test_a_loop_through_functions_that_are_known_by_name_is_fine():
    program = """
    def flat(x):
        return x if x.ndim == 1 else x[0]

    def signed(x):
        return x if x.sum() > 0 else -x

    KNOWN = {"flat": flat, "double": lambda x: 2 * x, "signed": signed}

    @jax.jit
    def forward(x):
        for number, name in enumerate(("flat", "double")):
            x = KNOWN[name](x) if number == 0 else x + KNOWN[name](x)
        return x

    def outside(x):
        return [KNOWN[name](x) for name in ("flat", "signed")]
    """
    assert found("JT201", program) == []


_SWING = """
    class Noise:
        def draw(self, scale):
            return scale * np.random.uniform()

    class Swing:
        def __init__(self, noise=Noise()):
            self.noise = noise

        def reset(self, key):
            return jax.random.normal(key, (2,)) * self.noise.draw(0.1)

        def step(self, state, torque):
            return state + torque

    class Other:
        def step(self, state):
            return state

    @partial(jax.jit, static_argnames="env")
    def roll(env, key, torques):
        return lax.scan(lambda s, a: (env.step(s, a), s), env.reset(key), torques)
    """


def test_what_a_traced_function_calls_on_an_argument_tells_its_class():
    assert found("JT104", _SWING) == [3]


def test_two_classes_that_an_argument_may_be_of():
    twin = _SWING.replace(
        "class Other:",
        "class Other:\n        def reset(self, key):\n            return key\n",
    )
    assert found("JT104", twin.replace("def step(self, state):", "def step(self, s, a):")) == []
    # One that cannot be called like this is none of them.
    assert found("JT104", twin) == [3]


def test_what_nothing_traces_is_not_guessed():
    assert found("JT104", _SWING.replace('@partial(jax.jit, static_argnames="env")', "")) == []


ENVIRONMENT = """
from gymnax.environments import environment

class Walk(environment.Environment):
    def __init__(self, is_sparse=True):
        self.is_sparse = is_sparse

    def step_env(self, key, state, action, params):
        place = state.place + jnp.sign(action)
        reward = place / params.length if self.is_sparse else jnp.ones(())
        return place, state.replace(place=place), reward, bool(place > params.length), {}

    def reset_env(self, key, params):
        return jnp.zeros(()), Start(jax.random.uniform(key))

    def describe(self, state):
        return "at the end" if state.place > 3 else "on the way"
"""


def test_what_a_library_compiles_of_a_class_is_traced():
    assert found("JT202", ENVIRONMENT) == [10]
    assert found("JT201", ENVIRONMENT) == []


def test_a_class_of_the_same_name_from_elsewhere_is_not_compiled():
    assert found("JT202", ENVIRONMENT.replace("gymnax.environments", "games")) == []
