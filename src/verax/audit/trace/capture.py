"""Trace a function so that the transformations in it leave equations.

For the duration of a trace, the functions behind `vmap`, `grad`, `vjp`, `jvp`, `linearize`,
`scan` and `while_loop` are replaced wherever a loaded module holds them, so that `from jax import
vmap` and functions that were transformed long before are seen too. A context that is part of
JAX's cache keys keeps these traces apart from ordinary ones, and from those of other audits: what
a cached trace did is not seen again.

A program that fails is traced once more to keep what was there before the error (`salvage`): jits
open up, and a transformation whose function raises leaves what the function did until then.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Jaxpr, Literal

from ..._jax import (
    BATCH_RETURNS_AXES,
    ENTRY_POINTS,
    argument_names,
    axis_name_of,
    call_flat,
    differentiation_settings,
    named_axis,
    origin_of,
)
from .observe import CarryTypes, Observer
from .regions import Mark, Region, bind_region, derivative_p, mark_p, traced, type_of

# Zero outside of an audit; inside, a number that no other audit has.
_auditing = jax.make_user_context(default_value=0)
_numbers = itertools.count(1)
_lock = threading.RLock()


@contextmanager
def regions(observer: Observer | None = None, *, salvage: bool = False) -> Generator[None]:
    """Let transformations leave equations, in this thread, in whatever is traced inside."""
    owner = threading.get_ident()

    def wrapper(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            # Other threads, and what runs below an ordinary trace, must not notice.
            if threading.get_ident() != owner or not _auditing.value:
                return original(*args, **kwargs)
            try:
                # `scan(f=body, init=…)` is as good as by position.
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return original(*args, **kwargs)  # JAX says what is wrong with the call.
            return ours(original, *bound.args, **bound.kwargs)

        return replacement

    replacements = {
        id(ENTRY_POINTS[name]): wrapper(ENTRY_POINTS[name], ours) for name, ours in _OURS.items()
    }
    if salvage:
        for name, ours in _SALVAGING.items():
            saving = partial(ours, _OURS.get(name, _plainly), observer)
            replacements[id(ENTRY_POINTS[name])] = wrapper(ENTRY_POINTS[name], saving)
    if observer is not None:
        for function, noting in observer.tree_functions():
            # Not by `wrapper`: who takes notes looks at its caller.
            replacements[id(function)] = noting
    with ExitStack() as stack:
        stack.enter_context(_lock)
        if observer is not None:
            stack.enter_context(observer.instances())
        if salvage:
            stack.enter_context(jax.disable_jit())
        places = list(_namespaces_holding(set(replacements)))
        originals = [(space, name, space[name]) for space, name in places]
        try:
            for space, name, original in originals:
                space[name] = replacements[id(original)]
            with _auditing(next(_numbers)):
                yield
        finally:
            for space, name, original in originals:
                space[name] = original


def is_auditing() -> bool:
    """Whether an audit is tracing what runs now."""
    return bool(_auditing.value)


def _namespaces_holding(ids: set[int]) -> Generator[tuple[dict[str, Any], str]]:
    for module in list(sys.modules.values()):
        if module is sys.modules["verax._jax"]:
            continue
        space = getattr(module, "__dict__", None)
        if isinstance(space, dict):
            for name, value in list(space.items()):
                if id(value) in ids:
                    yield space, name


# --- vmap


def _batch(
    original: Callable[..., Any],
    function: Any,
    axis_data: Any,
    in_dims: Any,
    out_dims: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    return _Batched(original, function, axis_data, in_dims, out_dims, args, kwargs)


class _Batched:
    """Stands for what `vmap` calls; JAX has flattened arguments and checked their sizes."""

    def __init__(self, original: Any, *parts: Any):
        self._original = original
        self._held: dict[int, Any] = {}
        self._function, self._axis, self._in_dims, self._out_dims, *self._rest = parts

    def call_wrapped(self, *args: Any) -> Any:
        in_dims: Any = self._in_dims() if callable(self._in_dims) else self._in_dims
        if not all(_is_plain(dim) for dim in in_dims):
            args_, kwargs = self._rest
            return self._original(
                self._function, self._axis, self._in_dims, self._out_dims, *args_, **kwargs
            ).call_wrapped(*args)
        outs, axes = self._leave_region(args, list(in_dims))
        return (outs, axes) if BATCH_RETURNS_AXES else outs

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
            if _salvaging():  # We are to save what there was before the error.
                origin, arguments = origin_of(self._function), self._argument_names()
                settings = {"in_axes": tuple(axes), "axis_size": self._axis.size}
                _leave_part("vmap", origin, arguments, function, types, args, **settings)
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
        mapped = _varying(jaxpr, [False] * len(consts) + [axis is not None for axis in axes])
        out_axes = [
            _destination(dest, len(var.aval.shape), varies)
            for dest, var, varies in zip(dests, jaxpr.outvars, mapped, strict=True)
        ]
        out_types = [
            _with(var.aval, axis, size) for var, axis in zip(jaxpr.outvars, out_axes, strict=True)
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


def _has_type(x: Any) -> bool:
    try:
        jax.typeof(x)
    except TypeError:
        return False
    return True


def _is_plain(dim: Any) -> bool:
    return dim is None or type(dim) is int


def _without(x: Any, axis: int | None) -> jax.ShapeDtypeStruct:
    shape = list(jax.typeof(x).shape)
    if axis is not None:
        del shape[axis]
    return type_of(x, shape)


def _with(aval: Any, axis: int | None, size: int) -> ShapedArray:
    shape = list(aval.shape)
    if axis is not None:
        shape.insert(axis, size)
    return ShapedArray(tuple(shape), aval.dtype, weak_type=getattr(aval, "weak_type", False))


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


def _varying(jaxpr: Jaxpr, mapped: Sequence[bool]) -> list[bool]:
    """Which results can differ from one element of the mapped axis to the next."""
    varying = {var for var, m in zip(jaxpr.invars, mapped, strict=True) if m}
    for eqn in jaxpr.eqns:
        free = not eqn.invars and eqn.primitive.name == "axis_index"
        if free or any(not isinstance(v, Literal) and v in varying for v in eqn.invars):
            varying.update(eqn.outvars)
    return [not isinstance(var, Literal) and var in varying for var in jaxpr.outvars]


# --- derivatives


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
    arguments = argument_names(function) or _paths(primals)
    types = [type_of(leaf) for leaf in leaves]
    try:
        jaxpr, consts = traced(flat, types)
    except Exception:
        if _salvaging():
            _leave_part(kind, origin, arguments, flat, types, leaves)
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
    out_types = [_with(var.aval, None, 0) for var in jaxpr.outvars]
    outs = bind_region(region, jaxpr, operands, out_types)
    value = jax.tree.unflatten(flat.out_tree, outs[: region.results])
    aux = (jax.tree.unflatten(flat.aux_tree, outs[region.results :]),) if has_aux else ()
    return region, operands, leaves, in_tree, flat, value, aux


def _paths(primals: Any) -> tuple[str, ...]:
    return tuple(jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(primals))


def _vjp(original: Any, function: Any, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
    if any(options.values()):
        return original(function, *primals, has_aux=has_aux, **options)
    settings = differentiation_settings(sys._getframe(2))
    kind = "vjp" if settings is None else "grad"
    region, operands, leaves, in_tree, flat, value, aux = _differentiable_region(
        kind, function, primals, has_aux, settings or {}
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


def _jvp(original: Any, function: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    del original
    if jax.tree.structure(primals) != jax.tree.structure(tangents):
        raise TypeError("primals and tangents of jvp must have the same tree structure")
    region, operands, _, _, flat, value, aux = _differentiable_region(
        "jvp", function, primals, has_aux, {}
    )
    types = [type_of(leaf) for leaf in jax.tree.leaves(value)]
    outs = _apply(region, operands, jax.tree.leaves(tangents), types)
    return value, jax.tree.unflatten(flat.out_tree, outs), *aux


def _linearize(
    original: Any, function: Any, *primals: Any, has_aux: bool = False, **options: Any
) -> Any:
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


# --- scan


def _scan(original: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A scan whose equation keeps all of its carry.

    JAX takes out of a scan what the body hands on unchanged. A mark on the way in and on the way
    out keeps it, and holds the place of a leaf in the carry.
    """

    @wraps(function)
    def body(carry: Any, x: Any) -> Any:
        out = function(_marked("carry", carry), _marked("slice", x))
        if not (isinstance(out, tuple) and len(out) == 2):  # pyright: ignore[reportUnknownArgumentType]
            return out  # JAX says what is wrong with it.
        return _marked("carried", out[0]), _marked("stacked", out[1])

    return original(body, *args, **kwargs)


