"""Loops: carry, scanned inputs, length, and loops that should be one."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
