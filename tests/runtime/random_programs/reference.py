"""Programs as plain Python runs them: lane by lane, iteration by iteration, without JAX.

Lanes of a `vmap` go through straight code together, and everyone knows of everyone's failures.
Through loops and branches each lane goes alone: there, it knows of what all had done before,
and of what it did itself.
"""

from __future__ import annotations

import copy
import itertools
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import grammar as g
from .numbers import Number, exact, infinitesimal

_OPERATORS = {"<": operator.lt, ">=": operator.ge, "!=": operator.ne}


@dataclass
class Lane:
    """Where one lane stands: its registers, its place in vmaps, its iterations of loops."""

    a: Number
    b: Number
    e: Number
    place: tuple[int, ...] = ()
    path: tuple[int, ...] = ()

    def __getitem__(self, name: g.Name) -> Number:
        return getattr(self, name)

    def __setitem__(self, name: g.Name, value: Number) -> None:
        setattr(self, name, value)

    def move(self, target: g.Register, by: Number | int) -> None:
        self[target] = _wrapped(self[target] + by)

    @property
    def registers(self) -> tuple[Number, Number]:
        return self.a, self.b


@dataclass
class Knowledge:
    """Whether all assertions so far have passed."""

    all_passed: bool = True


@dataclass
class Seen:
    """What one assertion met in one lane. Values and path are those of the first failure."""

    predicate: tuple[bool, ...]
    values: dict[str, Any] | None = None
    path: tuple[int, ...] = ()
    needed: dict[str, Any] | None = None


@dataclass
class Outcome:
    """What a run leaves behind: the registers, and for each site and lane what was seen."""

    lane: Lane
    derivatives: tuple[int, int] | None
    seen: list[dict[tuple[int, ...], Seen]]


def run(program: g.Program, a: int, b: int, *, bare: bool = False, derive: bool = False) -> Outcome:
    """Run a program; if `bare`, then as if nobody collected its assertions."""
    runner = _Runner(len(list(g.places(program.block))), bare)
    lane = Lane(exact(a), exact(b), exact(1))
    if derive:
        lane.a += infinitesimal(-1)
        lane.b += infinitesimal(-2)
    runner.block(program.block, [lane], Knowledge())
    total = _weighted(lane)
    slopes = (total.derivative(-1, -2).value, total.derivative(-2, -1).value) if derive else None
    return Outcome(lane, slopes, runner.seen)


def _weighted(lane: Lane) -> Number:
    one, two = g.WEIGHTS
    return lane.a * one + lane.b * two


def _wrapped(x: Number) -> Number:
    return x.modulo(g.MODULUS)


def _weighted_sum(values: list[Number]) -> Number:
    total = exact(0)
    for weight, value in enumerate(values, 1):
        total += value * weight
    return total


def _holds(test: g.Test, lane: Lane) -> bool:
    return _OPERATORS[test.operator](lane[test.name].value, test.constant)


def _evaluated(expression: g.Expression, lane: Lane) -> Number:
    match expression:
        case g.Add(x, y):
            return _wrapped(lane[x] + lane[y])
        case g.Multiply(x, y):
            return _wrapped(lane[x] * lane[y])
        case g.Scale(x, factor, summand):
            return _wrapped(lane[x] * factor + summand)
        case g.Choose(test, x, y):
            return lane[x if _holds(test, lane) else y]


