"""Arrays and calls for both sides of a test.

Sizes are different and not small, so that each can be a symbol of its own.
"""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


class A:
    """An array of a shape and a type, which both sides of a test make theirs."""

    def __init__(self, *shape: int, dtype: Any = np.float32):
        self.shape, self.dtype = shape, np.dtype(dtype)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


KEY = jax.random.key(0)
I32, U8, B1, F16, BF16, C64 = np.int32, np.uint8, np.bool_, np.float16, jnp.bfloat16, np.complex64

x = A(5, 7)
v = A(7)
cube = A(5, 7, 11)
square = A(5, 7, 7)
ints = A(5, 7, dtype=I32)
mask = A(5, 7, dtype=B1)
places = A(5, dtype=I32)


def call(name: str, *args: Any, **keywords: Any) -> Call:
    return (name, args, keywords)


def shown(made: Call) -> str:
    """A call as the name of a test: the same in every process, wherever its functions are."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(made))
