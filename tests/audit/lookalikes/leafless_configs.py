"""Registered dataclasses without leaves, which come out of the carry of a scan."""

import dataclasses
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["rate", "name"])
@dataclasses.dataclass(frozen=True)
class Config:
    rate: float
    name: str


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Model:
    w: jax.Array
    config: Config


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Nothing:
    pass


def entry(w, xs):
    model = Model(w, Config(0.1, "linear"))

    def step(carry, x):
        model, state = carry
        grad = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(model.w)
        new = dataclasses.replace(model, w=model.w - model.config.rate * grad)
        return (new, state), jnp.sum(new.w)

    (model, state), sums = jax.lax.scan(step, (model, Nothing()), xs)
    config = model.config
    return {"model": model, "state": state, "config": config, "sums": sums}


@jax.jit
def keep(config, w):
    return config, w * config.rate


def main():
    out = entry(jnp.ones(3), jnp.ones((5, 2, 3)))
    config, w = keep(out["config"], out["model"].w)
    return config.name, w


def inputs():
    return jnp.ones(3), jnp.ones((5, 2, 3))
