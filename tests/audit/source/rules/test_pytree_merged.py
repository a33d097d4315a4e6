"""Models of flax's nnx that are merged inside of a transformation."""

import pytest

from .reading import found

PROGRAM = """
from flax import nnx

class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.{layer}(4, rngs=rngs)
        self.count = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        {count}
        return self.norm(x)

class Net(nnx.Module):
    def __init__(self, rngs):
        self.block = Block(rngs)

    def __call__(self, x):
        return self.block(x)

@jax.jit
def step(graph, state, x):
    model = nnx.merge(graph, state)
    {setting}
    loss = model(x).mean()
    return {result}

def entry(x):
    graph, state = nnx.split(Net(nnx.Rngs(0)))
    return step(graph, state, x)
"""
FIELDS = {"layer": "LayerNorm", "count": "pass", "setting": "pass", "result": "loss"}


@pytest.mark.parametrize(
    "fields",
    [
        {"layer": "BatchNorm"},
        {"count": "self.count.value += 1"},
        {"count": "self.count[...] = self.count[...] + 1"},
    ],
)
def test_a_state_stays_behind(fields: dict[str, str]):
    assert found("PT105", PROGRAM.format(**FIELDS | fields)) == [23]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"layer": "BatchNorm", "result": "loss, nnx.state(model)"},
        {"layer": "BatchNorm", "result": "loss, nnx.split(model)[1]"},
        {"layer": "BatchNorm", "setting": "model.eval()"},
        {"count": "self.count.value += 1", "result": "loss, model"},
    ],
)
def test_a_state_is_taken_out_or_stays_the_same(fields: dict[str, str]):
    assert found("PT105", PROGRAM.format(**FIELDS | fields)) == []
