"""What tracing and compilation do to a function."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
