"""Mapping over an axis, on one device or on many."""

from __future__ import annotations

from .._rule import Rule
from . import (
    batch_assumed_inside,
    batched_argument_broadcast,
    mapped_axes_mixed,
    update_not_averaged,
)

RULES: tuple[Rule, ...] = (
    mapped_axes_mixed.RULE,
    batched_argument_broadcast.RULE,
    batch_assumed_inside.RULE,
    update_not_averaged.RULE,
)
