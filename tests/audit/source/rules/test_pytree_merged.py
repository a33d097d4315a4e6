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


SEVERAL = """
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(4, rngs=rngs)

    def __call__(self, x):
        return self.norm(x)

def step(graph, params, stats, x):
    def loss(params, stats):
        model = nnx.merge(graph, params, stats)
        {setting}
        value = model(x).mean()
        return value, {result}

    (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats)
    return value, stats, grads

def entry(x):
    model = Net(nnx.Rngs(0))
    model.eval()
    graph, params, stats = nnx.split(model, nnx.Param, nnx.BatchStat)
    return step(graph, params, stats, x)
"""


@pytest.mark.parametrize(
    ("setting", "result", "lines"),
    [
        ("model.train()", "stats", [15]),
        ("model.train()", "(stats, nnx.state(model, nnx.Param))", [15]),
        ("model.train()", "params", [14]),
        ("model.train()", "nnx.state(model, nnx.BatchStat)", []),
        ("model.eval()", "stats", []),
    ],
)
def test_of_several_states_the_old_one_is_returned(setting: str, result: str, lines: list[int]):
    assert found("PT105", SEVERAL.format(setting=setting, result=result)) == lines
