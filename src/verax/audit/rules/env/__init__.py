"""Vectorised environments and what is learned from them."""

from __future__ import annotations

from .._rule import Rule
from . import (
    advantages_forward,
    end_ignored,
    last_step_twice,
    mask_reversed,
    mask_unused,
    observation_after_action,
    observation_not_reset,
    part_not_reset,
    probability_of_another,
    ratio_of_policies,
    recursion_crosses_episodes,
    replayed_otherwise,
    reset_in_target,
    reset_reversed,
    resets_all,
    ring_not_turned,
    rows_in_other_order,
    same_step_bootstrapped,
    sampled_beyond_filled,
    stacked_in_other_order,
    steps_misaligned,
    truncation_as_end,
)

RULES: tuple[Rule, ...] = (
    resets_all.RULE,
    recursion_crosses_episodes.RULE,
    advantages_forward.RULE,
    reset_in_target.RULE,
    end_ignored.RULE,
    mask_reversed.RULE,
    same_step_bootstrapped.RULE,
    reset_reversed.RULE,
    observation_not_reset.RULE,
    observation_after_action.RULE,
    steps_misaligned.RULE,
    part_not_reset.RULE,
    ring_not_turned.RULE,
    sampled_beyond_filled.RULE,
    last_step_twice.RULE,
    mask_unused.RULE,
    truncation_as_end.RULE,
    ratio_of_policies.RULE,
    probability_of_another.RULE,
    rows_in_other_order.RULE,
    replayed_otherwise.RULE,
    stacked_in_other_order.RULE,
)
