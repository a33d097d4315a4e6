"""How a value is written in a report: its type, its axes, its range, and what the user calls it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..report import Tensor
from .facts import Facts
from .program import Step, Value


def tensor_of(facts: Facts, value: Value) -> Tensor:
    """What is known of a value, for the report."""
    names = axes_of(facts, value)
    low, high = bounds_of(facts, value)
    return Tensor(
        dtype=str(value.dtype),
        shape=value.shape,
        axes=names if any(names) else (),
        weak=bool(getattr(value.aval, "weak_type", False)),
        low=low,
        high=high,
    )


def axes_of(facts: Facts, value: Value) -> tuple[str | None, ...]:
    """The name of each dimension, `None` where it has none."""
    domain: Any = getattr(facts, "axes", None)
    rank = len(value.shape)
    if domain is None:
        return (None,) * rank
    names = tuple(domain.names(value))
    return names if len(names) == rank else (None,) * rank


def bounds_of(facts: Facts, value: Value) -> tuple[float | int | None, float | int | None]:
    """The least and greatest that a value can be; `None` where nothing is known."""
    domain: Any = getattr(facts, "ranges", None)
    if domain is None:
        return None, None
    found: Any = domain[value]
    if found is None:
        return None, None
    low, high = _finite(found.low), _finite(found.high)
    # That an int32 is one goes without saying; that pixels are 0..255 does not.
    widest = 2**31 - 1
    return (
        None if low is not None and low <= -widest else low,
        None if high is not None and high >= widest else high,
    )


def _finite(bound: Any) -> float | int | None:
    if bound is None or not math.isfinite(bound):
        return None
    return int(bound) if float(bound).is_integer() and abs(bound) < 2**53 else float(bound)


def name_of(facts: Facts, value: Value) -> str:
    """What the user calls a value, or a phrase that says which one it is."""
    name = assigned_name(facts, value)
    if name:
        return name
    producer = value.producer
    place = producer.place if producer is not None else None
    kind = str(tensor_of(facts, value))
    return f"the {kind} of line {place.line}" if place is not None else f"a {kind}"


def assigned_name(facts: Facts, value: Value) -> str:
    """The name of an input, or the one variable that the producing line assigns; or empty.

    A line that assigns several names, or makes several values that are used later, does not say
    which of them is which.
    """
    if value.name:
        return value.name
    step = value.producer
    if step is None or step.place is None:
        return ""
    statement = facts.sources.statement(step.place)
    if statement is None or len(statement.targets) != 1 or not leaves_line(facts, value, step):
        return ""
    return statement.targets[0]


def leaves_line(facts: Facts, value: Value, step: Step) -> bool:
    """Whether a value is used beyond the line that makes it, or is the last that the line makes."""
    line = _line(facts, step)
    if not value.consumers:
        return True
    return any(_line(facts, consumer) != line for consumer in value.consumers)


def _line(facts: Facts, step: Step) -> object:
    if step.place is None:
        return step
    statement = facts.sources.statement(step.place)
    return (step.place.file, statement.line if statement else step.place.line)


def listed(names: Iterable[str], most: int = 4) -> str:
    """Names as a phrase: `a`, `b` and 3 more."""
    unique = list(dict.fromkeys(names))
    if len(unique) > most + 1:
        return f"{', '.join(unique[:most])} and {len(unique) - most} more"
    if len(unique) > 1:
        return f"{', '.join(unique[:-1])} and {unique[-1]}"
    return unique[0] if unique else ""


def axis_phrase(facts: Facts, value: Value, axes: Iterable[int]) -> str:
    """Dimensions of a value in words: their names, or their numbers and sizes."""
    names = axes_of(facts, value)
    rank = len(value.shape)
    parts = [
        names[axis] or f"axis {axis} (size {value.shape[axis]})"
        for axis in sorted(int(it) % rank for it in axes if rank)
    ]
    return listed(parts)
