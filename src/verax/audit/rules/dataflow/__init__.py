"""What happens to values: dropped, duplicated, misread, out of range."""

from __future__ import annotations

from .._rule import Rule
from . import (
    index_outside,
    integer_wraps,
    undefined_operation,
    unscaled_pixels,
)

RULES: tuple[Rule, ...] = (
    undefined_operation.RULE,
    integer_wraps.RULE,
    index_outside.RULE,
    unscaled_pixels.RULE,
)
