"""When two values are the same computation: made by the same operations from the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Step, Value


class Sameness:
    """Numbers for values; those with the same number are equal.

    With `blind`, values for which it says yes all count as one: what remains is the shape of the
    computation around them.
    """

    def __init__(self, blind: Callable[[Value], bool] | None = None):
        self._blind = blind
        self._by_value: dict[Value, int] = {}
        self._by_making: dict[Any, int] = {}

    def are(self, one: Value, other: Value) -> bool:
        """Whether two values are certainly the same."""
        return one is other or self.number(one) == self.number(other)

    def number(self, value: Value) -> int:
        """The number of a value."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current in self._by_value:
                pending.pop()
                continue
            missing = [it for it in self._sources(current) if it not in self._by_value]
            if missing:
                pending += missing
                continue
            pending.pop()
            self._by_value[current] = self._making(current)
        return self._by_value[value]

    def _sources(self, value: Value) -> list[Value]:
        if self._blind is not None and self._blind(value):
            return []
        step = value.producer
        return step.inputs if step is not None and step.kind == "operation" else []

    def _making(self, value: Value) -> int:
        made = self._how(value)
        return self._by_making.setdefault(made, len(self._by_making))

    def _how(self, value: Value) -> Any:
        if self._blind is not None and self._blind(value):
            return ("any",)
        if value.constant is not None:
            return _constant(value)
        step = value.producer
        if step is None or step.kind != "operation":
            return ("value", id(value))
        sources = tuple(self._by_value[it] for it in step.inputs)
        return (step.primitive, _parameters(step), step.outputs.index(value), sources)


def _constant(value: Value) -> Any:
    try:
        array = np.asarray(value.constant)
        if array.size <= 16:
            return ("constant", value.shape, str(value.dtype), array.tobytes())
    except (TypeError, ValueError):
        pass
    return ("constant", id(value.constant))


def _parameters(step: Step) -> Any:
    parts = tuple(sorted(step.params.items()))
    try:
        hash(parts)
    except TypeError:
        return str(parts)
    return parts
