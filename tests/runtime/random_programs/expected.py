"""What the assertions of a program must look like, and the comparison with what they are."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import grammar as g
from .in_jax import what_was_needed
from .reference import Outcome, Seen

_DTYPES = {"a": "f4", "b": "f4", "e": "f4", "int": "i4", "pair": "f4", "flag": "?"}
_SHAPES = {"pair": (2,), "counts": (2,)}
_NEEDED = {"size": "f4", "counts": "i4"}


@dataclass(frozen=True)
class Expected:
    """One assertion as it must come out, with the axes of its lanes in front."""

    place: g.Place
    lanes: tuple[int, ...]
    predicate: np.ndarray
    failed: np.ndarray
    values: dict[str, np.ndarray]
    path: np.ndarray
    needed: dict[str, np.ndarray] | None

    def text(self) -> str:
        """The first line of the message, for the first lane that failed."""
        lane = np.unravel_index(int(self.failed.argmax()), self.failed.shape)
        shown = [f"{name}={_shown(name, value[lane])}" for name, value in self.values.items()]
        return f"#{self.place.assertion.site}: {' '.join(shown)}"

    def needed_overall(self) -> dict[str, np.ndarray]:
        """What a fix is given: of the first lane that failed, or the largest of all."""
        assert self.needed is not None
        failures = {name: value[self.failed] for name, value in self.needed.items()}
        if self.place.assertion.law == "first":
            return {name: value[0] for name, value in failures.items()}
        return {name: value.max(axis=0) for name, value in failures.items()}


def _shown(name: str, value: np.ndarray) -> str:
    if name == "pair":
        return f"[{value[0]:.0f}. {value[1]:.0f}.]"
    if name in ("int", "flag"):
        return str(value)
    return f"{value:.2f}" if name == "e" else f"{value:.1f}"


def expectations(program: g.Program, outcomes: Sequence[Outcome]) -> list[Expected]:
    """The assertions of several runs that were mapped over, along one more leading axis."""
    singles = [expectations_of_one(program, outcome) for outcome in outcomes]

    def stacked(parts: tuple[Expected, ...]) -> Expected:
        def stack(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            if isinstance(values[0], dict):
                return {key: np.stack([value[key] for value in values]) for key in values[0]}
            return None if values[0] is None else np.stack(values)

        names = ("predicate", "failed", "values", "path", "needed")
        lanes = (len(parts), *parts[0].lanes)
        return Expected(parts[0].place, lanes, *map(stack, names))

    return [stacked(parts) for parts in zip(*singles, strict=True)]


def expectations_of_one(program: g.Program, outcome: Outcome) -> list[Expected]:
    """The assertions of one run, in the order in which they must come out."""
    pairs = zip(g.places(program.block), outcome.seen, strict=True)
    return [_expected(place, seen) for place, seen in pairs]


def _expected(place: g.Place, seen: dict[tuple[int, ...], Seen]) -> Expected:
    """Lanes that never came by have passed."""
    assertion, lanes = place.assertion, place.lanes
    count = len(assertion.tests)
    predicate = np.ones((*lanes, count), bool)
    path = np.zeros((*lanes, place.depth), "i4")
    values = {n: np.zeros((*lanes, *_SHAPES.get(n, ())), _DTYPES[n]) for n in assertion.shown}
    needed = {n: np.zeros((*lanes, *_SHAPES.get(n, ())), kind) for n, kind in _NEEDED.items()}
    for lane, met in seen.items():
        predicate[lane] = met.predicate
        if met.values is None or met.needed is None:
            continue
        path[lane] = met.path
        for name, array in values.items():
            array[lane] = met.values[name]
        for name, array in needed.items():
            array[lane] = met.needed[name]
    failed = ~predicate.all(axis=-1)
    return Expected(
        place,
        lanes,
        predicate[..., 0] if count == 1 else predicate,
        failed,
        values,
        path,
        needed if assertion.law else None,
    )


def check(assertions: Sequence[Any], expected: Sequence[Expected]) -> None:
    """Compare the assertions that came out with those that must."""
    sites = [assertion.static_info for assertion in assertions]
    assert sites == [e.place.assertion.site for e in expected]
    for assertion, wanted in zip(assertions, expected, strict=True):
        _check_arrays(assertion, wanted)
        assert assertion.failed == wanted.failed.any()
        if not assertion.failed:
            continue
        assert str(assertion).splitlines()[0] == wanted.text()
        if wanted.needed is not None:
            assert assertion.fix_fn is what_was_needed
            _, needed = assertion.fix("state")
            _same(needed, wanted.needed_overall(), "fix_args overall")


def _check_arrays(assertion: Any, wanted: Expected) -> None:
    """Compare everything lane by lane.

    An assertion whose values do not depend on a vmap around it has no axis for that vmap. That
    is right if all lanes of the reference agree, so it is compared with each of them.
    """
    shape = np.shape(assertion.predicate)
    rank = wanted.predicate.ndim - len(wanted.lanes)
    problems = []
    for kept in _subsets(range(len(wanted.lanes))):
        lanes = tuple(wanted.lanes[axis] for axis in kept)
        if shape[: len(shape) - rank] != lanes:
            continue
        missing = tuple(axis for axis in range(len(wanted.lanes)) if axis not in kept)
        try:
            _check_lanes(assertion, wanted, missing)
        except AssertionError as problem:
            problems.append(problem)
        else:
            return
    if problems:
        raise problems[0]
    raise AssertionError(f"predicate of shape {shape} for lanes {wanted.lanes}")


def _subsets(axes: range) -> list[tuple[int, ...]]:
    sizes = range(len(axes), -1, -1)
    return [subset for size in sizes for subset in itertools.combinations(axes, size)]


def _check_lanes(assertion: Any, wanted: Expected, missing: tuple[int, ...]) -> None:
    def all_lanes(array: Any) -> np.ndarray:
        array = np.asarray(array)
        rest = array.shape[len(wanted.lanes) - len(missing) :]
        return np.broadcast_to(np.expand_dims(array, missing), (*wanted.lanes, *rest))

    def failures(array: Any) -> np.ndarray:
        return all_lanes(array)[wanted.failed]

    _same(all_lanes(assertion.predicate), wanted.predicate, "predicate")
    _same(
        {name: failures(value) for name, value in assertion.fmt_args.items()},
        {name: value[wanted.failed] for name, value in wanted.values.items()},
        "fmt_args",
    )
    _same(failures(assertion.iteration), wanted.path[wanted.failed], "iteration")
    if wanted.needed is None:
        assert assertion.fix_args is None
    else:
        _same(
            {name: failures(value) for name, value in assertion.fix_args.items()},
            {name: value[wanted.failed] for name, value in wanted.needed.items()},
            "fix_args",
        )


def _same(actual: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, dict):
        assert actual.keys() == wanted.keys(), what
        for name in wanted:
            _same(actual[name], wanted[name], f"{what}[{name!r}]")
        return
    actual = np.asarray(actual)
    assert actual.dtype == wanted.dtype, what
    np.testing.assert_array_equal(actual, wanted, err_msg=what, strict=True)
