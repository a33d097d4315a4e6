"""Arrays that are brought into the same random order, by one key for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import Call, KeyUse
from ..frame import Region
from ..graph import Node
from ..values import Data
from .keys import counts

if TYPE_CHECKING:
    from ..facts import SourceFacts

REORDERING = frozenset(("jax.random.permutation", "jax.random.shuffle", "jax.random.choice"))


def moves_along(facts: SourceFacts, before: KeyUse, use: KeyUse) -> bool:
    """Whether two uses of a key reorder two arrays alike."""
    if use.by not in REORDERING or before.by != use.by:
        return False
    one, other = _reordered(facts, before), _reordered(facts, use)
    return one is not None and other is not None and one is not other


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
