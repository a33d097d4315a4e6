"""Mapping over an axis, on one device or on many."""

from __future__ import annotations

from .._rule import Rule
from . import (
    axis_left_out,
    batch_assumed_inside,
    batch_called_as_one,
    batched_argument_broadcast,
    gradient_summed,
    mapped_axes_mixed,
    mapped_axes_wrong,
    mean_of_means,
    no_device_axis,
    summed_again,
    unbound_axis_name,
    update_not_averaged,
)

RULES: tuple[Rule, ...] = (
    mapped_axes_mixed.RULE,
    batched_argument_broadcast.RULE,
    batch_assumed_inside.RULE,
    update_not_averaged.RULE,
    summed_again.RULE,
    mean_of_means.RULE,
    gradient_summed.RULE,
    axis_left_out.RULE,
    batch_called_as_one.RULE,
    unbound_axis_name.RULE,
    mapped_axes_wrong.RULE,
    no_device_axis.RULE,
)
