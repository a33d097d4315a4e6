"""Handlers of `scan` and `while`: payloads fold into the carry, or stack as results."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn, primitives

from .._jax import ScanParts, closed, source_line
from ._batched_map import fold_batch, without_batch_axis
from ._channel import Stack
from ._collector import HANDLERS, Arrays, Collector, Scope, evaluate
from ._contents import Spec, contents_of


class Scan:
    """`jax.lax.scan`, and what is built on it: `map`, `fori_loop` with known bounds."""

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        body = closed(eqn.params["jaxpr"])[0]
        length = eqn.params["length"]
        return [
            spec.stacked(length) if _stacks(spec) else without_batch_axis(spec, body, length, depth)
            for spec in collector.specs(body, depth + 1)
        ]

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        parts = ScanParts(eqn, args)
        specs = scope.collector.specs(parts.body, scope.depth + 1)
        inner = [spec for spec in specs if not _stacks(spec)]
        folded = [without_batch_axis(spec, parts.body, parts.length, scope.depth) for spec in inner]
        step = -1 if parts.reverse else 1

        def body(carry: Any, xs: Any) -> Any:
            index, values, states = carry
            inside = scope.inside_loop(index).after(folded, states)
            inputs = [*parts.consts, *values, *xs]
            outs, emitted = evaluate(inside, parts.body, parts.body_consts, inputs)
            new, stacked = _divide(specs, emitted)
            new = [
                fold_batch(spec, arrays, parts.body, scope.depth)
                for spec, arrays in zip(inner, new, strict=True)
            ]
            states = _combine(folded, states, new)
            count = len(parts.init)
            return (index + step, outs[:count], states), (outs[count:], stacked)

        first = jnp.int32(parts.length - 1 if parts.reverse else 0)
        init = (first, parts.init, [spec.neutral() for spec in folded])
        (_, values, states), (ys, stacked) = jax.lax.scan(
            body,
            init,
            parts.xs,
            length=parts.length,
            reverse=parts.reverse,
            unroll=parts.unroll,
            **parts.options,
        )
        return [*values, *ys], _unite(specs, states, stacked)


class While:
    """`jax.lax.while_loop`: what its condition emits is collected like its body's."""

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        return _specs_of_while(collector, eqn, depth)

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        params = eqn.params
        condition, condition_consts = closed(params["cond_jaxpr"])
        body, body_consts = closed(params["body_jaxpr"])
        condition_args, rest = _split(args, params["cond_nconsts"])
        body_args, init = _split(rest, params["body_nconsts"])
        specs = _specs_of_while(scope.collector, eqn, scope.depth)
        first_of_body = len(scope.collector.specs(condition, scope.depth + 1))

        def test(index: Any, values: Arrays, states: list[Arrays]) -> tuple[Any, list[Arrays]]:
            inside = scope.inside_loop(index).after(specs, states)
            inputs = [*condition_args, *values]
            (more,), new = evaluate(inside, condition, condition_consts, inputs)
            done = _combine(specs[:first_of_body], states[:first_of_body], new)
            return more, [*done, *states[first_of_body:]]

        def advance(index: Any, values: Arrays, states: list[Arrays]) -> tuple[Any, Any, Any]:
            inside = scope.inside_loop(index).after(specs, states)
            values, new = evaluate(inside, body, body_consts, [*body_args, *values])
            done = _combine(specs[first_of_body:], states[first_of_body:], new)
            return index + 1, values, [*states[:first_of_body], *done]

        start = (jnp.int32(0), init, [spec.neutral() for spec in specs])
        if contents_of(condition).channels.isdisjoint(scope.collector.channels):
            _, values, states = jax.lax.while_loop(
                lambda state: test(*state)[0], lambda state: advance(*state), start
            )
            return values, states

        # A condition cannot return payloads, so it is evaluated at the end of each body instead.
        def with_test(index: Any, values: Arrays, states: list[Arrays]) -> Any:
            more, states = test(index, values, states)
            return more, (index, values, states)

        _, (_, values, states) = jax.lax.while_loop(
            lambda state: state[0], lambda state: with_test(*advance(*state[1])), with_test(*start)
        )
        return values, states


def _specs_of_while(collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
    specs = [
        spec
        for name in ("cond_jaxpr", "body_jaxpr")
        for spec in collector.specs(closed(eqn.params[name])[0], depth + 1)
    ]
    for spec in specs:
        if _stacks(spec):
            raise ValueError(
                f"{spec.channel} stacks the payloads of a loop, but the number of iterations of "
                f"the while_loop at {source_line(eqn)} is not known before it runs (emitted at "
                f"{spec.label.site}). Use a scan, or a channel that folds."
            )
    return specs


def _split(values: Arrays, count: int) -> tuple[Arrays, Arrays]:
    return values[:count], values[count:]


def _stacks(spec: Spec) -> bool:
    return isinstance(spec.channel.loops, Stack)


def _combine(specs: list[Spec], earlier: list[Arrays], later: list[Arrays]) -> list[Arrays]:
    return [spec.combine(old, new) for spec, old, new in zip(specs, earlier, later, strict=True)]


def _divide(specs: list[Spec], emitted: list[Arrays]) -> tuple[list[Arrays], list[Arrays]]:
    """Payloads that fold, and payloads that stack."""
    pairs = list(zip(specs, emitted, strict=True))
    return [a for s, a in pairs if not _stacks(s)], [a for s, a in pairs if _stacks(s)]


def _unite(specs: list[Spec], folded: list[Arrays], stacked: list[Arrays]) -> list[Arrays]:
    """The inverse of `_divide`."""
    folds, stacks = iter(folded), iter(stacked)
    return [next(stacks if _stacks(spec) else folds) for spec in specs]


HANDLERS[primitives.scan_p] = Scan()
HANDLERS[primitives.while_p] = While()
