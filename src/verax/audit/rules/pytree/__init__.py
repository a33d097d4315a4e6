"""Structures that hold arrays."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
