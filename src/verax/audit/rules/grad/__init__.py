"""Derivatives: what blocks them, and rules written by hand."""

from __future__ import annotations

from .._rule import Rule
from . import (
    custom_rule_raises,
    custom_rule_wrong,
    derivative_unpacked_wrongly,
    gradient_blocked,
    gradient_of_another,
    gradients_not_averaged,
    infinite_derivative,
    integer_argument,
    not_a_scalar_loss,
    parameters_as_gradients,
    reverse_through_while,
    rule_not_linear,
    stopped_in_one_term,
    stopped_on_the_same_side,
    straight_through_reversed,
    target_not_stopped,
    term_without_gradient,
    weight_not_stopped,
    where_after_undefined,
)

RULES: tuple[Rule, ...] = (
    gradient_blocked.RULE,
    term_without_gradient.RULE,
    stopped_on_the_same_side.RULE,
    straight_through_reversed.RULE,
    target_not_stopped.RULE,
    weight_not_stopped.RULE,
    custom_rule_raises.RULE,
    custom_rule_wrong.RULE,
    reverse_through_while.RULE,
    stopped_in_one_term.RULE,
    rule_not_linear.RULE,
    not_a_scalar_loss.RULE,
    integer_argument.RULE,
    derivative_unpacked_wrongly.RULE,
    gradient_of_another.RULE,
    parameters_as_gradients.RULE,
    gradients_not_averaged.RULE,
    where_after_undefined.RULE,
    infinite_derivative.RULE,
)
