"""What the axes of an array mean."""

from __future__ import annotations

from .._rule import Rule
from . import (
    accidental_outer,
    axes_mixed,
    recurrence_over_batch,
    reshape_as_transpose,
    shapes_do_not_fit,
    softmax_over_batch,
    squeeze_without_axis,
    steps_along_batch,
)

RULES: tuple[Rule, ...] = (
    axes_mixed.RULE,
    accidental_outer.RULE,
    reshape_as_transpose.RULE,
    squeeze_without_axis.RULE,
    recurrence_over_batch.RULE,
    steps_along_batch.RULE,
    softmax_over_batch.RULE,
    shapes_do_not_fit.RULE,
)
