"""When two scalars are the same number: constants by their contents, arithmetic by what it does.

Indices and counters pass through a few scalar operations (`i < 0`, `i + n`, a choice between the
two, a cast). Two of them that are made alike from the same values are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Value

_FOLDED: dict[str, Callable[..., Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
    "neg": lambda a: -a,
    "select_n": lambda which, *cases: cases[int(which)],
    "convert_element_type": lambda a: a,
    "squeeze": lambda a: a,
    "reshape": lambda a: a,
    "broadcast_in_dim": lambda a: a,
    "clamp": lambda low, a, high: min(max(low, a), high),
}


class Numbers:
    """Identities of scalars. Two values with the same identity are the same number."""

    def __init__(self) -> None:
        self._known: dict[Value, tuple[Any, ...]] = {}
        # Operations by what they do, so that identities stay small however long the chain is.
        self._operations: dict[tuple[Any, ...], int] = {}

    def identity(self, value: Value) -> tuple[Any, ...]:
        """Equal for values that are certainly equal."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def constant(self, value: Value) -> int | float | None:
        """The number itself, where it is known."""
        kind, *rest = self.identity(value)
        return rest[0] if kind == "constant" else None

    def _find(self, value: Value) -> tuple[Any, ...]:
        if value.constant is not None:
            return _of_constant(value)
        step = value.producer
        if (
            step is None
            or step.kind != "operation"
            or step.primitive not in _FOLDED
            or len(step.outputs) != 1
            or any(np.prod(it.shape, dtype=int) != 1 for it in step.inputs)
        ):
            return ("value", value)
        parts = [self.identity(it) for it in step.inputs]
        if all(part[0] == "constant" for part in parts):
            return ("constant", _FOLDED[step.primitive](*(part[1] for part in parts)))
        if step.primitive == "select_n" and parts[0][0] == "constant":
            return parts[1 + int(parts[0][1])]
        if step.primitive in ("convert_element_type", "squeeze", "reshape", "broadcast_in_dim"):
            return parts[0]
        operation = (step.primitive, *parts)
        return ("operation", self._operations.setdefault(operation, len(self._operations)))


def _of_constant(value: Value) -> tuple[Any, ...]:
    if np.prod(value.shape, dtype=int) != 1:
        return ("value", value)
    try:
        return ("constant", np.asarray(value.constant).reshape(()).item())
    except (TypeError, ValueError):
        return ("value", value)
