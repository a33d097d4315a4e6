"""`vmap` as a region: the function on one element, and which axes are mapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import Jaxpr, Literal

from ...._jax import (
    BATCH_RETURNS_AXES,
    argument_names,
    axis_name_of,
    call_flat,
    forgotten,
    named_axis,
    origin_of,
)
from ..regions import Region, bind_region, traced, type_of, with_axis
from .salvage import is_salvaging, leave_part
from .unmarked import or_performed


def batch(
    original: Callable[..., Any],
    function: Any,
    axis_data: Any,
    in_dims: Any,
    out_dims: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """`vmap`, from where JAX has flattened the arguments."""
    return _Batched(original, function, axis_data, in_dims, out_dims, args, kwargs)


class _Batched:
    """Stands for what `vmap` calls; JAX has flattened arguments and checked their sizes."""

    def __init__(self, original: Any, *parts: Any):
        self._original = original
        self._held: dict[int, Any] = {}
        self._function, self._axis, self._in_dims, self._out_dims, *self._rest = parts

    def call_wrapped(self, *args: Any) -> Any:
        name = origin_of(self._function)[0]
        return or_performed("vmap", name, lambda: self._left(args), lambda: self._performed(args))

    def _left(self, args: Sequence[Any]) -> Any:
        in_dims: Any = self._in_dims() if callable(self._in_dims) else self._in_dims
        if not all(_is_plain(dim) for dim in in_dims):
            raise TypeError("an argument is mapped along something else than one axis")
        outs, axes = self._leave_region(args, list(in_dims))
        return (outs, axes) if BATCH_RETURNS_AXES else outs

    def _performed(self, args: Sequence[Any]) -> Any:
        options, named = self._rest
        parts = forgotten(self._function), self._axis, self._in_dims, self._out_dims
        return self._original(*parts, *options, **named).call_wrapped(*args)

    def _argument_names(self) -> tuple[str, ...]:
        names = argument_names(self._function)
        return tuple(name for index, name in enumerate(names) if index not in self._held)

    def _hold_what_is_known(self, args: Sequence[Any], in_dims: Sequence[Any]) -> None:
        """Arguments that are not mapped may be anything (a dtype, a function), and stay so.

        A Python number is still one inside, and may be a size there.
        """
        self._held = {
            index: arg
            for index, (arg, dim) in enumerate(zip(args, in_dims, strict=True))
            if dim is None and not isinstance(arg, jax.Array)
        }

    def _traced(self, types: Any, args: Sequence[Any], axes: Sequence[int | None]) -> Any:
        def function(*xs: Any) -> Any:
            rest, count = iter(xs), len(xs) + len(self._held)
            everything = [self._held[i] if i in self._held else next(rest) for i in range(count)]
            return call_flat(self._function, everything)

        try:
            return traced(function, types)
        except Exception:
            if is_salvaging():  # We are to save what there was before the error.
                origin, arguments = origin_of(self._function), self._argument_names()
                settings = {"in_axes": tuple(axes), "axis_size": self._axis.size}
                leave_part("vmap", origin, arguments, function, types, args, **settings)
            raise

    def _leave_region(self, args: Sequence[Any], in_dims: list[Any]) -> tuple[Any, list[Any]]:
        self._hold_what_is_known(args, in_dims)
        arrays = [index for index in range(len(args)) if index not in self._held]
        args, in_dims = [args[i] for i in arrays], [in_dims[i] for i in arrays]
        axes = [
            None if dim is None else range(jax.typeof(arg).ndim)[dim]
            for arg, dim in zip(args, in_dims, strict=True)
        ]
        types = [_without(arg, axis) for arg, axis in zip(args, axes, strict=True)]
        size = self._axis.size
        with named_axis(self._axis.name, size):
            jaxpr, consts = self._traced(types, args, axes)
        dests: Any = self._out_dims() if callable(self._out_dims) else self._out_dims
        mapped = _varying(
            jaxpr, [False] * len(consts) + [axis is not None for axis in axes], self._axis.name
        )
        out_axes = [
            _destination(dest, len(var.aval.shape), varies)
            for dest, var, varies in zip(dests, jaxpr.outvars, mapped, strict=True)
        ]
        out_types = [
            with_axis(var.aval, axis, size)
            for var, axis in zip(jaxpr.outvars, out_axes, strict=True)
        ]
        region = Region(
            kind="vmap",
            origin=origin_of(self._function),
            num_closed_over=len(consts),
            arguments=self._argument_names(),
            in_axes=tuple(axes),
            out_axes=tuple(out_axes),
            axis_name=axis_name_of(self._axis),
            axis_size=size,
        )
        return bind_region(region, jaxpr, [*consts, *args], out_types), out_axes


def _is_plain(dim: Any) -> bool:
    return dim is None or type(dim) is int


def _without(x: Any, axis: int | None) -> jax.ShapeDtypeStruct:
    shape = list(jax.typeof(x).shape)
    if axis is not None:
        del shape[axis]
    return type_of(x, shape)


def _destination(dest: Any, rank: int, varies: bool) -> int | None:
    if dest is None and varies:
        raise ValueError(
            "vmap has a mapped output, but its out_axes says None: that is for results which are "
            "the same for every element"
        )
    if dest is None:
        return None
    if type(dest) is not int:  # Infer: wherever the batch axis happens to be.
        return 0 if varies else None
    return range(rank + 1)[dest]


# What these give is the same for every element of the axes that they go over.
_COMMON = frozenset(("psum", "psum_invariant", "pmax", "pmin"))


def _varying(jaxpr: Jaxpr, mapped: Sequence[bool], axis: Any) -> list[bool]:
    """Which results can differ from one element of the mapped axis to the next."""
    varying = {var for var, m in zip(jaxpr.invars, mapped, strict=True) if m}
    for eqn in jaxpr.eqns:
        free = not eqn.invars and eqn.primitive.name == "axis_index"
        given = [not isinstance(var, Literal) and var in varying for var in eqn.invars]
        if eqn.primitive.name in ("jit", "pjit"):
            results = _varying(eqn.params["jaxpr"].jaxpr, given, axis)
            varying.update(var for var, m in zip(eqn.outvars, results, strict=True) if m)
        elif (free or any(given)) and not _is_common(eqn, axis):
            varying.update(eqn.outvars)
    return [not isinstance(var, Literal) and var in varying for var in jaxpr.outvars]


def _is_common(eqn: Any, axis: Any) -> bool:
    axes = eqn.params.get("axes", ())
    return (
        eqn.primitive.name in _COMMON
        and axis in axes
        and eqn.params.get("axis_index_groups") is None
    )
