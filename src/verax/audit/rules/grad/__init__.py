"""Derivatives: what blocks them, and rules written by hand."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
