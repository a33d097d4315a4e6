"""One element of a mapped axis that is taken for all of them, and all that are taken for one."""

import pytest

from .reading import found


@pytest.mark.parametrize(
    "picked",
    [
        "lax.index_in_dim(walkers, 0, keepdims=False)",
        "jax.lax.dynamic_index_in_dim(walkers, 0)",
        "walkers[0, ...]",
        "walkers[0, :]",
    ],
)
def test_an_element_is_picked_in_other_words(picked: str):
    program = f"""
    from jaxtyping import Array, Float

    def drift(walkers):
        return jnp.sum((walkers - {picked}) ** 2)

    def spread(x: Float[Array, "walker particle dim"]):
        return jax.vmap(drift)(x)
    """
    assert found("VM003", program) == [4]
    assert found("VM003", program.replace("walkers", "walker")) == []
    of_dim = program.replace(picked, "lax.index_in_dim(walkers, 0, axis=1)")
    assert found("VM003", of_dim) == []


def test_two_numbers_are_assigned_at_once():
    program = """
    def loss(w, x):
        batch_size, scale = x.shape[0], 2.0
        return scale * jnp.sum((x * w) ** 2) / batch_size

    def total(w, x):
        return jax.vmap(loss, in_axes=(None, 0))(w, x).sum()

    out = total(jnp.ones(3), jnp.ones((8, 3)))
    """
    assert found("VM003", program) == [2]
    of_scale = program.replace("x.shape[0], 2.0", "8, x.shape[0]")
    assert found("VM003", of_scale) == []


def test_all_but_the_first_axis_of_one_image_is_made_a_vector():
    program = """
    from jaxtyping import Array, Float

    def norms(images):
        flat = images.reshape(images.shape[0], -1)
        return jnp.linalg.norm(flat, axis=-1).max()

    def largest(x: Float[Array, "batch height width"]):
        return jax.vmap(norms)(x)
    """
    assert found("VM003", program) == [4]
    in_words = program.replace("images.reshape(images.shape[0], -1)", "images[0]")
    assert found("VM003", in_words) == [4]
    # There are several images in one element.
    assert found("VM003", program.replace("height", "time")) == []
    # An image has rows, and so has what is made of it.
    assert found("VM003", program.replace("images", "image")) == []
    assert found("VM003", program.replace("images", "image_patches")) == []


def test_each_prediction_is_compared_with_all_targets():
    program = """
    from jaxtyping import Array, Float

    def predict(w, x):
        return jnp.tanh(x @ w)

    def losses(w: Float[Array, "feat"], x: Float[Array, "batch feat"], y: Float[Array, "batch"]):
        def one(row):
            return jnp.mean((predict(w, row) - y) ** 2)

        return jax.vmap(one)(x)
    """
    assert found("VM002", program) == [8]
    # What is made from the same rows is one of a pair.
    pairs = program.replace("- y)", "- x @ w)")
    assert found("VM002", pairs) == []
    among = program.replace("(predict(w, row) - y) ** 2", "predict(w, row) > y")
    assert found("VM002", among) == []


@pytest.mark.parametrize(
    "number",
    [
        "1.0 / x.shape[0]",
        "-len(x)",
        "math.sqrt(x.shape[1])",
        "max(1, x.shape[1])",
        "(1.0 if x.shape[0] > 3 else 2.0)",
        "x.size",
    ],
)
def test_a_number_leaves_the_axes_as_they_are(number: str):
    program = f"""
    import math
    from jaxtyping import Array, Float

    def whiten(mean, row):
        return row - mean

    def apply(mean: Float[Array, "feat"], x: Float[Array, "batch feat"]):
        return jax.vmap(whiten)(mean * ({number}), x)
    """
    assert found("VM001", program) == [8]
    assert found("VM001", program.replace("(whiten)", "(whiten, in_axes=(None, 0))")) == []
    # What an unknown factor has for axes, nobody knows.
    assert found("VM001", program.replace(f"({number})", "unknown(x)")) == []


REDUCED = """
def over(x):
    return {{"mean": x.mean(axis=0), "scale": 2.0}}

def one(x):
    {0}
    return x - batch_mean

def entry(xs):
    return jax.vmap(one)(xs)

def inputs():
    return (jnp.ones({1}),)

AXES = {{"xs": "{2}"}}
"""


@pytest.mark.parametrize(
    "named",
    [
        "batch_mean, scale = jnp.mean(x, 0), 2.0",
        'batch_mean = over(x)["mean"]',
        "batch_mean = jax.tree.map(lambda leaf: leaf.mean(0), x)",
    ],
)
def test_a_mean_is_named_after_the_batch_however_it_got_there(named):
    assert found("VM003", REDUCED.format(named, "(4, 3)", "batch feat")) == [5]
    assert found("VM003", REDUCED.format(named, "(4, 5, 3)", "member batch feat")) == []
    unnamed = named.replace("batch_mean", "mean") + "; batch_mean = 0.0"
    assert found("VM003", REDUCED.format(unnamed, "(4, 3)", "batch feat")) == []


OTHERS = """
    def density(x, xs, i):
        n = x.shape[0]
        near = jnp.exp(-jnp.sum((xs - x) ** 2, axis=-1))
        return (near.sum() - near[i]) / (n - 1)

    def main():
        xs = jnp.ones((5, 3))
        return jax.vmap(density, in_axes=(0, None, 0))(xs, xs, jnp.arange(5)).mean()
"""


def test_a_mean_over_all_others_by_the_length_of_one():
    assert found("VM003", OTHERS) == [2]
    assert found("VM003", OTHERS.replace("x.shape[0]", "xs.shape[0]")) == []
    bounded = OTHERS.replace("x.shape[0]", "jnp.maximum(len(x) - 1, 1)").replace("(n - 1)", "n")
    assert found("VM003", bounded) == [2]
    # What is called a dimension is none of the others, and without a "less one" it may be a scale.
    assert found("VM003", OTHERS.replace("n = x", "dim = x").replace("(n -", "(dim -")) == []
    assert found("VM003", OTHERS.replace("(n - 1)", "n")) == []


def test_a_sum_over_what_a_lane_has_made_of_its_own():
    program = """
    def spread(w, x):
        made = x @ w
        return jnp.sum((made - x.mean()) ** 2) / (x.shape[0] - 1)

    def main():
        return jax.vmap(spread, in_axes=(None, 0))(jnp.ones((3, 5)), jnp.ones((5, 3)))
    """
    assert found("VM003", program) == []


def test_all_others_from_outside_of_the_mapped_function():
    program = """
    def main():
        xs = jnp.ones((5, 3))

        def pushed(x):
            far = jnp.sum((xs - x) ** 2, axis=-1)
            return jnp.sum(1 / (1 + far)) / (len(x) - 1)

        return jax.vmap(pushed)(xs)
    """
    assert found("VM003", program) == [6]
    assert found("VM003", program.replace("len(x)", "len(xs)")) == []
