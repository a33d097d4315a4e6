"""Shapes of what linen's `nn.vmap` makes of a layer."""

import pytest

from .reading import found

CRITICS = """
    import flax.linen as nn

    class Critic(nn.Module):
        width: int = 8

        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.relu(nn.Dense(self.width)(x)))

    Critics = nn.vmap(
        Critic,
        variable_axes={"params": 0},
        split_rngs={"params": True},
        in_axes=None,
        axis_size=3,
    )

    def loss(params, x, y):
        q = Critics(width=16).apply(params, x)
        return jnp.mean((q - y) ** 2)

    def entry(params, x, y):
        return jax.grad(loss)(params, x, y)

    def inputs():
        x = jnp.ones((6, 4))
        return Critics().init(jax.random.PRNGKey(0), x), x, jnp.ones(6)
"""


def test_one_output_of_several_layers_meets_labels():
    assert found("AX002", CRITICS) == [20]
    assert found("AX002", CRITICS.replace("- y)", "- y[:, None])")) == []
    assert found("AX002", CRITICS.replace("apply(params, x)", "apply(params, x)[..., 0]")) == []


def test_a_layer_that_is_mapped_within_another():
    program = CRITICS.replace(
        "    def loss",
        """    class Pair(nn.Module):
        @nn.compact
        def __call__(self, x):
            both = nn.vmap(Critic, variable_axes={"params": 0}, in_axes=None, axis_size=2)
            return both(width=4)(x)

    def loss""",
    ).replace("Critics(width=16)", "Pair()")
    assert found("AX002", program) == [26]


@pytest.mark.parametrize(
    ("options", "given", "lines"),
    [
        ("in_axes=None, axis_size=3", "(5, 4)", [9]),
        ("in_axes=None, out_axes=1, axis_size=3", "(5, 4)", []),
        ("in_axes=0", "(3, 5, 4)", [9]),
        ("in_axes=0, out_axes=1", "(3, 5, 4)", []),
        ("in_axes=1, out_axes=1", "(5, 3, 4)", []),
    ],
)
def test_where_the_lanes_stand(options, given, lines):
    program = f"""
    import flax.linen as nn

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(7)(x)

    Layers = nn.vmap(Layer, variable_axes={{"params": 0}}, {options})
    made = Layers().apply({{}}, jnp.ones({given})) - jnp.ones((5, 3, 7))
    """
    assert found("AX201", program) == lines
