"""Bring payloads out of control flow before `vmap` or differentiation takes it apart.

Under `vmap`, JAX runs both branches of a conditional and keeps finished lanes of a while loop
running; differentiation divides a loop in two and may run parts of it twice. A payload inside
would be emitted for lanes that never got there, or more than once. So an equation that holds a
payload is first turned into one that returns it, followed by the emission, and only then
transformed. Equations without a payload keep JAX's own rules.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import Primitive, jaxpr_as_fun, primitives

from .. import _jax
from ._channel import Channel, Query
from ._collector import HANDLERS, Collector, Scope
from ._contents import Contents, contents_of
from ._primitives import bind_question


class _Bound:
    """A primitive with its parameters, in the places where handlers look at an equation."""

    def __init__(self, primitive: Primitive, params: dict[str, Any]):
        self.primitive, self.params = primitive, params


def _contents(params: dict[str, Any]) -> Contents:
    found = Contents()
    for inner in _jax.inner_jaxprs(_Bound(None, params)):  # pyright: ignore
        found |= contents_of(_jax.closed(inner)[0])
    return found


def _holds_payload(params: dict[str, Any]) -> bool:
    return bool(_contents(params).channels)


def _hoisted(primitive: Primitive, params: dict[str, Any], args: Any) -> list[Any]:
    """Run the equation so that its payloads are emitted after it, not inside it."""
    contents = _contents(params)
    channels: frozenset[Channel] = contents.channels
    answers: dict[Query, Any] = {query: bind_question(query) for query in contents.queries}
    scope = Scope(Collector(channels), (), answers)
    eqn: Any = _Bound(primitive, params)
    handler = HANDLERS[primitive]
    specs = handler.specs(scope.collector, eqn, 0)
    outs, emitted = handler.run(scope, eqn, list(args))
    for spec, arrays in zip(specs, emitted, strict=True):
        spec.emit(arrays)
    return list(outs)


def _hoist_before_transforming(primitive: Primitive, *, vmap: bool) -> None:
    def batch(axis_data: Any, args: Any, dims: Any, **params: Any) -> Any:
        def one_lane(*args: Any) -> list[Any]:
            return _hoisted(primitive, params, args)

        outs = _jax.vmap_like(one_lane, axis_data, dims)(*args)
        return outs, [0] * len(outs)

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        program = jax.make_jaxpr(lambda *args: _hoisted(primitive, params, args))(*primals)
        nonzero = [not isinstance(tangent, _jax.Zero) for tangent in tangents]
        derivative, out_nonzero = _jax.jvp_of_jaxpr(program, nonzero)
        given = [t for t, needed in zip(tangents, nonzero, strict=True) if needed]
        results = jaxpr_as_fun(derivative)(*primals, *given)
        outs, rest = results[: len(out_nonzero)], iter(results[len(out_nonzero) :])
        return outs, [
            next(rest) if needed else _jax.zero_tangent(out)
            for out, needed in zip(outs, out_nonzero, strict=True)
        ]

    _jax.put_rules_before(primitive, _holds_payload, batch if vmap else None, jvp)


_hoist_before_transforming(primitives.cond_p, vmap=True)
_hoist_before_transforming(primitives.while_p, vmap=True)
# Lanes all run to the end of a scan, but must not mix with what the scan itself adds.
_hoist_before_transforming(primitives.scan_p, vmap=True)
_hoist_before_transforming(_jax.remat_p, vmap=False)
# The derivative of a linear solve is a second solve, which would emit once more.
_hoist_before_transforming(primitives.linear_solve_p, vmap=False)
