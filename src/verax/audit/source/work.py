"""The work that an audit costs, counted in steps, so that there can be a budget for it.

A budget in seconds would end elsewhere on each machine and in each run. So whatever goes through
many things says how many they are: the interpreter its expressions, a search in syntax or in the
graph of values what it has found. Beyond the budget `spend` raises, and whoever has set the budget
says what is missing.

What is found out of a piece of syntax alone is remembered with it, and may have been asked for by
the audit of another file before. It costs nothing, so that the same file always ends at the same
step.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class ExhaustedError(Exception):
    """There is more work than the budget allows."""


class Budget:
    """Steps that are left."""

    __slots__ = ("left",)

    def __init__(self, steps: int):
        self.left: int = steps


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def spend(steps: int = 1) -> None:
    """Count some steps.

    Raises:
        ExhaustedError: These are more than are left.
    """
    budget = _current.get()
    if budget is not None:
        budget.left -= steps
        if budget.left < 0:
            raise ExhaustedError


@contextmanager
def budget_of(steps: int) -> Generator[Budget]:
    """At most so many steps, and at most as many as are left of a budget around this one."""
    outer = _current.get()
    allowed = steps if outer is None else max(0, min(steps, outer.left))
    budget = Budget(allowed)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= allowed - budget.left


@contextmanager
def uncounted() -> Generator[None]:
    """Work that is done once, whoever asks for it first."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
