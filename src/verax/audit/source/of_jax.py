"""Which libraries are JAX's, and whether a file has to do with any of them.

Quick to load: this is asked before the engine is.
"""

from __future__ import annotations

import re

# JAX, and the libraries for it of which the interpreter knows what they do.
OF_JAX = frozenset(
    "jax jaxlib flax optax equinox haiku chex distrax rlax brax numpyro blackjax diffrax gymnax "
    "orbax jax_dataclasses verax".split()
)

_NAMES = re.compile(rb"\b(?:%s)\b" % "|".join(sorted(OF_JAX)).encode())


def mentions_jax(data: bytes) -> bool:
    """Whether a file's content names one of them, be it in an import, a string or a comment.

    It has to, to import one. What reaches JAX only by way of another file does not.
    """
    return _NAMES.search(data) is not None
