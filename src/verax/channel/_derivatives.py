"""Handlers of `custom_jvp` and `custom_vjp`: the user's rule stays the derivative.

The equation is replaced by a function with the same rule and the payloads as additional
results. The rule itself is reached by differentiating the original equation, so nothing needs
to be known of how JAX stores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Jaxpr, JaxprEqn, primitives

from .._jax import bind_equation, expanded, operation_p
from ._calls import Call
from ._channel import muted
from ._collector import HANDLERS, Arrays, Scope


class CustomJvp(Call):
    """`jax.custom_jvp`."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        run_call = super().run

        @jax.custom_jvp
        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            return run_call(scope.bound_to(operands), eqn, list(args))

        @function.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            operands, *args = primals
            with muted():
                outs, out_tangents = jax.jvp(
                    lambda *args: bind_equation(eqn, args), args, list(tangents[1:])
                )
            _, emitted = run_call(scope.bound_to(operands), eqn, args)
            return (outs, emitted), (out_tangents, jax.tree.map(_zero_tangent, emitted))

        return function(scope.operands(), *args)


class CustomVjp(Call):
    """`jax.custom_vjp`."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        run_call = super().run

        @jax.custom_vjp
        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            return run_call(scope.bound_to(operands), eqn, list(args))

        def forward(operands: Any, *args: Any) -> Any:
            with muted():
                outs, pull_back = jax.vjp(lambda *args: bind_equation(eqn, args), *args)
            _, emitted = run_call(scope.bound_to(operands), eqn, list(args))
            return (outs, emitted), (pull_back, operands)

        def backward(residuals: Any, cotangents: Any) -> Any:
            pull_back, operands = residuals
            with muted():
                return jax.tree.map(_zero_tangent, operands), *pull_back(cotangents[0])

        function.defvjp(forward, backward)
        return function(scope.operands(), *args)


class Operation(CustomJvp):
    """An operation that is an object with its own rules, such as `custom_root` since JAX 0.11."""

    def program(self, eqn: JaxprEqn) -> tuple[Jaxpr, Sequence[Any]]:
        return expanded(eqn)


def _zero_tangent(x: Any) -> Any:
    """The tangent of a value that does not take part in differentiation."""
    if jax.numpy.issubdtype(x.dtype, jax.numpy.inexact):
        return jax.numpy.zeros_like(x)
    return np.zeros(x.shape, jax.dtypes.float0)


HANDLERS[primitives.custom_jvp_call_p] = CustomJvp()
HANDLERS[operation_p] = Operation()
HANDLERS[primitives.custom_vjp_call_p] = CustomVjp()
