"""From a program to an interval for each of its values, in one walk.

Steps are visited in the order in which they run. A step's rule comes from a table by the name of
its primitive; a primitive that is not there gives all that its dtype allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..program import Body, Program, Step, Value
from .constants import interval_of_constant, interval_of_input
from .identity import Identities
from .interval import Interval, Number, anything
from .predicates import Fact, narrowed

# A rule gives the interval of a step's only output, or of each, or `None` for "nothing is known".
Rule = Callable[["Ranges", Step], Interval | list[Interval] | None]


class Ranges:
    """The interval of every value of a program."""

    def __init__(
        self, program: Program, declared: Mapping[Value, tuple[Number, Number]] | None = None
    ):
        from .control import CONTROL
        from .table import RULES

        self._rules = RULES
        self._control = CONTROL
        self._known: dict[Value, Interval] = {}
        self._constants: dict[Value, Interval] = {}
        self._visited: set[Step] = set()
        self.identities: Identities = Identities()
        # What holds in the branch that is being visited, by value; others may equal it.
        self.assumed: list[Fact] = []
        for value in program.body.inputs:
            self._known[value] = interval_of_input(value.dtype, (declared or {}).get(value))
            self.identities.add_source(value)
        with np.errstate(all="ignore"):  # Bounds overflow and are rounded as a matter of course.
            self.visit(program.body)

    def __getitem__(self, value: Value) -> Interval:
        known = self._known.get(value)
        if known is not None:
            return known
        if value.is_constant:
            if value not in self._constants:
                self._constants[value] = interval_of_constant(value)
            return self._constants[value]
        return anything(value.dtype)

    def __setitem__(self, value: Value, interval: Interval) -> None:
        self._known[value] = interval

    def of(self, step: Step) -> list[Interval]:
        """The intervals of a step's inputs."""
        return [self[value] for value in step.inputs]

    def visit(self, body: Body) -> None:
        """Find the interval of all that a body makes, from those of its inputs."""
        for step in body.steps:
            control = self._control.get(step.kind)
            if control is not None:
                control(self, step)
            else:
                self._operation(step)

    def has_met(self, step: Step) -> bool:
        """Whether a step has been met before."""
        return step in self._visited

    def meets_first(self, step: Step) -> bool:
        """Whether a step is met for the first time; in loops it is met again."""
        first = step not in self._visited
        self._visited.add(step)
        return first

    def _operation(self, step: Step) -> None:
        if self.meets_first(step):
            self.identities.add_step(step)
        rule = self._rules.get(step.primitive)
        found = None if rule is None else rule(self, step)
        if isinstance(found, Interval):
            found = [found]
        for index, value in enumerate(step.outputs):
            interval = (
                anything(value.dtype) if found is None else _of_dtype(found[index], value.dtype)
            )
            for fact in self.assumed:
                if self.identities.equal(fact[0], value):
                    interval = narrowed(interval, fact)
            self._known[value] = interval


def _of_dtype(interval: Interval, dtype: Any) -> Interval:
    """A rule's answer, never wider than its dtype."""
    top = anything(dtype)
    if interval.low < top.low or interval.high > top.high:
        return top
    return interval
