"""Mapping over an axis, on one device or on many."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
