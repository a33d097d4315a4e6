"""Annotations are no proof, and what only resembles a mistake is left alone."""

import pytest

from .reading import found, found_of


def test_an_annotation_of_a_result_is_no_proof_that_a_carry_grows():
    program = """
    from jaxtyping import Array, Float

    def predict(chances, table) -> Float[Array, "num states"]:
        return table.T @ chances

    def run(table, steps):
        def step(chances, _):
            return predict(chances, table), chances

        return lax.scan(step, jnp.ones(3), steps)
    """
    assert found("SC201", program) == []


def test_a_size_that_is_computed_is_one():
    program = """
    def run(steps):
        def step(chances, _):
            return chances[None], chances

        return lax.scan(step, jnp.ones(3), steps)
    """
    assert found("SC201", program) == [5]


@pytest.mark.parametrize(
    ("content", "lines"), [("FIXED: ClassVar[int] = 0", []), ("size: int", [13])]
)
def test_a_class_that_only_lists_constants_has_no_objects(content: str, lines: list[int]):
    program = f"""
    from dataclasses import dataclass
    from typing import ClassVar

    @dataclass(frozen=True)
    class Kind:
        {content}

    @jax.jit
    def moved(kind, x):
        return jnp.where(kind == 1, x + 1.0, x)

    def transform(kind: Kind, x):
        return moved(kind, x)

    def transforms(joints, x):
        return [transform(joint.kind, x) for joint in joints]
    """
    assert found("PT201", program) == lines


@pytest.mark.parametrize(("type", "lines"), [("Static[str]", []), ("jax.Array", [15])])
def test_a_field_whose_type_says_that_it_is_static(type: str, lines: list[int]):
    program = f"""
    import jax_dataclasses as jdc
    from jax_dataclasses import Static

    @jdc.pytree_dataclass
    class Data:
        frame: {type}
        position: jax.Array

    @partial(jax.jit, static_argnames="frame")
    def turned(position, frame):
        return position

    @jax.jit
    def shown(data: Data):
        return turned(data.position, frame=data.frame)
    """
    assert found("JT205", program) == lines


def test_remainders_of_something_computed_may_not_all_occur():
    program = """
    TABLE = jnp.zeros((2, 3))

    def hashed(piece):
        return TABLE[0, (piece % 5) % 4]

    def plain(step):
        return TABLE[0, step % 4]
    """
    assert found("DF203", program) == [7]


def test_a_change_of_what_a_reset_has_made_is_no_choice_of_a_reset():
    program = """
    class State(NamedTuple):
        lives: jax.Array
        deck: jax.Array

    def reset(key):
        return State(jnp.ones(3), jax.random.permutation(key, 50))

    def step(state, action):
        life_lost = action > 5
        lives = jnp.where(life_lost, state.lives.at[0].set(0.0), state.lives)
        return state._replace(lives=lives)

    def play(key, action):
        return step(reset(key), action)
    """
    assert found("EN008", program) == []


@pytest.mark.parametrize(
    ("made", "lines"), [("Shown(layer.kinds)", []), ("Layer(layer.kinds, layer.count)", [14])]
)
def test_something_else_that_is_made_of_one_field(made: str, lines: list[int]):
    program = f"""
    class Kinds(NamedTuple):
        sizes: jax.Array

    class Layer(NamedTuple):
        kinds: Kinds
        count: int

    class Shown(NamedTuple):
        kinds: Kinds

    def shown(layer: Layer, x):
        kinds = layer.kinds._replace(sizes=layer.kinds.sizes + x)
        total = jnp.sum(kinds.sizes)
        return total, {made}
    """
    assert found("DF105", program) == lines


CHAINED = """
from jaxtyping import Array, Float

def doubled(x: Float[Array, "batch 8"]) -> Float[Array, "batch 16"]:
    return jnp.concatenate([x, x], axis=-1)

def entry(x: Float[Array, "batch 8"]) -> Float[Array, "batch 32"]:
    return doubled(doubled(x))

def dense(x: Float[Array, "batch width"], w: Float[Array, "width out"]):
    return jnp.einsum("bi,oi->bo", x, w)

def layer():
    return dense(jnp.ones((5, 3)), jnp.ones((4, 3)))
"""


def test_annotations_that_contradict_each_other_are_reported_and_not_the_code():
    assert found_of("axis", CHAINED) == [("AX017", 3), ("AX017", 9)]
    # Either of the two corrections is enough.
    right = CHAINED.replace("batch 8", "batch n").replace('"batch 16"', '"batch 2*n"')
    right = right.replace("width out", "out width")
    assert found_of("axis", right) == []
