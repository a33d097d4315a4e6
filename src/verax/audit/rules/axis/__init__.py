"""What the axes of an array mean."""

from __future__ import annotations

from .._rule import Rule
from . import (
    accidental_outer,
    annotation_contradicted,
    axes_mixed,
    axis_ignored,
    batch_summed_in_loss,
    declared_otherwise,
    divided_by_all,
    length_of_all,
    mean_over_all,
    merged_in_another_order,
    recurrence_over_batch,
    reshape_as_transpose,
    shapes_do_not_fit,
    siblings_standardised_differently,
    softmax_over_batch,
    softmax_over_queries,
    squeeze_without_axis,
    steps_along_batch,
    total_added_to_each,
    total_grows,
    weights_along_another_axis,
)

RULES: tuple[Rule, ...] = (
    axes_mixed.RULE,
    accidental_outer.RULE,
    reshape_as_transpose.RULE,
    squeeze_without_axis.RULE,
    recurrence_over_batch.RULE,
    steps_along_batch.RULE,
    softmax_over_batch.RULE,
    total_added_to_each.RULE,
    mean_over_all.RULE,
    batch_summed_in_loss.RULE,
    siblings_standardised_differently.RULE,
    declared_otherwise.RULE,
    softmax_over_queries.RULE,
    weights_along_another_axis.RULE,
    merged_in_another_order.RULE,
    axis_ignored.RULE,
    annotation_contradicted.RULE,
    divided_by_all.RULE,
    length_of_all.RULE,
    total_grows.RULE,
    shapes_do_not_fit.RULE,
)
