"""From a getter to the places it points at, and from new values for them to a new state."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from ._post_init import no_post_init
from ._recording import Recorder
from ._replace import Replace, replace_attributes, replace_entries_of_array, replace_fields

Getter = Callable[[Any], Any]


_POINT = (
    "A lens can set what its getter points at: fields, items, and tuples, lists or dicts of them. "
    "Let the getter point and compute on what it gives, as in lens.apply(state, fn), "
    "or write the setter by hand with LambdaLens(get, set)."
)


class PathError(Exception):
    """A getter that points nowhere, or values that do not fit where it points."""


class Places(NamedTuple):
    """Where a getter points in `state`, and how it arranged what it found (None: a single one)."""

    state: Any
    recorders: Sequence[Recorder]
    structure: Any


def record(getter: Getter, state: Any) -> Places:
    """The places in `state` that `getter` points at.

    Raises:
        PathError: if the getter works, but returns something that is not a part of the state.
    """
    real = getter(state)
    try:
        with no_post_init():  # a getter may build a checked class, here out of recorders
            recorded = getter(Recorder(state))
    except Exception as error:
        # On the real state it went well: it does something that only real values can do.
        raise _computed(real) from error
    if type(recorded) is Recorder:
        _check_same_place("", recorded, real)
        return Places(state, [recorded], None)
    found, structure = jax.tree_util.tree_flatten_with_path(
        recorded, is_leaf=lambda node: type(node) is Recorder
    )
    try:
        reals = structure.flatten_up_to(real)
    except ValueError as error:
        raise _computed(real) from error
    for (path, place), real_part in zip(found, reals, strict=True):
        _check_same_place(jax.tree_util.keystr(path), place, real_part)
    return Places(state, [place for _, place in found], structure)


def write(places: Places, values: Any) -> Any:
    """A new state with `values` at `places`; everything else is the old state's.

    Raises:
        PathError: if the values are arranged otherwise than the places, or two places overlap.
    """
    if places.structure is None:
        return _write_one(places.recorders[0], values)
    try:
        parts = places.structure.flatten_up_to(values)
    except ValueError as error:
        raise PathError(
            f"the new value, {_described(values)}, is arranged otherwise than what the getter "
            f"returns, {places.structure} ({error}). Give one new part for each old one."
        ) from error
    writes = [(_steps(one), part) for one, part in zip(places.recorders, parts, strict=True)]
    return _write_all(places.state, writes)


def _write_one(place: Recorder, value: Any) -> Any:
    while (parent := place.verax_parent) is not None:
        value = place.verax_replace(parent.verax_value, [(place.verax_key, value)])
        place = parent
    return value


def _write_all(old: Any, writes: list[tuple[list[Recorder], Any]]) -> Any:
    # What changes in one container is collected and exchanged together, so that a class that
    # checks its fields against each other never sees half of a change.
    if any(not steps for steps, _ in writes):
        if len(writes) > 1:
            raise PathError(
                f"two of the places overlap: one holds the other, or they are the same "
                f"({_described(old)}). Point at each part of the state once."
            )
        return writes[0][1]
    by_step: dict[Any, list[tuple[list[Recorder], Any]]] = {}
    for steps, value in writes:
        by_step.setdefault(_identity(steps[0]), []).append((steps, value))
    changes: dict[Replace, list[tuple[Any, Any]]] = {}
    for group in by_step.values():
        step = group[0][0][0]
        new = _write_all(step.verax_value, [(steps[1:], value) for steps, value in group])
        changes.setdefault(step.verax_replace, []).append((step.verax_key, new))
    for replace, pairs in changes.items():
        old = replace(old, pairs)
    return old


def _steps(place: Recorder) -> list[Recorder]:
    steps: list[Recorder] = []
    while place.verax_parent is not None:
        steps.append(place)
        place = place.verax_parent
    return steps[::-1]


def _identity(step: Recorder) -> Any:
    """Equal for two recordings of one step; an index that cannot be hashed equals no other."""
    identity = step.verax_replace, step.verax_key
    try:
        hash(identity)
    except TypeError:
        return id(step)
    return identity


def _check_same_place(where: str, recorded: Any, real: Any) -> None:
    """Refuse what is no place, and a place that holds something else than the getter returns.

    The second happens when a function takes a recorder for one opaque value: `jax.tree.leaves`
    gives the recorder itself where it would give the leaves of what stands behind it.
    """
    if type(recorded) is Recorder:
        value = recorded.verax_value
        if value is real:
            return
        # Some containers make a new object at every reading: arrays, and mappings that wrap.
        if _same_form(value, real) and _read(recorded) is not value:
            return
    result = f"its result at {where}" if where else "its result"
    raise PathError(f"{result}, {_described(real)}, is not a part of the state. {_POINT}")


def _computed(real: Any) -> PathError:
    return PathError(f"its result, {_described(real)}, is computed. {_POINT}")


def _same_form(one: Any, other: Any) -> bool:
    return type(one) is type(other) and getattr(one, "shape", ()) == getattr(other, "shape", ())


def _read(place: Recorder) -> Any:
    if place.verax_parent is None:
        return place.verax_value
    container, key = place.verax_parent.verax_value, place.verax_key
    if place.verax_replace in (replace_fields, replace_attributes):
        return getattr(container, key)
    if place.verax_replace is replace_entries_of_array:
        return functools.reduce(operator.getitem, key, container)
    return container[key]


def _described(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array {value.dtype}{list(value.shape)}"
    return f"the {type(value).__name__} {value!r:.60}"
