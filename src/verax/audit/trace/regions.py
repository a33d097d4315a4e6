"""Equations that stand for transformations which JAX performs without leaving one.

While the auditor traces, `vmap`, `grad`, `vjp`, `jvp` and `linearize` do not transform: each leaves
a `region` equation that holds the function they were given, traced once on the types that it sees.
A program then reads as its author wrote it: inside of `vmap` a value has no batch axis, and `grad`
holds the function that it differentiates. Such a program is never run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive
from jax.interpreters import ad, batching, mlir

from ..._jax import closed


@dataclass(frozen=True, eq=False)
class Region:
    """What is static about a transformation. Operands are closed-over values, then arguments.

    `kind` is "vmap", "grad", "vjp", "jvp" or "linearize". `origin` is the name, file and first line
    of the transformed function. `arguments` names the flat arguments.
    `in_axes` and `out_axes` (of `vmap`) have one entry a flat argument or result. `differentiated`
    says which flat arguments the derivative is for, `results` how many flat results are
    differentiated; the rest is auxiliary.
    """

    kind: str
    origin: tuple[str, str, int]
    num_closed_over: int
    arguments: tuple[str, ...] = ()
    in_axes: tuple[int | None, ...] = ()
    out_axes: tuple[int | None, ...] = ()
    axis_name: Any = None
    axis_size: int = 0
    differentiated: tuple[bool, ...] = ()
    argnums: Any = None
    results: int = 0


region_p: Primitive = Primitive("region")
region_p.multiple_results = True

# Applies the derivative of an earlier region. Operands: those of the region, then (co)tangents.
derivative_p: Primitive = Primitive("derivative")
derivative_p.multiple_results = True

# Gives its operand a role or a name; returns it unchanged.
mark_p: Primitive = Primitive("mark")


@dataclass(frozen=True)
class Mark:
    """The role of a value: what part of a scan it is, or how the user names its axes."""

    role: str
    path: str = ""
    axes: tuple[str | None, ...] = ()


def _types(*_: Any, out_types: Sequence[Any], **__: Any) -> Sequence[Any]:
    return out_types


region_p.def_abstract_eval(_types)
derivative_p.def_abstract_eval(_types)
mark_p.def_abstract_eval(lambda x, **_: x)
mark_p.def_impl(lambda x, **_: x)
mlir.register_lowering(mark_p, lambda ctx, x, **_: [x])
# Bodies of custom functions are run, to hold their derivatives to what they are derivatives of.
ad.deflinear2(mark_p, lambda cotangent, x, **_: [cotangent])
batching.defvectorized(mark_p)


def traced(function: Any, types: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    """A function as a program without constants, and the values that it closes over."""
    jaxpr, consts = closed(jax.make_jaxpr(function)(*types))
    if not consts:
        return jaxpr, []
    lifted = Jaxpr(
        constvars=(),
        invars=(*jaxpr.constvars, *jaxpr.invars),
        outvars=jaxpr.outvars,
        eqns=jaxpr.eqns,
        effects=jaxpr.effects,
        debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None),
    )
    return lifted, list(consts)


def type_of(x: Any, shape: Sequence[int] | None = None) -> jax.ShapeDtypeStruct:
    """The type of a value, possibly with another shape."""
    aval = jax.typeof(x)
    return jax.ShapeDtypeStruct(
        aval.shape if shape is None else tuple(shape),
        aval.dtype,
        weak_type=getattr(aval, "weak_type", False),
    )


def bind_region(region: Region, jaxpr: Jaxpr, operands: Sequence[Any], out_types: Any) -> list[Any]:
    """Leave a region."""
    return region_p.bind(
        *operands, region=region, jaxpr=ClosedJaxpr(jaxpr, ()), out_types=tuple(out_types)
    )


def has_type(x: Any) -> bool:
    """Whether JAX takes a value for an array."""
    try:
        jax.typeof(x)
    except TypeError:
        return False
    return True


def with_axis(aval: Any, axis: int | None = None, size: int = 0) -> ShapedArray:
    """The type of a value, possibly with one more axis."""
    shape = list(aval.shape)
    if axis is not None:
        shape.insert(axis, size)
    return ShapedArray(tuple(shape), aval.dtype, weak_type=getattr(aval, "weak_type", False))
