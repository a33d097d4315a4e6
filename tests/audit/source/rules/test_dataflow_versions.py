"""New versions of records, trees and states that are computed and not handed on."""

import pytest

from .claims import claimed_and_found

WRONG = {
    "a whole record, moved by another function": """
        from typing import NamedTuple

        class Arm(NamedTuple):
            angle: jax.Array
            rate: jax.Array

        def integrate(arm, dt):
            return Arm(arm.angle + dt * arm.rate, arm.rate)

        def limited(arm):
            return arm._replace(angle=jnp.clip(arm.angle, -2.0, 2.0))

        def advance(start: jax.Array):
            def body(_, arm):
                moved = integrate(arm, 0.1)
                return limited(arm)  # DF101

            return jax.lax.fori_loop(0, 10, body, Arm(start, jnp.ones(())))
        """,
    "what a loop has adapted": """
        def adapted_loss(params, support, query):
            def body(inner, _):
                grads = jax.grad(error)(inner, support)
                return jax.tree.map(lambda p, g: p - 0.1 * g, inner, grads), None

            def adapt(params):
                return jax.lax.scan(body, params, None, length=3)[0]

            adapted = adapt(params)
            return error(params, query)  # DF101

        def error(params, batch):
            return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)
        """,
    "a sum of gradients": """
        def accumulate(loss, params, parts):
            def body(total, part):
                gradient = jax.grad(loss)(params, part)
                total = jax.tree.map(jnp.add, total, gradient)
                return gradient, None  # DF101

            return jax.lax.scan(body, jax.tree.map(jnp.zeros_like, params), parts)[0]
        """,
}

RIGHT = {
    "the new version goes on": """
        def accumulate(loss, params, parts):
            def body(total, part):
                gradient = jax.grad(loss)(params, part)
                size = jax.tree.map(jnp.linalg.norm, gradient)
                total = jax.tree.map(jnp.add, total, gradient)
                return total, size

            return jax.lax.scan(body, jax.tree.map(jnp.zeros_like, params), parts)[0]
        """,
    "a copy that a branch reads, and one that is not asked for": """
        def adapted(params, batch, steps, keep):
            def body(_, inner):
                return jax.tree.map(lambda p: p * 0.9, inner)

            trained = jax.lax.fori_loop(0, steps, body, params)
            _unused = jax.lax.fori_loop(0, steps, body, params)
            if keep:
                params = trained
            return batch @ params
        """,
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG.keys())
def test_it_is_found(program: str):
    claimed, found = claimed_and_found(program, "dataflow")
    assert claimed
    assert found == claimed


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_it_is_left_alone(program: str):
    _, found = claimed_and_found(program, "dataflow")
    assert not found
