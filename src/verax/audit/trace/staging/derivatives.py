"""`grad` and its kin as a region that holds the forward function, and steps that apply it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray

from ...._jax import argument_names, call_flat, differentiation_settings, origin_of
from ..parameters import parameter_name
from ..regions import Region, bind_region, derivative_p, traced, type_of, with_axis
from .salvage import is_salvaging, leave_part
from .unmarked import or_performed


class _Flat:
    """A function of flat arguments that remembers the structure of what it returned."""

    def __init__(self, function: Any, in_tree: Any, has_aux: bool):
        self._function, self._in_tree, self._has_aux = function, in_tree, has_aux
        self.out_tree: Any = None
        self.aux_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        out = call_flat(self._function, jax.tree.unflatten(self._in_tree, leaves))
        aux = None
        if self._has_aux:
            if not (isinstance(out, tuple) and len(out) == 2):  # pyright: ignore[reportUnknownArgumentType]
                raise TypeError(
                    "with has_aux=True the differentiated function must return a pair (value, "
                    f"auxiliary data), but it returned {type(out).__name__}"
                )
            out, aux = out
        flat, self.out_tree = jax.tree.flatten(out)
        flat_aux, self.aux_tree = jax.tree.flatten(aux)
        return [*flat, *flat_aux]


def _differentiable_region(
    kind: str, function: Any, primals: Any, has_aux: bool, settings: dict[str, Any]
) -> tuple[Any, ...]:
    """Leave a region; returns it, its program, operands, results, and the trees around them."""
    leaves, in_tree = jax.tree.flatten(primals)
    flat = _Flat(function, in_tree, has_aux)
    origin = origin_of(settings.get("fun", function))
    arguments = argument_names(function)
    if len(arguments) != len(leaves):  # Until the floor is 0.9, they are those of all arguments.
        arguments = _paths(settings, function, primals)
    types = [type_of(leaf) for leaf in leaves]
    try:
        # As a method: until the floor is 0.9, JAX does not say where an object is written.
        jaxpr, consts = traced(flat.__call__, types)
    except Exception:
        if is_salvaging():
            leave_part(kind, origin, arguments, flat, types, leaves)
        raise
    region = Region(
        kind=kind,
        origin=origin,
        num_closed_over=len(consts),
        arguments=arguments,
        differentiated=(True,) * len(leaves),
        argnums=settings.get("argnums"),
        results=flat.out_tree.num_leaves,
    )
    operands = [*consts, *leaves]
    out_types = [with_axis(var.aval) for var in jaxpr.outvars]
    outs = bind_region(region, jaxpr, operands, out_types)
    value = jax.tree.unflatten(flat.out_tree, outs[: region.results])
    aux = (jax.tree.unflatten(flat.aux_tree, outs[region.results :]),) if has_aux else ()
    return region, operands, leaves, in_tree, flat, value, aux


def _paths(settings: dict[str, Any], function: Any, primals: Any) -> tuple[str, ...]:
    """The names of the leaves: the parameter that takes each argument, and the way to the leaf."""
    argnums = settings.get("argnums", tuple(range(len(primals))))
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = [parameter_name(settings.get("fun", function), it) for it in numbers]
    return tuple(
        (names[path[0].idx] if path[0].idx < len(names) else "") + jax.tree_util.keystr(path[1:])
        for path, _ in jax.tree.leaves_with_path(primals)
    )


def vjp(original: Any, function: Any, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
    """`jax.vjp`, and what `jax.grad` does by calling it."""
    if any(options.values()):
        return original(function, *primals, has_aux=has_aux, **options)
    settings = differentiation_settings(sys._getframe(2))
    kind = "vjp" if settings is None else "grad"

    def left() -> Any:
        return _vjp(kind, function, primals, has_aux, settings or {})

    def performed() -> Any:
        return original(function, *primals, has_aux=has_aux, **options)

    return or_performed(kind, origin_of(function)[0], left, performed)


def _vjp(kind: str, function: Any, primals: Any, has_aux: bool, settings: dict[str, Any]) -> Any:
    region, operands, leaves, in_tree, flat, value, aux = _differentiable_region(
        kind, function, primals, has_aux, settings
    )
    pullback = jax.tree_util.Partial(
        partial(_pull_back, region, in_tree, [type_of(leaf) for leaf in leaves], flat.out_tree),
        operands,
    )
    return value, pullback, *aux


def _pull_back(
    region: Region, in_tree: Any, types: Sequence[Any], out_tree: Any, operands: Any, cotangent: Any
) -> Any:
    leaves, tree = jax.tree.flatten(cotangent)
    if tree != out_tree:
        raise ValueError(
            f"the cotangent has the structure {tree}, but the differentiated function returned "
            f"{out_tree}"
        )
    return jax.tree.unflatten(in_tree, _apply(region, operands, leaves, types))


def _apply(region: Region, operands: Any, directions: Any, types: Any) -> list[Any]:
    """The derivative of a region in the given directions; integers have none."""
    directions = [x for x in directions if _is_inexact(jax.typeof(x).dtype)]
    wanted = [it for it in types if _is_inexact(it.dtype)]
    outs = iter(
        derivative_p.bind(
            *operands,
            *directions,
            region=region,
            out_types=tuple(ShapedArray(it.shape, it.dtype) for it in wanted),
        )
    )
    return [
        next(outs) if _is_inexact(it.dtype) else np.zeros(it.shape, jax.dtypes.float0)
        for it in types
    ]


def _is_inexact(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, np.inexact)


def jvp(original: Any, function: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """`jax.jvp`."""
    del original
    if jax.tree.structure(primals) != jax.tree.structure(tangents):
        raise TypeError("primals and tangents of jvp must have the same tree structure")
    region, operands, _, _, flat, value, aux = _differentiable_region(
        "jvp", function, primals, has_aux, {}
    )
    types = [type_of(leaf) for leaf in jax.tree.leaves(value)]
    outs = _apply(region, operands, jax.tree.leaves(tangents), types)
    return value, jax.tree.unflatten(flat.out_tree, outs), *aux


def linearize(
    original: Any, function: Any, *primals: Any, has_aux: bool = False, **options: Any
) -> Any:
    """`jax.linearize`."""
    if any(value is not None for value in options.values()):
        return original(function, *primals, has_aux=has_aux, **options)
    region, operands, _, in_tree, flat, value, aux = _differentiable_region(
        "linearize", function, primals, has_aux, {}
    )
    types = [type_of(leaf) for leaf in jax.tree.leaves(value)]
    push = partial(_push_forward, region, in_tree, types, flat.out_tree)
    return value, jax.tree_util.Partial(push, operands), *aux


def _push_forward(
    region: Region, in_tree: Any, types: Any, out_tree: Any, operands: Any, *tangents: Any
) -> Any:
    leaves, tree = jax.tree.flatten(tangents)
    if tree != in_tree:
        raise TypeError(f"expected tangents with the structure {in_tree}, got {tree}")
    return jax.tree.unflatten(out_tree, _apply(region, operands, leaves, types))
