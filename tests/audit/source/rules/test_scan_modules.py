"""Loops of modules: those of linen and haiku, whatever axis they go along."""

import pytest

from .reading import found

MODULE = """
import flax.linen as nn

class Cell(nn.Module):
    @nn.compact
    def __call__(self, h, x):
        new = nn.tanh(nn.Dense(4)(x) + nn.Dense(4)(h))
        return {0}, new

class Net(nn.Module):
    @nn.compact
    def __call__(self, xs):
        cell = nn.scan(
            Cell, variable_broadcast="params", split_rngs={{}}, in_axes=1, out_axes={1}
        )()
        last, states = cell(jnp.zeros({2}), xs)
        return states + xs

def entry(variables, xs):
    return Net().apply(variables, xs)

def inputs():
    return {{}}, jnp.ones((3, 5, 4))
"""
WHOLE = "(xs.shape[0], 4)"


def test_a_cell_hands_on_its_old_state():
    assert found("SC002", MODULE.format("h", 1, WHOLE)) == [7]
    assert found("SC002", MODULE.format("new", 1, WHOLE)) == []


def test_the_state_of_a_cell_starts_without_a_batch():
    assert found("SC201", MODULE.format("new", 1, "4")) == [15]
    assert found("SC201", MODULE.format("new", 1, WHOLE)) == []


def test_states_come_out_along_the_axis_that_is_asked_for():
    assert found("AX201", MODULE.format("new", 0, WHOLE)) == [16]
    assert found("AX201", MODULE.format("new", 1, WHOLE)) == []


@pytest.mark.parametrize("axes", ["(1, nn.broadcast)", "nn.broadcast"])
def test_what_is_not_sliced_is_not_followed(axes):
    program = MODULE.format("h", 1, "4").replace("in_axes=1", f"in_axes={axes}")
    assert found("SC201", program) == []


def test_a_state_grows_in_a_loop_of_haiku():
    program = """
    import haiku as hk

    def net(x):
        linear = hk.Linear(1)
        return hk.fori_loop(0, 5, lambda i, h: {0}, x)

    f = hk.transform(net)
    """
    assert found("SC201", program.format("jnp.append(h, linear(h))")) == [5]
    assert found("SC201", program.format("h + linear(h)")) == []


def test_a_map_of_haiku_pairs_axes_of_different_sizes():
    program = """
    import haiku as hk

    def entry(x, w):
        return hk.vmap(lambda x, w: x * w, in_axes=({0}), split_rng=False)(x, w)

    def inputs():
        return jnp.ones((3, 4)), jnp.ones(4)
    """
    assert found("VM202", program.format("0, 0")) == [4]
    assert found("VM202", program.format("0, None")) == []
