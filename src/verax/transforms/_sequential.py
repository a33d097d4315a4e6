"""Batches that are worked through one by one, in both directions of differentiation."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import sequential_vmap

if TYPE_CHECKING:
    from collections.abc import Callable

P = TypeVarTuple("P")
R = TypeVar("R")


def sequential_vmap_with_vjp(func: Callable[[*P], R]) -> Callable[[*P], R]:
    """Let `vmap` call a function once for each entry of a batch, also backwards.

    For a function that cannot be batched, or should not be, because a batch of it does not fit
    into memory. `jax.custom_batching.sequential_vmap` alone leaves the derivative of a batch to
    JAX, which batches it. Here the derivative is worked through one by one as well; it calls
    `func` again instead of keeping what `func` computed.

    The function may not close over traced values. Forward-mode derivatives (`jvp`) are not
    defined.

    Example:
        >>> @sequential_vmap_with_vjp
        ... def energy(x):
        ...     return jnp.sum(x**2)
        >>> jax.vmap(energy)(jnp.arange(4.0).reshape(2, 2))
        Array([ 1., 13.], dtype=float32)
        >>> jax.vmap(jax.grad(energy))(jnp.arange(4.0).reshape(2, 2))
        Array([[0., 2.],
               [4., 6.]], dtype=float32)
    """
    forward = sequential_vmap(func)

    @jax.custom_vjp
    def call(*args: Any) -> Any:
        return forward(*args)

    def call_and_keep(*args: Any) -> tuple[Any, Any]:
        return forward(*args), args

    def pull_back(args: Any, cotangent: Any) -> Any:
        return _pull_back(func, args, cotangent)

    call.defvjp(call_and_keep, pull_back)
    signature = inspect.signature(func)

    @functools.wraps(func)
    def one_by_one(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if bound.kwargs:
            raise TypeError(
                f"{func.__name__} has keyword-only arguments ({', '.join(bound.kwargs)}), which "
                f"sequential_vmap_with_vjp cannot batch. Make them positional, or fix them first "
                f"with functools.partial."
            )
        bound.apply_defaults()
        return call(*bound.args)

    return cast("Callable[[*P], R]", one_by_one)


def _pull_back(func: Callable[..., Any], args: Any, cotangent: Any) -> Any:
    """The cotangents of `args`; one batch entry after the other if there is a batch."""
    leaves, structure = jax.tree.flatten(args)
    smooth = [index for index, leaf in enumerate(leaves) if _is_smooth(leaf)]

    def smooth_part(values: list[Any], others: list[Any]) -> list[Any]:
        # Integers have no derivative, and their stand-in for one, float0, cannot be batched.
        for index, value in zip(smooth, values, strict=True):
            others[index] = value
        results = jax.tree.leaves(func(*jax.tree.unflatten(structure, others)))
        return [result for result in results if _is_smooth(result)]

    @sequential_vmap
    def pull(leaves: list[Any], cotangents: list[Any]) -> list[Any]:
        values = [leaves[index] for index in smooth]
        _, back = jax.vjp(lambda values: smooth_part(values, list(leaves)), values)
        return back(cotangents)[0]

    pulled = pull(leaves, [leaf for leaf in jax.tree.leaves(cotangent) if _is_smooth(leaf)])
    cotangents: list[Any] = [np.zeros(np.shape(leaf), jax.dtypes.float0) for leaf in leaves]
    for index, value in zip(smooth, pulled, strict=True):
        cotangents[index] = value
    return jax.tree.unflatten(structure, cotangents)


def _is_smooth(leaf: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact))