def _while(original: Any, condition: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A while loop whose equation keeps all of its carry."""

    @wraps(function)
    def body(carry: Any) -> Any:
        return _marked("carried", function(_marked("carry", carry)))

    return original(condition, body, *args, **kwargs)


def _marked(role: str, tree: Any) -> Any:
    def one(path: Any, leaf: Any) -> Any:
        if not _has_type(leaf):
            return leaf  # Not an array; JAX says so in its own words.
        return mark_p.bind(leaf, mark=Mark(role, jax.tree_util.keystr(path)))

    return jax.tree.map_with_path(one, tree)


# --- what there was before an error


def _leave_part(
    kind: str,
    origin: tuple[str, str, int],
    arguments: tuple[str, ...],
    function: Any,
    types: Any,
    args: Any,
    **settings: Any,
) -> None:
    """Leave a region without results, for a function that raises."""

    def until_error(*xs: Any) -> list[Any]:
        with suppress(Exception):
            function(*xs)
        return []

    with suppress(Exception):
        jaxpr, consts = traced(until_error, types)
        region = Region(kind, origin, len(consts), arguments, **settings)
        bind_region(region, jaxpr, [*consts, *args], [])


def _salvaging() -> bool:
    """Whether to save what there was before an error: then jits are open."""
    return bool(getattr(jax.config, "jax_disable_jit", False))


def _plainly(original: Any, *args: Any, **kwargs: Any) -> Any:
    return original(*args, **kwargs)


def _saving(pieces: Callable[..., Any]) -> Callable[..., Any]:
    """An entry point that does what it did before, and runs its pieces in place if that fails.

    Without jit, JAX runs loops and branches in Python, so that here it is switched on for them.
    """

    def ours(before: Any, observer: Any, original: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with jax.disable_jit(False):
                return before(original, *args, **kwargs)
        except Exception:
            with suppress(Exception):
                pieces(observer, *args, **kwargs)
            raise

    return ours


def _first_iteration(
    observer: Observer | None, function: Any, init: Any, xs: Any = None, *_: Any, **__: Any
) -> None:
    given = _marked("given", init)
    carried, _ = function(given, jax.tree.map(lambda x: x[0], xs))
    _marked("handed on", carried)
    if observer is not None:
        types = CarryTypes(
            _leaf_types(init),
            _leaf_types(carried),
            str(jax.tree.structure(init)),
            str(jax.tree.structure(carried)),
        )
        observer.note("carry types", types)


def _leaf_types(tree: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (jax.tree_util.keystr(path), jax.typeof(leaf))
        for path, leaf in jax.tree.leaves_with_path(tree)
    )


def _first_turn(observer: Observer | None, condition: Any, body: Any, init: Any) -> None:
    condition(init)
    body(init)


def _branches(observer: Observer | None, chosen: Any, *rest: Any, **kwargs: Any) -> None:
    functions = (
        rest[0] if isinstance(rest[0], (list, tuple)) else [it for it in rest if callable(it)]
    )
    operands = [it for it in rest if it is not rest[0] and it not in functions]
    for function in functions:
        with suppress(Exception):
            function(*operands)


_SALVAGING: dict[str, Callable[..., Any]] = {
    "scan": _saving(_first_iteration),
    "while_loop": _saving(_first_turn),
    "cond": _saving(_branches),
    "switch": _saving(_branches),
}


_OURS: dict[str, Callable[..., Any]] = {
    "batch": _batch,
    "vjp": _vjp,
    "jvp": _jvp,
    "linearize": _linearize,
    "scan": _scan,
    "while_loop": _while,
}
