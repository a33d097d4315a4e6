"""What happens to values: dropped, duplicated, misread, out of range."""

from __future__ import annotations

from .._rule import Rule

RULES: tuple[Rule, ...] = ()
