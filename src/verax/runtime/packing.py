"""Assertions on their way out of compiled code, as one buffer of words and few other arrays.

The first word says whether all passed; the host reads no more unless somebody asks. Arrays that
are not small stay on the device until then.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.experimental import multihost_utils

from . import words as words_of
from .outcome import RuntimeAssertion


@dataclass(frozen=True)
class Layout:
    """Where the arrays of all assertions lie, and what they make up.

    `places` is `None` for assertions that never were in compiled code: arrays as they are.
    """

    treedef: Any
    places: tuple[words_of.Place, ...] | None
    key_impls: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.treedef.children())

    def unpack(self, words: Any, others: Sequence[Any]) -> list[RuntimeAssertion]:
        """The assertions, each with its own arrays."""
        leaves = list(others)
        if self.places is not None:
            _, *leaves = words_of.unpack(
                self.places, _on_host(words), [_on_host(other) for other in others]
            )
        leaves = [
            leaf if impl is None else jax.random.wrap_key_data(jnp.asarray(leaf), impl=impl)
            for leaf, impl in zip(leaves, self.key_impls, strict=True)
        ]
        return jax.tree.unflatten(self.treedef, leaves)


def pack(assertions: Sequence[RuntimeAssertion]) -> tuple[Any, list[Any], Layout]:
    """Assertions as words and other arrays, if they are being traced; otherwise as they are."""
    leaves, treedef = jax.tree.flatten(list(assertions))
    passed = all_pass(assertions)
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return passed, leaves, Layout(treedef, None, (None,) * len(leaves))
    pairs = [_plain(leaf) for leaf in leaves]
    arrays = [passed, *(array for array, _ in pairs)]
    places = words_of.places_of(arrays)
    words, others = words_of.pack(places, arrays)
    return words, others, Layout(treedef, places, tuple(impl for _, impl in pairs))


def first_word(words: Any) -> bool:
    """Whether all passed, also in all lanes that a transformation may have added."""
    host = _on_host(words)
    # The usual case first: it is on the way of every step.
    if host.ndim == 1:
        return host.item(0) != 0
    return bool(host[..., 0].all() if host.dtype == np.uint32 else host.all())


def all_pass(assertions: Sequence[RuntimeAssertion]) -> jax.Array:
    """Whether all assertions hold, as one boolean."""
    predicates = [jnp.asarray(assertion.predicate) for assertion in assertions]
    conditions = [p.all() if p.ndim else p for p in predicates]
    return functools.reduce(jax.lax.bitwise_and, conditions, jnp.asarray(True))


def _on_host(buffer: Any) -> Any:
    if isinstance(buffer, Tracer):
        return buffer
    try:
        return np.asarray(buffer)
    except RuntimeError:
        if buffer.is_fully_addressable:
            raise
        # Parts lie with other processes, which have seen the same failure and ask for it too.
        return multihost_utils.process_allgather(buffer, tiled=True)


def _plain(leaf: Any) -> tuple[Any, Any]:
    array = jnp.asarray(leaf)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(array), jax.random.key_impl(array)
    return array, None
