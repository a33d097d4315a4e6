"""Vectorised environments and what is learned from them."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
