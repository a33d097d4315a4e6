"""Random keys."""

from __future__ import annotations

from .._rule import Rule
from . import (
    constant_key,
    key_repeats_in_loop,
    key_reused,
    key_shared_by_lanes,
    too_few_keys,
)

RULES: tuple[Rule, ...] = (
    key_reused.RULE,
    key_repeats_in_loop.RULE,
    key_shared_by_lanes.RULE,
    too_few_keys.RULE,
    constant_key.RULE,
)
