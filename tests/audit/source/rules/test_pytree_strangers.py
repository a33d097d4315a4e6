"""Objects that JAX does not look into, wherever they meet its functions."""

import pytest

from .reading import found, found_of

RECORD = """
import dataclasses
from jax.flatten_util import ravel_pytree
import optax

@dataclasses.dataclass
class Pair:
    low: jax.Array
    high: jax.Array

def entry(i, x):
    x = jnp.tanh(x)
    pair = Pair(x, 2.0 * x)
    return {use}
"""


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("lax.cond(x.sum() > 0, lambda it: it.low, lambda it: it.high, pair)", "PT201"),
        ("lax.switch(i, [lambda it: it.low, lambda it: it.high], pair)", "PT201"),
        ("lax.scan(lambda c, it: (c + it, Pair(c, it)), 0.0, x)", "PT201"),
        ("lax.stop_gradient(pair)", "PT104"),
        ("ravel_pytree({'pair': pair})[0]", "PT104"),
        ("optax.global_norm([pair])", "PT104"),
        ("lax.cond(x.sum() > 0, lambda it: it[0], lambda it: it[1], (pair.low, pair.high))", ""),
        ("lax.stop_gradient((pair.low, pair.high))", ""),
        ("lax.scan(lambda c, it: (c + it, (c, Pair(c, it).low)), 0.0, x)", ""),
    ],
)
def test_a_record_meets_functions_that_take_trees(use: str, code: str):
    assert found_of("pytree", RECORD.format(use=use)) == ([(code, 13)] if code else [])


@pytest.mark.parametrize(
    ("head", "is_tree"),
    [
        ("class Batch(dict):\n    pass", False),
        ("import pydantic\nclass Batch(pydantic.BaseModel):\n    x: object", False),
        ("import attr\n@attr.s(auto_attribs=True)\nclass Batch:\n    x: jax.Array", False),
        ("import attrs\n@attrs.define\nclass Batch:\n    x: jax.Array", False),
        ("from types import SimpleNamespace as Batch", False),
        ("import chex\n@chex.dataclass\nclass Batch:\n    x: jax.Array", True),
        ("Batch = dict", True),
    ],
)
def test_records_of_other_kinds(head: str, is_tree: bool):
    program = f"""
{head}

@jax.jit
def f(batch):
    return batch

def entry(x):
    return f(Batch(x=jnp.tanh(x)))
"""
    assert (found("PT201", program) == []) == is_tree


@pytest.mark.parametrize(
    ("use", "is_wrong"),
    [
        ("jax.tree.map(lambda p: 0.9 * p, model)", True),
        ("jax.tree.map(lambda p, g: p - 0.1 * g, model, eqx.filter_grad(loss)(model, x))", True),
        ("jax.tree.map(jnp.zeros_like, model)", True),
        ("jax.tree.map(lambda p: 0.9 * p if eqx.is_array(p) else p, model)", False),
        ("jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_array))", False),
    ],
)
@pytest.mark.parametrize(
    "made",
    ["eqx.nn.MLP(3, 3, 4, 2, key=jax.random.key(0))", "Net(jnp.ones((3, 3)), jnp.tanh)"],
)
def test_functions_among_the_leaves_that_are_computed_with(use: str, made: str, is_wrong: bool):
    program = f"""
    import equinox as eqx

    class Net(eqx.Module):
        w: jax.Array
        activation: callable

        def __call__(self, x):
            return self.activation(self.w @ x)

    def loss(model, x):
        return jnp.sum(model(x))

    def entry(x):
        model = {made}
        return {use}
    """
    assert found("JT204", program) == ([15] if is_wrong else [])


def test_a_chain_of_layers_with_a_function():
    program = """
    import equinox as eqx

    def entry(x, key):
        linear = eqx.nn.Linear(3, 3, key=key)
        model = eqx.nn.Sequential([linear, eqx.nn.Lambda(jax.nn.relu)])
        return jax.grad(lambda model: jnp.sum(model(x)))(model)
    """
    assert found("PT202", program) == [6]
    assert found("PT202", program.replace(", eqx.nn.Lambda(jax.nn.relu)", "")) == []
