"""What the axes of an array mean."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
