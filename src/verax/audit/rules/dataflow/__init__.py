"""What happens to values: dropped, duplicated, misread, out of range."""

from __future__ import annotations

from .._rule import Rule
from . import (
    cut_to_integers,
    epochs_as_steps,
    gradients_as_updates,
    index_outside,
    integer_wraps,
    masked_after_softmax,
    normalised_twice,
    optimiser_state_dropped,
    overwritten_unread,
    padding_counted,
    result_unused,
    same_value_twice,
    saturated_logarithm,
    softmax_twice,
    state_not_threaded,
    state_of_other_tree,
    undefined_operation,
    unscaled_pixels,
    uphill,
    value_dropped,
    wrong_mode,
)

RULES: tuple[Rule, ...] = (
    value_dropped.RULE,
    softmax_twice.RULE,
    normalised_twice.RULE,
    result_unused.RULE,
    state_not_threaded.RULE,
    optimiser_state_dropped.RULE,
    gradients_as_updates.RULE,
    same_value_twice.RULE,
    padding_counted.RULE,
    masked_after_softmax.RULE,
    wrong_mode.RULE,
    epochs_as_steps.RULE,
    uphill.RULE,
    state_of_other_tree.RULE,
    overwritten_unread.RULE,
    undefined_operation.RULE,
    integer_wraps.RULE,
    index_outside.RULE,
    cut_to_integers.RULE,
    unscaled_pixels.RULE,
    saturated_logarithm.RULE,
)
