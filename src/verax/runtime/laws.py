"""How the values of an assertion combine when it runs more than once.

An assertion in a loop, or on many devices, comes out as one. Its predicate says whether all
runs passed. The values of its message come from the first run that failed; what a repair needs
may instead be the largest value over all failures, so that a single repair is enough.

| earlier | later  | `FIRST` | `LARGEST`               |
|---------|--------|---------|-------------------------|
| passed  | passed | later   | later                   |
| passed  | failed | later   | later                   |
| failed  | passed | earlier | earlier                 |
| failed  | failed | earlier | elementwise maximum     |
"""

from __future__ import annotations

import enum
from typing import Any

import jax
import jax.numpy as jnp

from verax.channel import Fold, Visit


class Law(enum.Enum):
    """Which values to keep of several failures."""

    FIRST = "first"
    LARGEST = "largest"


FIRST = Law.FIRST
LARGEST = Law.LARGEST


def combine(earlier: Visit, later: Visit) -> Visit:
    """Merge two runs of one assertion, lane by lane, by the table above."""
    lanes = later.path.ndim - 1
    old, new = earlier.payload, later.payload
    old_passed, new_passed = passed(old, lanes), passed(new, lanes)

    def first(old: Any, new: Any) -> Any:
        return jnp.where(_over(old_passed, new), new, old)

    def largest(old: Any, new: Any) -> Any:
        both = jnp.where(_over(new_passed, new), old, jnp.maximum(old, new))
        return jnp.where(_over(old_passed, new), new, both)

    payload = {
        "predicate": old["predicate"] & new["predicate"],
        "first": jax.tree.map(first, old["first"], new["first"]),
        "largest": jax.tree.map(largest, old["largest"], new["largest"]),
    }
    return Visit(payload, first(earlier.path, later.path))


def neutral(shapes: Any) -> Any:
    """The payload of an assertion that did not run: it passes."""
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return {**zeros, "predicate": jnp.ones(shapes["predicate"].shape, bool)}


def passed(payload: Any, lanes: int) -> Any:
    """Whether an assertion passed, for each lane."""
    predicate = payload["predicate"]
    return predicate.all(axis=tuple(range(lanes, predicate.ndim)))


def _over(per_lane: Any, leaf: Any) -> Any:
    """A value for each lane, in a shape that broadcasts against a leaf."""
    return per_lane.reshape(per_lane.shape + (1,) * (leaf.ndim - per_lane.ndim))


IN_LOOPS = Fold(combine, neutral)
