"""Handlers of primitives that run one program once: calls, compilation, rematerialisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Jaxpr, JaxprEqn, primitives
from jax.sharding import Sharding

from .._jax import bind_equation, closed, composite_p, custom_vmap_p, inner_jaxprs, remat_p
from ._collector import HANDLERS, Arrays, Collector, Scope, evaluate
from ._contents import Spec


class Call:
    """A primitive that runs its only program once, on its own arguments."""

    def program(self, eqn: JaxprEqn) -> tuple[Jaxpr, Sequence[Any]]:
        """The program and its constants."""
        (inner,) = inner_jaxprs(eqn)
        return closed(inner)

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        return collector.specs(self.program(eqn)[0], depth)

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        return evaluate(scope, *self.program(eqn), args)


class Jit(Call):
    """`jax.jit`: compiled as before, under the same name."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        params = eqn.params

        def function(*args: Any) -> tuple[Arrays, list[Arrays]]:
            constrained = _constrain(args, params["in_shardings"])
            outs, emitted = evaluate(scope, *self.program(eqn), constrained)
            return _constrain(outs, params["out_shardings"]), emitted

        function.__name__ = function.__qualname__ = params["name"]
        options = dict(params["compiler_options_kvs"])
        return jax.jit(
            function, keep_unused=params["keep_unused"], compiler_options=options or None
        )(*args)


def _constrain(values: Any, shardings: Any) -> Arrays:
    """Ask for the shardings that were given explicitly, where any were."""
    return [
        jax.lax.with_sharding_constraint(value, sharding)
        if isinstance(sharding, Sharding)
        else value
        for value, sharding in zip(values, shardings, strict=True)
    ]


class Remat(Call):
    """`jax.checkpoint`: payloads are results, so the backward pass does not repeat them."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        jaxpr, consts = self.program(eqn)

        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            return evaluate(scope.bound_to(operands), jaxpr, consts, args)

        return jax.checkpoint(
            function, prevent_cse=eqn.params["prevent_cse"], policy=eqn.params["policy"]
        )(scope.operands(), *args)


class CustomVmap(Call):
    """`custom_vmap`: the user's rule still applies to the results of a later `vmap`."""

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        jaxpr, consts = self.program(eqn)

        @jax.custom_batching.custom_vmap
        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            return evaluate(scope.bound_to(operands), jaxpr, consts, args)

        @function.def_vmap
        def rule(axis_size: int, in_batched: Any, operands: Any, *args: Any) -> Any:
            axes = jax.tree.map(lambda batched: 0 if batched else None, in_batched)
            operand_axes, *arg_axes = axes

            def outs(*args: Any) -> Arrays:
                return bind_equation(eqn, args)

            def payloads(operands: Any, *args: Any) -> list[Arrays]:
                return evaluate(scope.bound_to(operands), jaxpr, consts, args)[1]

            def mapped(function: Any, in_axes: Any) -> Any:
                return jax.vmap(function, in_axes=in_axes, axis_size=axis_size)

            if any(axis is not None for axis in arg_axes):
                values = mapped(outs, tuple(arg_axes))(*args)
            else:
                values = mapped(lambda _: outs(*args), 0)(jax.numpy.arange(axis_size))
            emitted = mapped(payloads, (operand_axes, *arg_axes))(operands, *args)
            result = (values, emitted)
            return result, jax.tree.map(lambda _: True, result)

        return function(scope.operands(), *args)


class LinearSolve:
    """`custom_linear_solve`: what the solver emits comes out as its auxiliary result."""

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        return collector.specs(closed(eqn.params["jaxprs"].solve)[0], depth)

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        lengths, programs = eqn.params["const_lengths"], eqn.params["jaxprs"]
        rest, consts = list(args), {}
        for name in lengths._fields:
            consts[name], rest = rest[: getattr(lengths, name)], rest[getattr(lengths, name) :]
        size = len(closed(programs.matvec)[0].outvars)

        def apply(name: str, vector: Any) -> Arrays:
            # Only the solver runs; the others are there for derivatives, and emit nothing.
            program = closed(getattr(programs, name))
            return evaluate(scope, *program, [*consts[name], *vector])[0]

        def solve(_: Any, b: Any) -> Any:
            jaxpr, jaxpr_consts = closed(programs.solve)
            outs, emitted = evaluate(scope, jaxpr, jaxpr_consts, [*consts["solve"], *b])
            return outs[:size], (outs[size:], emitted)

        def transpose_solve(_: Any, b: Any) -> Any:
            outs = apply("transpose_solve", b)
            # The backward pass has no payloads of its own, but must have the same results.
            nothing = [spec.neutral() for spec in scope.specs(closed(programs.solve)[0])]
            return outs[:size], (outs[size:], nothing)

        x, (aux, emitted) = jax.lax.custom_linear_solve(
            lambda x: apply("matvec", x),
            rest,
            solve,
            transpose_solve if programs.transpose_solve is not None else None,
            has_aux=True,
        )
        return [*x, *aux], emitted


HANDLERS[primitives.jit_p] = Jit()
HANDLERS[primitives.closed_call_p] = Call()
HANDLERS[composite_p] = Call()
HANDLERS[primitives.call_p] = Call()
HANDLERS[primitives.linear_solve_p] = LinearSolve()
HANDLERS[remat_p] = Remat()
HANDLERS[custom_vmap_p] = CustomVmap()
