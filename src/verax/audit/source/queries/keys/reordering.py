"""Arrays that are brought into the same random order, by one key for all of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...events import Call, KeyUse
from ...frame import Region
from ...graph import Node
from ...values import Data
from ..loops.bodies import calls
from .reuse import counts

if TYPE_CHECKING:
    from ...facts import SourceFacts

REORDERING = frozenset(("jax.random.permutation", "jax.random.shuffle", "jax.random.choice"))


def moves_along(facts: SourceFacts, before: KeyUse, use: KeyUse) -> bool:
    """Whether two uses of a key reorder two arrays alike."""
    if use.by not in REORDERING or before.by != use.by or not _selects_alike(before, use):
        return False
    one, other = _reordered(facts, before), _reordered(facts, use)
    return one is not None and other is not None and one is not other


def _selects_alike(before: KeyUse, use: KeyUse) -> bool:
    """Whether two calls differ in their arrays alone, and no helper is called twice."""
    ways = [[syntax for _, syntax in calls(it)][1:] for it in (before, use)]
    return ways[0] == ways[1] and _options(before.syntax) == _options(use.syntax)


def _options(syntax: ast.AST) -> list[str]:
    """The arguments of a call without the key and the array."""
    if not isinstance(syntax, ast.Call):
        return []
    named = [it for it in syntax.keywords if it.arg not in ("key", "a", "x")]
    return [ast.dump(it) for it in (*syntax.args[2:], *named)]


def _reordered(facts: SourceFacts, use: KeyUse) -> Node | None:
    """The array that is reordered; none where only indices are drawn."""
    for call in facts.events(Call):
        if call.syntax is use.syntax and call.frame is use.frame and len(call.args) > 1:
            value = call.args[1]
            return value.node if isinstance(value, Data) and value.traced is not False else None
    return None


def goes_through_arrays(use: KeyUse, region: Region) -> bool:
    """Whether a loop of Python's reorders one array after the other."""
    return use.by in REORDERING and region.kind == "loop" and not counts(region)
