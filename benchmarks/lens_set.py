"""What it costs to set a leaf ten levels deep through a lens, next to nested replaces by hand."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from verax.state import dataclass, lens

from .timing import Claim, Effort, Outcome, race

DEPTH = 10


@dataclass
class Node:
    one: Any
    other: Any
    inner: Any


def by_hand(node: Any, value: Any, depth: int = DEPTH) -> Any:
    return value if depth == 0 else replace(node, inner=by_hand(node.inner, value, depth - 1))


def innermost(state: Any) -> Any:
    return state.inner.inner.inner.inner.inner.inner.inner.inner.inner.inner


def run(effort: Effort) -> Iterator[Outcome]:
    state: Any = 1.0
    for _ in range(DEPTH):
        state = Node(2.0, 3.0, state)
    where = lens(innermost)
    contestants: dict[str, Callable[[], Any]] = {
        "replace by hand": lambda: by_hand(state, 5.0),
        "verax": lambda: where.set(state, 5.0),
    }
    if importlib.util.find_spec("equinox") is not None:
        import equinox

        contestants["equinox.tree_at"] = lambda: equinox.tree_at(innermost, state, 5.0)
    claims = (Claim("verax", "replace by hand", 4.0),)
    yield race("ten levels deep", contestants, effort, claims=claims)
