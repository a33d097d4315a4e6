"""Loops: carry, scanned inputs, length, and loops that should be one."""

from __future__ import annotations

from .._rule import Rule
from . import (
    body_called_wrongly,
    carry_ignored,
    carry_never_changes,
    carry_truncated,
    carry_type_changes,
    condition_fixed,
    last_turn_only,
    length_of_other_axis,
    order_matters,
    results_swapped,
    scan_call_wrong,
    scanned_axes_mixed,
    slice_ignored,
    stacked_for_nothing,
    start_does_not_fit,
    unrolled_loop,
)

RULES: tuple[Rule, ...] = (
    scanned_axes_mixed.RULE,
    carry_never_changes.RULE,
    slice_ignored.RULE,
    length_of_other_axis.RULE,
    carry_ignored.RULE,
    order_matters.RULE,
    condition_fixed.RULE,
    last_turn_only.RULE,
    carry_type_changes.RULE,
    scan_call_wrong.RULE,
    body_called_wrongly.RULE,
    results_swapped.RULE,
    start_does_not_fit.RULE,
    carry_truncated.RULE,
    unrolled_loop.RULE,
    stacked_for_nothing.RULE,
)
