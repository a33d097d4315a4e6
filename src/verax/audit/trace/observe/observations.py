"""What can be seen, as plain facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...finding import Place


@dataclass(frozen=True)
class Observation:
    """Something that the user's code did while it was traced.

    `kind` says which of the classes below `data` is. `frames` are the user's, innermost first.
    """

    kind: str
    frames: tuple[Place, ...]
    data: Any

    @property
    def place(self) -> Place | None:
        """Where it happened."""
        return self.frames[0] if self.frames else None


@dataclass(frozen=True)
class OpaqueLeaf:
    """A leaf of a tree that is no array but holds some, since its class is not registered.

    `is_handed_in` says that the function that takes the tree apart was given it.
    """

    cls: type
    path: str
    fields: tuple[str, ...]
    function: str
    class_place: Place
    is_dataclass: bool
    is_handed_in: bool


@dataclass(frozen=True)
class LeafOrder:
    """A tree that was taken apart into its leaves: the last key on the way to each, in order."""

    function: str
    keys: tuple[str, ...]
    root: str


@dataclass(frozen=True)
class MappedToTuples:
    """A `tree.map` whose function returned tuples of `length`, over a tree with `children`."""

    length: int
    root: str
    children: int


@dataclass(frozen=True)
class StoppedAbove:
    """An `is_leaf` that holds for what a map has made, and for a part of the tree around it too.

    `made` and `around` are the names of their classes.
    """

    made: str
    around: str


@dataclass(frozen=True)
class RoundTrip:
    """A registered class that does not come back as it was: `problem` in words."""

    cls: type
    problem: str
    class_place: Place | None


@dataclass(frozen=True)
class CarryTypes:
    """What a scan that failed was given as carry, and what its body handed on, leaf by leaf."""

    given: tuple[tuple[str, Any], ...]
    handed_on: tuple[tuple[str, Any], ...]
    given_structure: str
    handed_on_structure: str
