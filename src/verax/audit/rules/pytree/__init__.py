"""Structures that hold arrays."""

from __future__ import annotations

from .._rule import Rule
from . import (
    changed_copy,
    first_leaf_taken_as_total,
    frozen_assigned,
    joined_leaf_by_leaf,
    leaf_not_differentiable,
    leaves_in_other_order,
    map_returns_tuples,
    opaque_leaf,
    round_trip,
    shapes_taken_apart,
    state_dropped,
    static_array,
    tree_arguments_swapped,
    trees_do_not_fit,
    unregistered_class,
)

RULES: tuple[Rule, ...] = (
    round_trip.RULE,
    leaves_in_other_order.RULE,
    map_returns_tuples.RULE,
    opaque_leaf.RULE,
    state_dropped.RULE,
    static_array.RULE,
    changed_copy.RULE,
    first_leaf_taken_as_total.RULE,
    unregistered_class.RULE,
    leaf_not_differentiable.RULE,
    trees_do_not_fit.RULE,
    frozen_assigned.RULE,
    tree_arguments_swapped.RULE,
    joined_leaf_by_leaf.RULE,
    shapes_taken_apart.RULE,
)