@dataclass
class _Runner:
    sites: int
    bare: bool
    seen: list[dict[tuple[int, ...], Seen]] = field(init=False)
    fresh: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.seen = [{} for _ in range(self.sites)]

    def block(self, block: g.Block, lanes: list[Lane], known: Knowledge) -> None:
        for statement in block:
            getattr(self, f"_{type(statement).__name__.lower()}")(statement, lanes, known)

    def _assign(self, s: g.Assign, lanes: list[Lane], known: Knowledge) -> None:
        for lane in lanes:
            lane[s.target] = _evaluated(s.expression, lane)

    def _assert(self, s: g.Assert, lanes: list[Lane], known: Knowledge) -> None:
        for lane in lanes:
            predicate = tuple(_holds(test, lane) for test in s.tests)
            earlier = self.seen[s.site].setdefault(lane.place, Seen((True,) * len(predicate)))
            earlier.predicate = tuple(map(operator.and_, earlier.predicate, predicate))
            if all(predicate):
                continue
            known.all_passed = False
            a, b, e = lane.a.value, lane.b.value, lane.e.value
            values = {"a": a, "b": b, "e": e, "int": a, "pair": (a, b), "flag": b < 4}
            needed = {"size": a, "counts": (b, a)}
            if earlier.values is None or earlier.needed is None:
                earlier.values, earlier.path, earlier.needed = values, lane.path, needed
            elif s.law == "largest":
                earlier.needed = {k: np.maximum(v, needed[k]) for k, v in earlier.needed.items()}

    def _ask(self, s: g.Ask, lanes: list[Lane], known: Knowledge) -> None:
        if not known.all_passed and not self.bare:
            for lane in lanes:
                lane[s.target] = _wrapped(lane[s.target] + 1)

    def _iterate(self, block: g.Block, lane: Lane, known: Knowledge, index: int, e: Number) -> None:
        """One iteration of a loop."""
        before = lane.e, lane.path
        lane.e, lane.path = e, (*lane.path, index)
        self.block(block, [lane], known)
        lane.e, lane.path = before

    def _alone(self, lanes: list[Lane], known: Knowledge, one: Any) -> None:
        """Let each lane go its own way, then share what happened."""
        own = [Knowledge(known.all_passed) for _ in lanes]
        for lane, knows in zip(lanes, own, strict=True):
            one(lane, knows)
        known.all_passed = all(knows.all_passed for knows in own)

    def _scan(self, s: g.Scan, lanes: list[Lane], known: Knowledge) -> None:
        def loop(lane: Lane, own: Knowledge) -> None:
            elements = [_wrapped(lane[s.shift] + element) for element in s.elements]
            stacked = [exact(0) for _ in elements]
            order = range(len(elements))
            for index in reversed(order) if s.reverse else order:
                lane.move(s.moved, elements[index])
                self._iterate(s.body, lane, own, index, elements[index])
                stacked[index] = lane[s.moved]
            lane.a = _wrapped(lane.a + _weighted_sum(stacked))

        self._alone(lanes, known, loop)

    def _fori(self, s: g.Fori, lanes: list[Lane], known: Knowledge) -> None:
        def loop(lane: Lane, own: Knowledge) -> None:
            extra = lane[s.extra].value % 3 if s.extra else 0
            for index in range(s.count + extra):
                lane.move(s.moved, g.STRIDE)
                self._iterate(s.body, lane, own, index, exact(s.lower + index))

        self._alone(lanes, known, loop)

    def _while(self, s: g.While, lanes: list[Lane], known: Knowledge) -> None:
        def loop(lane: Lane, own: Knowledge) -> None:
            for index in itertools.count():
                tried = copy.copy(lane)
                self._iterate(s.condition, tried, own, index, lane.e)
                if not (index < s.limit and _holds(s.test, tried)):
                    return
                lane.move(s.moved, g.STRIDE)
                self._iterate(s.body, lane, own, index, lane.e)

        self._alone(lanes, known, loop)

    def _cond(self, s: g.Cond, lanes: list[Lane], known: Knowledge) -> None:
        def one(lane: Lane, own: Knowledge) -> None:
            self.block(s.then if _holds(s.test, lane) else s.otherwise, [lane], own)

        self._alone(lanes, known, one)

    def _switch(self, s: g.Switch, lanes: list[Lane], known: Knowledge) -> None:
        def one(lane: Lane, own: Knowledge) -> None:
            self.block(s.branches[min(lane[s.index].value, len(s.branches) - 1)], [lane], own)

        self._alone(lanes, known, one)

    def _split(self, s: g.Vmap | g.Map, lane: Lane, number: int) -> Lane:
        new, offset = copy.copy(lane), exact(s.offsets[number])
        new.move(s.target, offset)
        new.e = offset
        return new

    def _join(self, lane: Lane, parts: list[Lane]) -> None:
        lane.a = _wrapped(_weighted_sum([part.a for part in parts]))
        lane.b = _wrapped(_weighted_sum([part.b for part in parts]))

    def _vmap(self, s: g.Vmap, lanes: list[Lane], known: Knowledge) -> None:
        numbers = range(len(s.offsets))
        groups = [[self._split(s, lane, number) for number in numbers] for lane in lanes]
        for group in groups:
            for number, lane in enumerate(group):
                lane.place = (*lane.place, number)
        self.block(s.body, [lane for group in groups for lane in group], known)
        for lane, group in zip(lanes, groups, strict=True):
            self._join(lane, group)

    def _map(self, s: g.Map, lanes: list[Lane], known: Knowledge) -> None:
        def loop(lane: Lane, own: Knowledge) -> None:
            parts = [self._split(s, lane, number) for number in range(len(s.offsets))]
            for number, part in enumerate(parts):
                self._iterate(s.body, part, own, number, part.e)
            self._join(lane, parts)

        self._alone(lanes, known, loop)

    def _derive(self, s: g.Derive, lanes: list[Lane], known: Knowledge) -> None:
        inner = [copy.copy(lane) for lane in lanes]
        da, db = next(self.fresh), next(self.fresh)
        forward = s.way in ("jvp", "linearize")
        for lane in inner:
            lane.a += infinitesimal(da, g.WEIGHTS[0] if forward else 1)
            lane.b += infinitesimal(da, g.WEIGHTS[1]) if forward else infinitesimal(db)
        self.block(s.body, inner, known)
        for lane, after in zip(lanes, inner, strict=True):
            total = _weighted(after)
            by_a = total.derivative(da, db)
            by_b = by_a if forward else total.derivative(db, da)
            lane.a = _wrapped(total.without(da, db) + by_a)
            lane.b = _wrapped(lane.b + by_b)

    def _wrap(self, s: g.Wrap, lanes: list[Lane], known: Knowledge) -> None:
        self.block(s.body, lanes, known)

    def _custom(self, s: g.Custom, lanes: list[Lane], known: Knowledge) -> None:
        inner = [copy.copy(lane) for lane in lanes]
        for lane in inner:
            lane.a, lane.b, lane.e = lane.a.constant(), lane.b.constant(), lane.e.constant()
        self.block(s.body, inner, known)
        for lane, after in zip(lanes, inner, strict=True):
            lane.a = after.a.with_derivatives_of(lane.a, g.CUSTOM_FACTORS[0])
            lane.b = after.b.with_derivatives_of(lane.b, g.CUSTOM_FACTORS[1])

    def _drop(self, s: g.Drop, lanes: list[Lane], known: Knowledge) -> None:
        self.block(s.body, [copy.copy(lane) for lane in lanes], known)
