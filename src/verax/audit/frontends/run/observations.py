"""What runs have shown, as it is kept: which functions were called with what, and the reports.

Two of these are united by `united`. It makes no difference in which order, how they are grouped, or
how often one of them is given: functions, their signatures and the runs are sets, and a range only
grows.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...render._places import with_short_files
from ...report import Report, findings_only

# The kind of those functions that were not called by the program's own Python, but while JAX traced
# what was: their parameters are what the code in them sees, below all transformations.
TRACED = "traced"


@dataclass(frozen=True, order=True)
class Leaf:
    """A part of an argument, by its path (`params['w']`): an array's type, or a value as text."""

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    weak: bool = False
    is_key: bool = False
    value: str = ""


Signature = tuple[Leaf, ...]


class Range(NamedTuple):
    """The smallest and the largest value that an array has held."""

    low: float
    high: float


@dataclass(frozen=True, order=True)
class Function:
    """A function as it was when it was seen.

    `kind` is the transformation, or `TRACED`. `digest` identifies the text of its definition, and
    is empty where that could not be had. A relative file is one below the folder of the store.
    """

    kind: str
    name: str
    file: str
    line: int
    digest: str = ""


# By signature, the ranges of those leaves of which one is known.
Signatures = Mapping[Signature, Mapping[str, Range]]


@dataclass(frozen=True)
class Run:
    """One run: when it was over, in UTC, and what there was to report of it."""

    id: str
    time: str
    report: Report


@dataclass(frozen=True)
class Observations:
    """What some runs have shown; `runs` are by their ids."""

    runs: Mapping[str, Run] = field(default_factory=dict[str, Run])
    functions: Mapping[Function, Signatures] = field(default_factory=dict[Function, Signatures])

    def reports(self) -> list[Report]:
        """The reports of all runs, the earliest first."""
        return [it.report for it in sorted(self.runs.values(), key=lambda it: (it.time, it.id))]


def of_report(report: Report) -> Observations:
    """A run of which only the report is kept, with files relative to the working directory."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    run = Run(secrets.token_hex(8), now, with_short_files(findings_only(report)))
    return Observations({run.id: run})


def united(parts: Iterable[Observations]) -> Observations:
    """All that several have seen."""
    runs: dict[str, Run] = {}
    functions: dict[Function, dict[Signature, dict[str, Range]]] = {}
    for part in parts:
        for id, run in part.runs.items():
            known = runs.get(id, run)
            runs[id] = min(known, run, key=_content)  # the same, unless somebody has changed one
        for function, signatures in part.functions.items():
            own = functions.setdefault(function, {})
            for signature, ranges in signatures.items():
                _widen(own.setdefault(signature, {}), ranges)
    return Observations(dict(sorted(runs.items())), dict(sorted(functions.items())))


def _content(run: Run) -> tuple[str, str]:
    return run.time, repr(run.report)


def _widen(known: dict[str, Range], ranges: Mapping[str, Range]) -> None:
    for name, (low, high) in ranges.items():
        before = known.get(name, Range(low, high))
        known[name] = Range(min(before.low, low), max(before.high, high))


class Array(NamedTuple):
    """What all signatures agree on: a dtype, if there is one, and the sizes that never differ."""

    dtype: str
    shape: tuple[int | None, ...]


def agreed(signatures: Iterable[Signature]) -> dict[str, Array]:
    """The parameters that are an array of one rank in all signatures, with what is known of it."""
    found: dict[str, Array] | None = None
    for signature in signatures:
        own = {it.name: Array(it.dtype, it.shape) for it in signature if it.dtype}
        found = own if found is None else _common(found, own)
    return found or {}


def _common(one: Mapping[str, Array], other: Mapping[str, Array]) -> dict[str, Array]:
    both = {name: (one[name], other[name]) for name in one if name in other}
    return {
        name: Array(
            a.dtype if a.dtype == b.dtype else "",
            tuple(m if m == n else None for m, n in zip(a.shape, b.shape, strict=True)),
        )
        for name, (a, b) in both.items()
        if len(a.shape) == len(b.shape)
    }
