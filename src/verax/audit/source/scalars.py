"""Which values are single numbers, though it may not be known which ones.

A factor like `1.0 / x.shape[0]` or `math.sqrt(dim)` leaves the shape of an array as it is, which is
not certain of a factor of which nothing is known.
"""

from __future__ import annotations

from .shapes import Size
from .values import Constant, Data, Value


def is_number(value: Value) -> bool:
    """Whether a value is one number, for Python or as an array without axes."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float, Size))
    return isinstance(value, Data) and value.node.shape == ()
