"""Structures that hold arrays."""

from __future__ import annotations

from .._rule import Rule
from . import (
    leaf_not_differentiable,
    state_dropped,
    trees_do_not_fit,
    unregistered_class,
)

RULES: tuple[Rule, ...] = (
    state_dropped.RULE,
    unregistered_class.RULE,
    leaf_not_differentiable.RULE,
    trees_do_not_fit.RULE,
)
