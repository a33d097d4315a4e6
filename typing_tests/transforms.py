# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Wrapped functions keep their signature."""

from collections.abc import Callable
from functools import partial
from typing import Any, assert_type

from jax import Array
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from verax.transforms import (
    is_traced,
    jit,
    linearize,
    no_jax_tracing,
    non_differentiable,
    sequential_vmap_with_vjp,
    shard_map,
    vectorize,
)


@jit
def step(x: Array, *, scale: float = 1.0) -> tuple[Array, int]:
    return x * scale, 1


@jit(static_argnames="count")
def repeated(x: Array, count: int) -> Array:
    return x * count


@vectorize(signature="(n)->()")
def total(x: Array) -> Array:
    return x.sum()


@no_jax_tracing
def save(path: str, x: Array) -> int:
    return len(path)


@sequential_vmap_with_vjp
def energy(x: Array, scale: float) -> Array:
    return x.sum() * scale


def signatures(x: Array, mesh: Mesh) -> None:
    assert_type(step(x, scale=2.0), tuple[Array, int])
    step(x, 2.0)  # pyright: ignore[reportCallIssue]
    step("x")  # pyright: ignore[reportArgumentType]
    assert_type(repeated(x, 3), Array)
    repeated(x, "3")  # pyright: ignore[reportArgumentType]
    jit(static_argnum=1)  # pyright: ignore[reportCallIssue]
    assert_type(total(x), Array)
    total(x, x)  # pyright: ignore[reportCallIssue]
    assert_type(save("path", x), int)
    save(x)  # pyright: ignore[reportCallIssue]
    assert_type(energy(x, 2.0), Array)
    energy(x, "2")  # pyright: ignore[reportArgumentType]

    def double(x: Array) -> Array:
        return x * 2

    sharded = shard_map(double, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    assert_type(sharded(x), Array)
    sharded(x, x)  # pyright: ignore[reportCallIssue]

    @partial(shard_map, mesh=mesh, out_specs=P())
    def summed(x: Array) -> Array:
        return x.sum()

    print(summed(x))


def values(x: Array) -> None:
    assert_type(is_traced({"x": x}), bool)
    assert_type(non_differentiable({"x": x}), dict[str, Array])

    def square(x: Array, y: float) -> Array:
        return x**2 * y

    def with_note(x: Array) -> tuple[Array, str]:
        return x**2, "note"

    value, slope = linearize(square, x, 2.0)
    assert_type(value, Array)
    assert_type(slope, Callable[[Array, float], Array])
    linearize(square, x, "2")  # pyright: ignore[reportArgumentType]
    assert_type(linearize(with_note, x, has_aux=True), tuple[Array, Callable[[Array], Array], str])


def untyped(function: Any) -> None:
    print(jit(function), vectorize(function))
