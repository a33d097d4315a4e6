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


TRAINED = """
from typing import Any, NamedTuple
from flax import nnx
import flax.linen as nn

class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(4, rngs=rngs)

    def __call__(self, x, use_running_average):
        return self.norm(x, use_running_average=use_running_average)

class Old(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False)(x)

class Learner(NamedTuple):
    weights: Any
    averages: Any

GRAPH, WEIGHTS, AVERAGES = nnx.split(Net(nnx.Rngs(0)), nnx.Param, nnx.BatchStat)

def merged(weights, averages, x):
    model = nnx.merge(GRAPH, weights, averages)
    y = model(x, use_running_average={evaluates})
    return y.mean(), (nnx.state(model, nnx.BatchStat), y)

def applied(weights, averages, x):
    variables = {{"params": weights, "batch_stats": averages}}
    y, renewed = Old().apply(variables, x, mutable=["batch_stats"])
    return y.mean(), (renewed["batch_stats"], y)

def step(learner, x):
    derived = jax.value_and_grad({loss}, has_aux=True)
    (value, ({name}, y)), grads = derived(learner.weights, learner.averages, x)
    weights = jax.tree.map(lambda p, g: p - 0.1 * g, learner.weights, grads)
    return {result}, (value, y)

@jax.jit
def entry(xs):
    return jax.lax.scan(step, Learner(WEIGHTS, AVERAGES), xs)
"""


@pytest.mark.parametrize("loss", ["merged", "applied"])
@pytest.mark.parametrize(
    "result", ["learner._replace(weights=weights)", "Learner(weights, learner.averages)"]
)
def test_a_state_that_a_loss_returns_is_not_kept(loss: str, result: str):
    fields = {"loss": loss, "result": result, "evaluates": False}
    assert found("PT105", TRAINED.format(name="_", **fields)) == [35]


@pytest.mark.parametrize("loss", ["merged", "applied"])
def test_a_state_that_a_loss_returns_is_kept(loss: str):
    kept = "Learner(weights, averages)"
    fields = {"loss": loss, "name": "averages", "result": kept, "evaluates": False}
    assert found("PT105", TRAINED.format(**fields)) == []


def test_a_state_that_a_loss_returns_is_the_old_one():
    kept = "learner._replace(weights=weights)"
    fields = {"loss": "merged", "name": "_", "result": kept, "evaluates": True}
    assert found("PT105", TRAINED.format(**fields)) == []
