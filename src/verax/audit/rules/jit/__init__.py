"""What tracing and compilation do to a function."""

from __future__ import annotations

from .._rule import Rule
from . import (
    branches_differ,
    cannot_be_traced,
    not_an_array,
    traced_condition,
    traced_key,
    traced_python_value,
    traced_size,
    written_in_place,
)

RULES: tuple[Rule, ...] = (
    traced_condition.RULE,
    traced_python_value.RULE,
    traced_size.RULE,
    not_an_array.RULE,
    traced_key.RULE,
    branches_differ.RULE,
    written_in_place.RULE,
    cannot_be_traced.RULE,
)
