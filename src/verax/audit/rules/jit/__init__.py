"""What tracing and compilation do to a function."""

from __future__ import annotations

from .._rule import Rule
from . import (
    branches_differ,
    cached_tracer,
    callback_in_loop,
    cannot_be_traced,
    captured_constant,
    compiled_again,
    compiled_for_weak_type,
    donated_used,
    error_never_raised,
    frozen_at_tracing,
    mixed_precision,
    not_an_array,
    printed_tracer,
    side_effect,
    stale_capture,
    static_arguments,
    traced_condition,
    traced_key,
    traced_python_value,
    traced_size,
    written_in_place,
)

RULES: tuple[Rule, ...] = (
    side_effect.RULE,
    printed_tracer.RULE,
    stale_capture.RULE,
    frozen_at_tracing.RULE,
    static_arguments.RULE,
    donated_used.RULE,
    error_never_raised.RULE,
    cached_tracer.RULE,
    traced_condition.RULE,
    traced_python_value.RULE,
    traced_size.RULE,
    not_an_array.RULE,
    traced_key.RULE,
    branches_differ.RULE,
    written_in_place.RULE,
    cannot_be_traced.RULE,
    captured_constant.RULE,
    callback_in_loop.RULE,
    mixed_precision.RULE,
    compiled_again.RULE,
    compiled_for_weak_type.RULE,
)
