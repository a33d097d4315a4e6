"""Many small arrays in a few buffers, so that a compiled function has few results.

Each result of a compiled function costs time whenever it is called; the values of twenty
assertions would cost more than most steps. So they leave together: one boolean that says
whether all passed, and one flat buffer for each dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.experimental import multihost_utils

from .outcome import RuntimeAssertion


@dataclass(frozen=True)
class _Slot:
    """Where one array lies."""

    buffer: str
    start: int
    shape: tuple[int, ...]
    key_impl: Any

    @property
    def stop(self) -> int:
        return self.start + int(np.prod(self.shape, dtype=int))


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["passed", "buffers"],
    meta_fields=["slots", "treedef"],
)
@dataclass(frozen=True)
class Packed:
    """Assertions on their way out of compiled code.

    `slots` is `None` for assertions that never were in compiled code: they are leaves as they are.
    """

    passed: Any
    buffers: Any
    slots: tuple[_Slot, ...] | None
    treedef: Any

    def __len__(self) -> int:
        return len(self.treedef.children())

    def unpack(self) -> list[RuntimeAssertion]:
        """The assertions, each with its own arrays."""
        if self.slots is None:
            return jax.tree.unflatten(self.treedef, self.buffers)
        # A transformation around the compiled function may have added leading axes.
        host = {name: _on_host(buffer) for name, buffer in self.buffers.items()}
        leaves = [_take(host[slot.buffer], slot) for slot in self.slots]
        return jax.tree.unflatten(self.treedef, leaves)


def _on_host(buffer: Any) -> Any:
    if isinstance(buffer, Tracer):
        return buffer
    if not (buffer.is_fully_addressable or buffer.is_fully_replicated):
        # Parts lie with other processes, which have seen the same failure and ask for it too.
        return multihost_utils.process_allgather(buffer, tiled=True)
    return np.asarray(buffer)


def _take(buffer: Any, slot: _Slot) -> Any:
    flat = buffer[..., slot.start : slot.stop]
    array = flat.reshape(buffer.shape[:-1] + slot.shape)
    if slot.key_impl is not None:
        return jax.random.wrap_key_data(array, impl=slot.key_impl)
    return array


def pack(assertions: Sequence[RuntimeAssertion]) -> Packed:
    """Assertions as few arrays, if they are being traced; otherwise as they are."""
    leaves, treedef = jax.tree.flatten(list(assertions))
    passed = all_pass(assertions)
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return Packed(passed, leaves, None, treedef)
    parts: dict[str, list[Any]] = {}
    ends: dict[str, int] = {}
    slots: list[_Slot] = []
    for leaf in leaves:
        array, impl = _plain(leaf)
        name = str(array.dtype)
        slot = _Slot(name, ends.get(name, 0), array.shape, impl)
        ends[name] = slot.stop
        parts.setdefault(name, []).append(array.reshape(-1))
        slots.append(slot)
    buffers = {name: jnp.concatenate(arrays) for name, arrays in parts.items()}
    return Packed(passed, buffers, tuple(slots), treedef)


def _plain(leaf: Any) -> tuple[Any, Any]:
    array = jnp.asarray(leaf)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(array), jax.random.key_impl(array)
    return array, None


def all_pass(assertions: Sequence[RuntimeAssertion]) -> jax.Array:
    """Whether all assertions hold, as one boolean."""
    passed = jnp.asarray(True)
    for assertion in assertions:
        passed = passed & jnp.asarray(assertion.predicate).all()
    return passed
