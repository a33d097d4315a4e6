"""The interpreter: runs a traced program and brings the payloads of its channels out.

A program is walked once. Equations without a payload run as they are; an equation that holds
a program with a payload goes to the handler of its primitive, which runs the same
transformation with the payloads as additional results. The types of all payloads are read off
the jaxpr beforehand (`_contents`), so no handler has to trace a body twice to learn them: that
keeps the cost linear in the depth of nesting.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import Jaxpr, JaxprEqn, Primitive
from jax.extend.core import Literal as JaxprLiteral

from .._jax import (
    bind_equation,
    equation_context,
    manual_axes,
    replicate,
    source_line,
    vary_over,
)
from ._batched_map import Gathered
from ._channel import Channel, Query
from ._contents import Spec, contents_of_equation, spec_of_emission
from ._primitives import ask_p, emit_p

OnUnknown = Literal["raise", "warn", "ignore"]
Arrays = list[Any]


class UnknownPrimitiveError(NotImplementedError):
    """A payload sits inside a primitive that no handler knows how to take apart."""


class Handler(Protocol):
    """How payloads leave the programs that one primitive holds."""

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        """The payloads that come out of `eqn` when it stands inside `depth` loops."""
        ...

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        """The equation's results, and the arrays of each payload in the order of `specs`."""
        ...


HANDLERS: dict[Primitive, Handler] = {}


