"""`jit`, `vectorize` and `shard_map`, which give back a function of the same type."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import jax
import jax.numpy as jnp

from ._names import named

if TYPE_CHECKING:
    from collections.abc import Hashable, Set

C = TypeVar("C", bound=Callable[..., Any])


@overload
def jit(
    fn: C,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool = ...,
    abstracted_axes: Any = ...,
    compiler_options: dict[str, Any] | None = ...,
) -> C: ...
@overload
def jit(
    fn: None = None,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool = ...,
    abstracted_axes: Any = ...,
    compiler_options: dict[str, Any] | None = ...,
) -> Callable[[C], C]: ...
def jit(
    fn: Any = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """`jax.jit`, also as a decorator with options, with the type of the function kept.

    Partial functions and callable objects, which have no name of their own, are compiled under
    the name of the function or class behind them.

    Example:
        >>> @jit(static_argnames="power")
        ... def raised(x, power):
        ...     return x**power
        >>> float(raised(3.0, power=2))
        9.0
        >>> raised.__name__
        'raised'

    Args:
        fn: the function to compile; without it, a decorator is given back.
        in_shardings: how the arguments are spread over devices.
        out_shardings: how the results are spread over devices.
        static_argnums: positions of arguments that are part of the program.
        static_argnames: names of arguments that are part of the program.
        donate_argnums: positions of arguments whose memory may be used for results.
        donate_argnames: names of arguments whose memory may be used for results.
        keep_unused: whether arguments that nothing depends on stay in the program.
        device: where to run.
        backend: "cpu", "gpu" or "tpu".
        inline: whether the program becomes part of the one that calls it.
        abstracted_axes: for releases of JAX that still know it.
        compiler_options: passed on to XLA.
    """
    options = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused or None,
        "device": device,
        "backend": backend,
        "inline": inline or None,
        "abstracted_axes": abstracted_axes,
        "compiler_options": compiler_options,
    }
    # JAX's own defaults are not all None, and not every release has every option.
    given = {name: option for name, option in options.items() if option is not None}
    return functools.partial(_jit, given) if fn is None else _jit(given, fn)


def _jit(options: dict[str, Any], fn: Any) -> Any:
    return jax.jit(named(fn), **options)


@overload
def vectorize(
    pyfunc: C, *, excluded: Iterable[int | str] = ..., signature: str | None = ...
) -> C: ...
@overload
def vectorize(
    pyfunc: None = None, *, excluded: Iterable[int | str] = ..., signature: str | None = ...
) -> Callable[[C], C]: ...
def vectorize(
    pyfunc: Any = None,
    *,
    excluded: Iterable[int | str] = frozenset(),
    signature: str | None = None,
) -> Any:
    """`jnp.vectorize`, also as a decorator with options, with the type of the function kept.

    Example:
        >>> @vectorize(signature="(n),(n)->()")
        ... def dot(a, b):
        ...     return jnp.sum(a * b)
        >>> dot(jnp.ones((5, 1, 3)), jnp.ones((1, 4, 3))).shape
        (5, 4)

    Args:
        pyfunc: takes and gives arrays of few axes; without it, a decorator is given back.
        excluded: arguments that are passed on as they are.
        signature: the axes of a single call, such as "(n,m),(m)->(n)"; none means scalars.
    """
    if pyfunc is None:
        return functools.partial(vectorize, excluded=excluded, signature=signature)
    function = named(pyfunc)
    mapped = jnp.vectorize(function, excluded=frozenset(excluded), signature=signature)
    return functools.update_wrapper(mapped, function)


def shard_map(
    f: C,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: jax.sharding.Mesh | jax.sharding.AbstractMesh | None = None,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> C:
    """`jax.shard_map`, with the type of the function kept.

    Example:
        >>> from jax.sharding import PartitionSpec as P
        >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
        >>> def total(shard):
        ...     return jax.lax.psum(jnp.sum(shard), "x")
        >>> summed = shard_map(total, mesh=mesh, in_specs=P("x"), out_specs=P())
        >>> float(summed(jnp.ones(8 * len(jax.devices())))) / len(jax.devices())
        8.0

    Args:
        f: works on one shard of each argument.
        out_specs: how the shards of the result make up the whole.
        in_specs: how the arguments are cut into shards; none means as they are sharded already.
        mesh: the devices; none means the mesh of the context.
        axis_names: the axes of the mesh that are cut along; none means all.
        check_vma: whether JAX checks that what `out_specs` calls replicated is.
    """
    given = {} if in_specs is None else {"in_specs": in_specs}
    function = named(f)
    mapped = jax.shard_map(
        function,
        out_specs=out_specs,
        mesh=mesh,
        axis_names=cast("Any", axis_names),
        check_vma=check_vma,
        **given,
    )
    return cast("C", functools.update_wrapper(mapped, function))
