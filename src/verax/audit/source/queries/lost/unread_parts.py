"""Parts of a record that nothing reads, while the part that they were made from is read on.

`{"signal": x, "flat": x - trend(x)}`, of which everybody takes `"signal"`. A part may be there for
whoever calls, so one is told only if its name is nowhere else in the file, and if the call from
outside that made it returns nothing which depends on it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...graph import Node
from ...remember import walked
from ...values import Mapping, Value
from ..names import named_parts
from .dropped import Dropped, live_in
from .elementwise import versions_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


def unread_parts(facts: SourceFacts) -> Iterator[Dropped]:
    """All such parts of dicts that functions of the file return, where they are called."""
    names: Counter[str] | None = None
    told: set[tuple[str, Place]] = set()
    for frame in facts.own_frames:
        for _, value in frame.returns:
            if not isinstance(value, Mapping) or len(value.items) < 2:
                continue
            if names is None:
                names = _names_in(facts.module.syntax)
            for found in _of_record(facts, frame, value, names):
                if (found.name, found.place) not in told:
                    told.add((found.name, found.place))
                    yield found


def _names_in(module: ast.Module) -> Counter[str]:
    """How often each key or field is written."""
    keys = (it.value for it in walked(module) if isinstance(it, ast.Constant))
    fields = (it.attr for it in walked(module) if isinstance(it, ast.Attribute))
    return Counter((*(it for it in keys if isinstance(it, str)), *fields))


def _of_record(
    facts: SourceFacts, frame: Frame, record: Value, names: Counter[str]
) -> Iterator[Dropped]:
    parts = named_parts(record)
    once = [(name, node) for name, node in parts if names[name] == 1 and not name.startswith("_")]
    around = [it for it in frame.callers() if it is not frame and it.returns]
    live = live_in(around[-1]) if once and around else set[Node]()
    for name, node in once if live else ():
        if node in live or node.place is None or node.frame is not frame:
            continue
        others = {part: other for other, part in parts if part is not node}
        for source, is_clear in versions_of(node):
            used = _used_at(facts, frame, live, source) if source in others and is_clear else None
            if used is not None:
                yield Dropped(name, node.place, others[source], used_at=used)
                break


def _used_at(facts: SourceFacts, frame: Frame, live: set[Node], source: Node) -> Place | None:
    """Where another function first computes with a part, of what matters."""
    order = {it: number for number, it in enumerate(facts.frames)}
    uses = [
        (order[node.frame], node)
        for node in live
        if source in node.inputs and node.frame in order and node.frame is not frame
    ]
    computed = [it for it in uses if it[1].operation not in _HANDING and it[1].place is not None]
    return min(computed, key=lambda it: (it[0], _line(it[1])))[1].place if computed else None


def _line(node: Node) -> int:
    return node.place.line if node.place is not None else 0


_HANDING = frozenset("item field static join lane stack carry turn primal slice".split())