@dataclass(frozen=True)
class Collector:
    """What is being collected, and what to do about primitives nobody knows."""

    channels: frozenset[Channel]
    on_unknown: OnUnknown = "raise"
    _specs: dict[tuple[int, int], tuple[Jaxpr, list[Spec]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def wants(self, eqn: JaxprEqn) -> bool:
        """Whether an equation holds anything for this collector."""
        return not self.channels.isdisjoint(contents_of_equation(eqn).channels)

    def specs(self, jaxpr: Jaxpr, depth: int) -> list[Spec]:
        """The payloads that come out of a program inside `depth` loops, in program order."""
        known = self._specs.get((id(jaxpr), depth))
        if known is None:
            gathered = Gathered()
            for eqn in jaxpr.eqns:
                for spec in self.specs_of_equation(eqn, depth):
                    gathered.add(eqn, spec)
            # Holding the jaxpr keeps its id from being used again.
            known = self._specs[id(jaxpr), depth] = (jaxpr, gathered.specs)
        return known[1]

    def specs_of_equation(self, eqn: JaxprEqn, depth: int) -> list[Spec]:
        """The payloads that come out of one equation inside `depth` loops."""
        if not self.wants(eqn) or eqn.primitive is ask_p:
            return []
        if eqn.primitive is emit_p:
            return [spec_of_emission(eqn, depth)]
        handler = HANDLERS.get(eqn.primitive)
        return [] if handler is None else handler.specs(self, eqn, depth)


@dataclass(frozen=True)
class Scope:
    """Where the interpreter stands: in which iterations of which loops, after what answers."""

    collector: Collector
    indices: tuple[Any, ...] = ()
    before: Mapping[Query, Any] = field(default_factory=dict[Query, Any])

    @property
    def depth(self) -> int:
        return len(self.indices)

    def specs(self, jaxpr: Jaxpr) -> list[Spec]:
        return self.collector.specs(jaxpr, self.depth)

    def operands(self) -> tuple[tuple[Any, ...], list[Any]]:
        """The arrays of this scope, for transformations that must not close over them."""
        return self.indices, list(self.before.values())

    def bound_to(self, operands: tuple[Sequence[Any], Sequence[Any]]) -> Scope:
        """This scope with other arrays in the same places."""
        indices, answers = operands
        return Scope(self.collector, tuple(indices), dict(zip(self.before, answers, strict=True)))

    def after(self, specs: Sequence[Spec], emitted: Sequence[Arrays]) -> Scope:
        """This scope once some payloads were emitted."""
        before = dict(self.before)
        for spec, arrays in zip(specs, emitted, strict=True):
            for query in before:
                if query.channel is spec.channel:
                    before[query] = query.update(before[query], spec.unflatten(arrays).payload)
        return Scope(self.collector, self.indices, before)

    def inside_loop(self, index: Any) -> Scope:
        """The scope of one iteration of a loop that stands here."""
        return Scope(self.collector, (*self.indices, index), self.before)

    def asking_only(self, queries: frozenset[Query]) -> Scope:
        """This scope without the answers that nobody below asks for."""
        before = {query: self.before[query] for query in _ordered(queries) if query in self.before}
        return Scope(self.collector, self.indices, before)


def evaluate(
    scope: Scope, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]
) -> tuple[Arrays, list[Arrays]]:
    """Run a program; return its results and the payloads listed by `scope.specs(jaxpr)`."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    last_use = _last_uses(jaxpr)
    gathered = Gathered()
    for position, eqn in enumerate(jaxpr.eqns):
        inputs = [v.val if isinstance(v, JaxprLiteral) else values[v] for v in eqn.invars]
        outs, new = _run_equation(scope, eqn, inputs)
        if new:
            specs = scope.collector.specs_of_equation(eqn, scope.depth)
            scope = scope.after(specs, new)
            for spec, arrays in zip(specs, new, strict=True):
                gathered.add(eqn, spec, arrays)
        values.update(zip(eqn.outvars, outs, strict=True))
        for var in {v for v in (*eqn.invars, *eqn.outvars) if not isinstance(v, JaxprLiteral)}:
            if last_use.get(var, -1) <= position:
                del values[var]
    return [_read_result(v, values) for v in jaxpr.outvars], gathered.arrays


def _run_equation(scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
    collector = scope.collector
    if not collector.wants(eqn):
        return bind_equation(eqn, args), []
    if eqn.primitive is ask_p:
        return [scope.before[eqn.params["query"]]], []
    if eqn.primitive is emit_p:
        return [], [_receive(scope, eqn, args)]
    handler = HANDLERS.get(eqn.primitive)
    if handler is None:
        _complain(collector, eqn)
        return bind_equation(eqn, args), []
    scope = scope.asking_only(contents_of_equation(eqn).queries)
    if any(isinstance(arg, Tracer) for arg in args):
        with equation_context(eqn):
            return handler.run(scope, eqn, args)
    return _compiled(_Equation(eqn, collector, scope.depth))(args, scope.operands())


class _Equation:
    """An equation as the key of a cache: equal when JAX would compile it to the same code."""

    def __init__(self, eqn: JaxprEqn, collector: Collector, depth: int):
        self.eqn, self.collector = eqn, collector
        params = tuple((name, _hashable(value)) for name, value in eqn.params.items())
        self.key = (eqn.primitive, params, collector, depth)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Equation) and self.key == other.key


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


@functools.lru_cache(maxsize=512)
def _compiled(equation: _Equation) -> Any:
    """The handler's work on an equation, compiled.

    Run eagerly, a loop is compiled by JAX and found again by its body when it runs the next
    time. What a handler builds is new each time, so it is kept here by the equation instead.
    """
    eqn, handler = equation.eqn, HANDLERS[equation.eqn.primitive]
    queries = contents_of_equation(eqn).queries

    @jax.jit
    def run(args: Arrays, operands: Any) -> tuple[Arrays, list[Arrays]]:
        scope = Scope(equation.collector, (), dict.fromkeys(_ordered(queries)))
        return handler.run(scope.bound_to(operands), eqn, list(args))

    return run


def _ordered(queries: frozenset[Query]) -> list[Query]:
    return sorted(queries, key=id)


def _receive(scope: Scope, eqn: JaxprEqn, args: Arrays) -> Arrays:
    """The arrays of an emission, with the loop iterations in front of its own path."""
    spec = spec_of_emission(eqn, 0)
    axes = manual_axes()
    arrays = [vary_over(replicate(_constant(jnp.asarray(arg))), axes) for arg in args]
    if spec.depth == 0:
        lanes = spec.leaves[0].shape[: spec.lanes] if spec.leaves else ()
        arrays.append(vary_over(jnp.zeros((*lanes, 0), jnp.int32), axes))
    return spec.below(scope.indices, arrays)


def _constant(array: Any) -> Any:
    """A payload informs about the program; it must not take part in its derivative."""
    inexact = jnp.issubdtype(array.dtype, jnp.inexact)
    return jax.lax.stop_gradient(array) if inexact else array


def _complain(collector: Collector, eqn: JaxprEqn) -> None:
    names = sorted(c.name for c in contents_of_equation(eqn).channels & collector.channels)
    message = (
        f"cannot bring what was emitted into {', '.join(names)} out of the primitive "
        f"'{eqn.primitive}' at {source_line(eqn)}: no handler is registered for it. Emit outside "
        "of that operation, register a handler with verax.channel.register, or choose "
        "on_unknown='warn' or 'ignore'."
    )
    if collector.on_unknown == "raise":
        raise UnknownPrimitiveError(message)
    if collector.on_unknown == "warn":
        warnings.warn(message, stacklevel=2)


def _last_uses(jaxpr: Jaxpr) -> dict[Any, int]:
    """The position of the last equation that needs each variable, so that memory is freed."""
    uses: dict[Any, int] = {}
    for position, eqn in enumerate(jaxpr.eqns):
        uses.update((v, position) for v in eqn.invars if not isinstance(v, JaxprLiteral))
    uses.update((v, len(jaxpr.eqns)) for v in jaxpr.outvars if not isinstance(v, JaxprLiteral))
    return uses


def _read_result(var: Any, values: dict[Any, Any]) -> Any:
    if not isinstance(var, JaxprLiteral):
        return values[var]
    # A bare Python number would get a weak type that the recorded program did not have.
    kind: Any = var.aval
    return jnp.asarray(var.val) if kind.weak_type else np.asarray(var.val, kind.dtype)
