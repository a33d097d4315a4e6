"""Parts of a traced program as functions that can be run.

What stands for a transformation transforms again, wherever it is, and a loop that may never end is
left after a while: what it gives then is not a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun, primitives

from ..._jax import bind_equation, bind_primitive, closed, equation_context, inner_jaxprs
from .regions import Region, derivative_p, region_p

_MOST_TURNS = 2000
_CHANGED = (region_p, derivative_p, primitives.while_p)


def runnable(program: Any) -> Callable[..., list[Any]]:
    """A traced program as a function of its arguments."""
    jaxpr, consts = closed(program)
    if not _has_changed(jaxpr):
        return jaxpr_as_fun(ClosedJaxpr(jaxpr, consts))
    return lambda *args: _Run(jaxpr, consts, args).results()


def may_be_run(program: Any) -> bool:
    """Whether a program does nothing but compute."""
    return all(
        "callback" not in eqn.primitive.name and all(map(may_be_run, inner_jaxprs(eqn)))
        for eqn in closed(program)[0].eqns
    )


def has_loop_without_end(program: Any) -> bool:
    """Whether a program has a loop that has no derivative backwards."""
    return _has_any(closed(program)[0], (primitives.while_p,))


def _has_changed(jaxpr: Any) -> bool:
    return _has_any(jaxpr, _CHANGED)


def _has_any(jaxpr: Any, wanted: Sequence[Any]) -> bool:
    return any(
        eqn.primitive in wanted
        or any(_has_any(closed(inner)[0], wanted) for inner in inner_jaxprs(eqn))
        for eqn in jaxpr.eqns
    )


class _Run:
    """One run of a program that is changed on the way."""

    def __init__(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]):
        self._jaxpr = jaxpr
        self._known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        self._known.update(zip(jaxpr.invars, args, strict=True))
        # The functions that a derivative further down is of, and how many operands they have.
        self._regions: dict[Region, tuple[Callable[..., Any], int]] = {}

    def results(self) -> list[Any]:
        for eqn in self._jaxpr.eqns:
            values = [self._read(var) for var in eqn.invars]
            self._known.update(zip(eqn.outvars, self._outs(eqn, values), strict=True))
        return [self._read(var) for var in self._jaxpr.outvars]

    def _read(self, var: Any) -> Any:
        return var.val if isinstance(var, Literal) else self._known[var]

    def _outs(self, eqn: Any, values: Sequence[Any]) -> Sequence[Any]:
        if eqn.primitive is region_p:
            return self._region(eqn, values)
        if eqn.primitive is derivative_p:
            return self._derivative(eqn.params["region"], values)
        if eqn.primitive is primitives.while_p:
            return _ended(eqn, values)
        if not any(_has_changed(closed(inner)[0]) for inner in inner_jaxprs(eqn)):
            return bind_equation(eqn, values)
        params = {name: _changed(value) for name, value in eqn.params.items()}
        with equation_context(eqn):
            return bind_primitive(eqn.primitive, params, values)

    def _region(self, eqn: Any, values: Sequence[Any]) -> Sequence[Any]:
        region: Region = eqn.params["region"]
        inner = runnable(eqn.params["jaxpr"])
        self._regions[region] = inner, len(values)
        if region.kind != "vmap":
            return inner(*values)
        mapped = jax.vmap(
            lambda *args: tuple(inner(*args)),
            in_axes=(*(None,) * region.num_closed_over, *region.in_axes),
            out_axes=tuple(region.out_axes),
            axis_name=region.axis_name,
            axis_size=region.axis_size,
        )
        return mapped(*values)

    def _derivative(self, region: Region, values: Sequence[Any]) -> Sequence[Any]:
        function, count = self._regions[region]
        operands, directions = values[:count], list(values[count:])
        moving = [at for at in range(region.num_closed_over, count) if _is_inexact(operands[at])]

        def of_moving(*primals: Any) -> list[Any]:
            filled = list(operands)
            for at, primal in zip(moving, primals, strict=True):
                filled[at] = primal
            return [it for it in function(*filled)[: region.results] if _is_inexact(it)]

        primals = [operands[at] for at in moving]
        if region.kind in ("grad", "vjp"):
            return jax.vjp(of_moving, *primals)[1](directions)
        return jax.jvp(of_moving, primals, directions)[1]


def _is_inexact(value: Any) -> bool:
    return jnp.issubdtype(jax.typeof(value).dtype, np.inexact)


def _changed(value: Any) -> Any:
    """A parameter of an equation with its programs changed, so that they can be run."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_changed, value))  # pyright: ignore
    if not isinstance(value, (Jaxpr, ClosedJaxpr)):
        return value
    jaxpr, _ = closed(value)
    if not _has_changed(jaxpr):
        return value
    found = jax.make_jaxpr(runnable(value))(*(_type_of(it.aval) for it in jaxpr.invars))
    if isinstance(value, ClosedJaxpr):
        return found
    if found.consts:
        raise NotImplementedError("a program with constants where none can be")
    return found.jaxpr


def _type_of(aval: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _ended(eqn: Any, values: Sequence[Any]) -> Sequence[Any]:
    """A loop that is left when it has not ended after many turns."""
    condition, body = (runnable(eqn.params[it]) for it in ("cond_jaxpr", "body_jaxpr"))
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    asked, shared = list(values[:first]), list(values[first : first + second])

    def goes_on(state: Any) -> Any:
        return condition(*asked, *state[1])[0] & (state[0] < _MOST_TURNS)

    def turn(state: Any) -> Any:
        return state[0] + 1, body(*shared, *state[1])

    start = (jnp.zeros((), jnp.int32), list(values[first + second :]))
    turns, final = jax.lax.while_loop(goes_on, turn, start)
    is_left = turns >= _MOST_TURNS
    return [jnp.where(is_left, jnp.nan, it) if _is_inexact(it) else it for it in final]
