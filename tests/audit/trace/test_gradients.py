"""Where no gradient is said to flow, there is none: held against random programs that are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.audit.trace.entry import trace
from verax.audit.trace.facts import Facts

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "tanh": lambda a, b: jnp.tanh(a),
    "bfloat16": lambda a, b: (a.astype(jnp.bfloat16) * 2).astype(b.dtype),
    "relu": lambda a, b: jax.nn.relu(a + 3),
    "softmax": lambda a, b: jax.nn.softmax(a),
    "stop": lambda a, b: jax.lax.stop_gradient(a),
    "round": lambda a, b: jnp.round(a * 3),
    "compare": lambda a, b: (a > b).astype(a.dtype),
    "where": lambda a, b: jnp.where(a > 0, b, 1.0),
    "one_hot": lambda a, b: jax.nn.one_hot(jnp.argmax(a), 3),
    "index": lambda a, b: b[jnp.argsort(a)],
    "sort": lambda a, b: jnp.sort(a),
    "straight_through": lambda a, b: a + jax.lax.stop_gradient(jnp.round(a) - a),
    "scan": lambda a, b: jax.lax.scan(lambda c, x: (c + x, c * x), jnp.sum(a), b)[1],
    "map": lambda a, b: jax.vmap(lambda x: jnp.sin(x) * b[0])(a),
    "cond": lambda a, b: jax.lax.cond(a[0] > 0, lambda: a * 2, lambda: jax.lax.stop_gradient(b)),
    "jit": lambda a, b: jax.jit(lambda x, y: jnp.floor(x) + y)(a, b),
}

programs = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=7,
)


def _loss(program: list[tuple[str, int, int]]) -> Callable[..., Any]:
    def loss(parameters: dict[str, Any], x: Any) -> Any:
        values = [parameters["a"], parameters["b"], x]
        for name, i, j in program:
            values.append(OPERATIONS[name](values[i % len(values)], values[j % len(values)]))
        return jnp.sum(values[-1] * jnp.asarray([1.0, 2.0, -0.7]))

    return loss


@given(programs)
@settings(max_examples=25, deadline=None)
def test_what_gets_no_gradient_has_a_zero_one(program: list[tuple[str, int, int]]) -> None:
    rng = np.random.default_rng(0)
    parameters = {name: jnp.asarray(rng.normal(size=3), jnp.float32) for name in "ab"}
    x = jnp.asarray(rng.normal(size=3), jnp.float32)
    derivative = jax.grad(_loss(program))
    facts = Facts(trace(derivative, (parameters, x), {}), None, None)
    (flow,) = facts.gradients.flows
    (result,) = flow.results
    gradient = jax.tree.leaves(derivative(parameters, x))
    for parameter, values in zip(flow.parameters, gradient, strict=True):
        if not flow.gets(result) & parameter.bit:
            assert not np.asarray(values).any()
        if parameter in flow.without_gradient():
            assert flow.blockers(parameter.bit)


def test_names_what_blocks() -> None:
    def loss(parameters: dict[str, Any]) -> Any:
        stopped = jax.lax.stop_gradient(parameters["stopped"])
        rounded = jnp.round(parameters["rounded"])
        return jnp.sum(stopped * rounded * parameters["free"])

    parameters = {name: jnp.ones(3) for name in ("free", "rounded", "stopped", "unused")}
    facts = Facts(trace(jax.grad(loss), (parameters,), {}), None, None)
    (flow,) = facts.gradients.flows
    blocked = {it.name: [link.blocker for link in flow.blockers(it.bit)] for it in flow.parameters}
    lost = [it.name for it in flow.without_gradient()]
    assert [name.partition("'")[2] for name in lost] == ["rounded']", "stopped']"]
    assert [blocked[name] for name in lost] == [["round"], ["stop_gradient"]]
