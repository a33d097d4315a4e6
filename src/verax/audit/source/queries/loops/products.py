"""Maps around each other that go through all pairs of what they map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import KeyUse
from ...frame import Region
from .maps import applied_maps, mapped_axes

if TYPE_CHECKING:
    from ...facts import SourceFacts


def meet_every_key(facts: SourceFacts, use: KeyUse, region: Region) -> bool:
    """Whether the lanes of a map share a key since another map, around it, goes through the keys.

    Candidates that are judged by the same random numbers: what the inner map goes through is the
    same in all lanes of the outer one, and the other way round.
    """
    around = {it for it in use.key.node.varies if it.kind == "vmap" and it is not region}
    if not around:
        return False
    for event in applied_maps(facts):
        if event.region is region:
            mapped = [leaf.node.varies for leaf, _, _ in mapped_axes(event)]
            return bool(mapped) and all(around.isdisjoint(it) for it in mapped)
    return False
