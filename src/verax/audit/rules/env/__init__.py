"""Vectorised environments and what is learned from them."""

from __future__ import annotations

from .._rule import Rule
from . import (
    advantages_forward,
    end_ignored,
    mask_reversed,
    observation_after_action,
    observation_not_reset,
    recursion_crosses_episodes,
    reset_in_target,
    reset_reversed,
    resets_all,
    same_step_bootstrapped,
    steps_misaligned,
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
)
