"""Vectorised environments and what is learned from them."""

from __future__ import annotations

from .._rule import Rule
from . import advantages_forward, recursion_crosses_episodes, reset_in_target, resets_all

RULES: tuple[Rule, ...] = (
    resets_all.RULE,
    recursion_crosses_episodes.RULE,
    advantages_forward.RULE,
    reset_in_target.RULE,
)
