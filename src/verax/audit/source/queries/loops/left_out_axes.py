"""Collectives inside of several named maps that go over some of their axes, and never over one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Fact
from ...frame import Region
from ...remember import each

if TYPE_CHECKING:
    from ...facts import SourceFacts

_UNITING = frozenset("psum pmean pmax pmin".split())


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A collective, and a map around it that has a name for nothing."""

    collective: Fact
    region: Region
    name: str


def left_out_axes(facts: SourceFacts) -> Iterator[LeftOut]:
    """Reductions over an inner map, in one with a name that nothing else in the program mentions.

    A map is given a name only for those who go over it. Where nobody does, and others go over a map
    inside of it, they stop short of it.
    """
    collectives = [it for it in facts.events(Fact) if it.kind == "collective"]
    if any(it.data["axes"] is None for it in collectives):
        return
    used = {name for it in collectives for name in it.data["axes"]}
    for fact in collectives:
        over: frozenset[Region] = fact.data["over"]
        if fact.data["name"] not in _UNITING or not over or fact.frame.region is None:
            continue
        around = list(fact.frame.region.chain())
        outside = around[max(around.index(it) for it in over) + 1 :]
        for region in outside:
            name = region.axis_name
            is_map = region.kind in ("vmap", "pmap") and isinstance(name, str)
            if is_map and name not in used and _is_written_once(facts.module.syntax, name):
                yield LeftOut(fact, region, name)


def _is_written_once(module: ast.AST, name: str) -> bool:
    written = [it for it in each(module, ast.Constant) if it.value == name]
    return len(written) == 1
