"""The two primitives behind every channel, and how JAX's transformations treat them.

`emit` has operands and no results; `ask` returns its operand, the answer in a bare run. Both
carry an effect, which keeps JAX from dropping or reordering them before a collector has seen
them. Lowered without a collector, they are nothing.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from .._jax import Effect, allow_effect_everywhere
from ._channel import Channel, Label, Payload, Query, Site


class ChannelEffect(Effect):
    """Marks a program that emits into, or asks about, a channel."""

    def __init__(self, channel: Channel):
        self.channel = channel

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChannelEffect) and other.channel is self.channel

    def __hash__(self) -> int:
        return hash((ChannelEffect, self.channel))

    def __repr__(self) -> str:
        return f"ChannelEffect({self.channel.name})"


allow_effect_everywhere(ChannelEffect)

emit_p = Primitive("emit")
emit_p.multiple_results = True
ask_p = Primitive("ask")


def bind_emission(channel: Channel, payload: Payload, static: Any, site: Site) -> None:
    """Leave an `emit` equation for a payload that may hold arrays, numbers and random keys."""
    leaves, treedef = jax.tree.flatten(payload)
    pairs = [_plain(leaf, channel, site) for leaf in leaves]
    label = Label(channel, treedef, static, site, tuple(impl for _, impl in pairs))
    emit_p.bind(*(array for array, _ in pairs), label=label, lanes=0, depth=0)


def bind_question(query: Query) -> jax.Array:
    """Leave an `ask` equation."""
    return ask_p.bind(first_answer(query), query=query)


def first_answer(query: Query) -> jax.Array:
    """The answer before anything was emitted, as an array of a strong dtype."""
    answer = jnp.asarray(query.initial)
    return jax.lax.convert_element_type(answer, answer.dtype)


def _plain(leaf: Any, channel: Channel, site: Site) -> tuple[jax.Array, Any]:
    """A leaf as an array of an ordinary, strong dtype, and the kind of random key it was.

    Loop carries and branches must agree in type exactly, so a weak type must not slip in;
    a key's raw data can be zeroed, selected and concatenated where the key cannot.
    """
    try:
        array = jnp.asarray(leaf)
    except TypeError as error:
        raise TypeError(
            f"the payload of an emission into {channel} at {site} has a leaf of type "
            f"{type(leaf).__name__}, which is not an array: pass such values as static data."
        ) from error
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(array), jax.random.key_impl(array)
    return jax.lax.convert_element_type(array, array.dtype), None


def wrap_keys(label: Label, leaves: list[Any]) -> Payload:
    """The payload as it was emitted, with raw key data made into keys again."""
    wrapped = [
        leaf if impl is None else jax.random.wrap_key_data(leaf, impl=impl)
        for leaf, impl in zip(leaves, label.key_impls, strict=True)
    ]
    return jax.tree.unflatten(label.treedef, wrapped)


@emit_p.def_impl
def _emit_impl(*_: Any, **__: Any) -> list[Any]:
    return []


@emit_p.def_effectful_abstract_eval
def _emit_abstract(*_: Any, label: Label, **__: Any) -> tuple[list[Any], set[Effect]]:
    return [], {ChannelEffect(label.channel)}


def _emit_batch(axis_data: Any, args: Any, dims: Any, *, lanes: int, **params: Any) -> Any:
    """One more leading axis for all operands: each lane emits for itself."""
    size = axis_data.size
    batched = [
        jnp.broadcast_to(arg, (size, *arg.shape)) if dim is None else jnp.moveaxis(arg, dim, 0)
        for arg, dim in zip(args, dims, strict=True)
    ]
    emit_p.bind(*batched, lanes=lanes + 1, **params)
    return [], []


def _emit_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    del tangents
    emit_p.bind(*primals, **params)
    return [], []


def _emit_transpose(cotangents: Any, *args: Any, **params: Any) -> Any:
    """The backward pass of a linear function emits nothing."""
    del cotangents, params
    return [None] * len(args)


batching.fancy_primitive_batchers[emit_p] = _emit_batch
ad.primitive_transposes[emit_p] = _emit_transpose
ad.primitive_jvps[emit_p] = _emit_jvp
mlir.register_lowering(emit_p, lambda ctx, *args, **params: [])


@ask_p.def_impl
def _ask_impl(answer: Any, *, query: Query) -> Any:
    del query
    return answer


@ask_p.def_effectful_abstract_eval
def _ask_abstract(answer: Any, *, query: Query) -> tuple[Any, set[Effect]]:
    return answer, {ChannelEffect(query.channel)}


mlir.register_lowering(ask_p, lambda ctx, answer, *, query: [answer])
