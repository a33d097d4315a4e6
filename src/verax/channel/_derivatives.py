"""Handlers of `custom_jvp` and `custom_vjp`: the user's rule stays the derivative.

The equation is replaced by a function with the same rule and the payloads as additional
results. The rule itself is reached by differentiating the original equation, so nothing needs
to be known of how JAX stores it.

A differentiated function runs its rule instead of itself. What the rule emits comes out; what
only the function emits is taken from the function, so that nothing is lost and nothing doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Jaxpr, JaxprEqn, primitives

from .._jax import bind_equation, expanded, operation_p
from ._calls import Call
from ._channel import is_recording
from ._collector import HANDLERS, Arrays, Scope, evaluate
from ._contents import Spec
from ._trace import Trace


class CustomJvp(Call):
    """`jax.custom_jvp`."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        call = _Call(self, eqn)

        @jax.custom_jvp
        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            return call.run(scope.bound_to(operands), args)

        @function.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            operands, *args = primals
            (outs, out_tangents), emitted = call.run_rule(
                scope.bound_to(operands), args, lambda: jax.jvp(call, args, list(tangents[1:]))
            )
            return (outs, emitted), (out_tangents, jax.tree.map(_zero_tangent, emitted))

        return _without_derivative(*function(scope.operands(), *args))


class CustomVjp(Call):
    """`jax.custom_vjp`."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        call = _Call(self, eqn)
        # The first are what the user's function closes over, by which JAX does not differentiate.
        count = eqn.params["num_consts"]
        closed_over, args = args[:count], args[count:]

        @jax.custom_vjp
        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            return call.run(scope.bound_to(operands), [*closed_over, *args])

        def forward(operands: Any, *args: Any) -> Any:
            (outs, pull_back), emitted = call.run_rule(
                scope.bound_to(operands),
                [*closed_over, *args],
                lambda: jax.vjp(lambda *args: call(*closed_over, *args), *args),
            )
            return (outs, emitted), (pull_back, operands)

        def backward(residuals: Any, cotangents: Any) -> Any:
            pull_back, operands = residuals
            return jax.tree.map(_zero_tangent, operands), *pull_back(cotangents[0])

        function.defvjp(forward, backward)
        return _without_derivative(*function(scope.operands(), *args))


class Operation(CustomJvp):
    """An operation that is an object with its own rules, such as `custom_root` since JAX 0.11."""

    def program(self, eqn: JaxprEqn) -> tuple[Jaxpr, Sequence[Any]]:
        return expanded(eqn)


class _Call:
    """A call of a function with a derivative of its own."""

    def __init__(self, handler: Call, eqn: JaxprEqn):
        self._program, self._eqn = handler.program(eqn), eqn

    def __call__(self, *args: Any) -> Arrays:
        """The call as the user wrote it."""
        return bind_equation(self._eqn, args)

    def run(self, scope: Scope, args: Any) -> tuple[Arrays, list[Arrays]]:
        """The function's results and payloads."""
        return evaluate(scope, *self._program, args)

    def run_rule(self, scope: Scope, args: Any, rule: Callable[[], Any]) -> tuple[Any, list[Any]]:
        """What the rule returns, and payloads in the places of the function's own."""
        specs = scope.specs(self._program[0])
        if not any(is_recording(spec.channel) for spec in specs):
            # Differentiated after it was collected: nobody listens to the rule.
            return rule(), self.run(scope, args)[1]
        trace = Trace(rule)
        jaxpr, consts = trace.program()
        collector = scope.collector
        # As seen from inside the rule: the loops around it are added where it is emitted.
        outs, emitted = evaluate(Scope(collector, (), scope.before), jaxpr, consts, trace.arrays)
        heard = list(zip(collector.specs(jaxpr, 0), emitted, strict=True))
        own: list[Any] = []
        for spec in specs:
            places = [_same_place(spec, other, scope.depth) for other, _ in heard]
            if any(places):
                other, arrays = heard.pop(places.index(True))
                own.append(other.below(scope.indices, arrays))
            else:
                own.append(None)
        for spec, arrays in heard:
            spec.emit(arrays)
        if any(arrays is None for arrays in own):
            silent = self.run(scope, args)[1]
            own = [mine if mine is not None else his for mine, his in zip(own, silent, strict=True)]
        return trace.result(outs), own


def _same_place(own: Spec, heard: Spec, depth: int) -> bool:
    """Whether function and rule emit the same thing: they often call the same code."""
    return (
        own.leaves == heard.leaves
        and own.depth == (None if heard.depth is None else heard.depth + depth)
        and own.label.says_the_same_as(heard.label)
    )


def _without_derivative(outs: Arrays, emitted: list[Arrays]) -> tuple[Arrays, list[Arrays]]:
    """Results and payloads, with no tangents of payloads carried along from here on."""
    return outs, jax.tree.map(_constant, emitted)


def _constant(x: Any) -> Any:
    if jax.numpy.issubdtype(x.dtype, jax.numpy.inexact):
        return jax.lax.stop_gradient(x)
    # Until the floor is 0.9: there, booleans and integers of a custom_vjp function have tangents
    # too. This operation has none, and XLA removes it.
    return jax.lax.bitwise_or(x, jax.numpy.zeros_like(x))


def _zero_tangent(x: Any) -> Any:
    """The tangent of a value that does not take part in differentiation."""
    if jax.numpy.issubdtype(x.dtype, jax.numpy.inexact):
        return jax.numpy.zeros_like(x)
    return np.zeros(x.shape, jax.dtypes.float0)


HANDLERS[primitives.custom_jvp_call_p] = CustomJvp()
HANDLERS[primitives.custom_vjp_call_p] = CustomVjp()
HANDLERS[operation_p] = Operation()
