"""States, counts and results that look wrong where they are read, and are right in the whole."""

import textwrap
from pathlib import Path

from verax.audit.source.engine import Options, audit_paths

from .reading import found


def test_a_count_that_a_base_class_advances(tmp_path: Path):
    base = """
        from flax import struct

        @struct.dataclass
        class State:
            x: float
            step: int

        class Algorithm:
            def tell(self, state):
                return self._tell(state).replace(step=state.step + 1)
    """
    derived = """
        from flax import struct
        from base import Algorithm, State

        @struct.dataclass
        class Own(State):
            rate: float

        class Search(Algorithm):
            def init(self, x):
                return Own(x=x, step=0, rate=1.0)

            def _tell(self, state):
                return state.replace(rate=state.rate * 0.9**state.step)
    """
    for name, text in {"base.py": base, "derived.py": derived}.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    assert not audit_paths([str(tmp_path)], Options(jobs=1, cache=False)).issues


def test_results_that_are_swapped_like_the_arguments():
    program = """
    def sizes(width_m, width_n):
        block_m, block_n = width_m // 2, width_n // 4
        return block_m, block_n

    def chosen(width_m, width_n):
        if width_n >= width_m:
            block_m, block_n = sizes(width_m, width_n)
        else:
            block_n, block_m = sizes(width_n, width_m)
        return jnp.zeros((block_m, block_n))
    """
    assert found("DF119", program) == []


def test_a_relative_difference_of_a_best_value_that_starts_at_infinity():
    program = """
    class Stopping:
        def __init__(self, relative):
            self.relative = relative
            self.best = float("inf")

        def is_better(self, loss):
            return loss < self.best * (1 - self.relative)
    """
    assert found("DF207", program) == []


def test_variables_of_a_class_are_no_leaves_of_its_objects():
    program = """
    from typing import ClassVar
    from flax import struct

    @struct.dataclass
    class Tree:
        visits: jax.Array
        ROOT: ClassVar[int] = 0

    def visit(tree):
        return tree.replace(visits=tree.visits + 1)

    def search(n):
        tree = Tree(visits=jnp.zeros((8, n))).replace(visits=jnp.ones((8, n)))
        return jax.lax.fori_loop(0, n, lambda _, it: jax.vmap(visit)(it), tree)
    """
    assert found("VM202", program) == []


def test_iterators_that_are_there_to_be_read_while_tracing():
    program = """
    import itertools
    import haiku as hk

    numbers = itertools.count()

    @jax.jit
    def step(key, xs):
        rngs = hk.PRNGSequence(key)
        name = f"layer_{next(numbers)}"

        def noisy(x):
            return x + jax.random.normal(next(rngs), x.shape)

        return jax.vmap(noisy)(xs), name
    """
    assert found("JT104", program) == []


def test_annotations_that_say_less_than_they_seem_to():
    program = """
    import equinox as eqx
    from jaxtyping import Array, Float

    class Ranges(eqx.Module):
        bounds: dict[str, tuple[Float, Float]] = eqx.field(static=True)

    class Signal(eqx.Module):
        n: int = eqx.field(static=True)

        @property
        def frequencies(self) -> Float[Array, "n // 2 + 1"]:
            return jnp.fft.rfftfreq(self.n, 0.1)

    def energy(x: Float[Array, "n"]) -> Float[Array, "1"]:
        return 0.5 * jnp.sum(x**2)

    def push(x: Float[Array, "n"]):
        return x - jax.grad(energy)(x)
    """
    assert [found(code, program) for code in ("PT106", "AX012", "GR201")] == [[], [], []]


def test_a_state_that_comes_back_at_another_place():
    program = """
    def generation(strategy, fitness, key, state):
        population, state = strategy.ask(key, state)
        state, _ = strategy.tell(population, fitness(population), state)
        return state, population
    """
    assert found("DF105", program) == []


def test_a_mean_along_another_axis_than_what_was_masked_elsewhere():
    program = """
    def blocks(samples, valid_mask):
        return jnp.where(valid_mask, samples, 0.0)

    def expected(samples, valid_mask):
        return jnp.mean(blocks(samples, valid_mask), axis=0)
    """
    assert found("DF109", program) == []


def test_a_kind_of_step_is_no_episode_that_goes_on():
    program = """
    class Kind:
        MIDDLE, TERMINATED, TRUNCATED = jnp.asarray(0), jnp.asarray(1), jnp.asarray(2)

    def described(state):
        terminated = state["done"] & ~state["truncated"]
        other = lax.select(state["truncated"], Kind.TRUNCATED, Kind.MIDDLE)
        return lax.select(terminated, Kind.TERMINATED, other)

    def reset(env, key):
        return described(env.begin(key))
    """
    assert found("EN008", program) == []
