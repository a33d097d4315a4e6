"""Parts of a record that nothing reads, while what they were made from is read on.

`{"signal": x, "flat": x - trend(x)}`, of which everybody takes `"signal"`; or `Clipped(grads * s,
s)`, of which the caller takes the scale alone, and goes on with the gradients that it had. A part
may be there for whoever calls, so one is told only if its name is nowhere else in the file, and if
the call from outside that made it returns nothing which depends on it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...graph import Node
from ...operations import ACROSS, PARTS
from ...remember import each
from ...values import Data, Instance, Mapping, Sequence, Value
from ..names import named_parts
from ..nodes import position_in
from .dropped import Dropped, live_in
from .elementwise import versions_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


def unread_parts(facts: SourceFacts) -> Iterator[Dropped]:
    """All such parts of records that functions of the file return, where they are called."""
    names: Counter[str] | None = None
    told: set[tuple[str, Place]] = set()
    for frame in facts.own_frames:
        for _, value in frame.returns:
            if not _is_record(value):
                continue
            if names is None:
                names = _names_in(facts.module.syntax)
            for found in _of_record(facts, frame, value, names):
                if (found.name, found.place) not in told:
                    told.add((found.name, found.place))
                    yield found


def _is_record(value: Value) -> bool:
    if isinstance(value, Mapping):
        return len(value.items) > 1
    if isinstance(value, Sequence):
        return value.type is not None and len(value.items or ()) > 1
    return isinstance(value, Instance) and len(value.attributes) > 1


def _names_in(module: ast.Module) -> Counter[str]:
    """How often each key or field is written."""
    keys = (it.value for it in each(module, ast.Constant))
    fields = (it.attr for it in each(module, ast.Attribute))
    return Counter((*(it for it in keys if isinstance(it, str)), *fields))


def _of_record(
    facts: SourceFacts, frame: Frame, record: Value, names: Counter[str]
) -> Iterator[Dropped]:
    parts = named_parts(record)
    # A dict is written with its keys, a class lists its fields elsewhere.
    own = 1 if isinstance(record, Mapping) else 0
    once = [
        (name, node) for name, node in parts if names[name] == own and name[:1] not in ("", "_")
    ]
    around = [it for it in frame.callers() if it is not frame and it.returns]
    live = live_in(around[-1]) if once and around else set[Node]()
    # Of one that nobody takes anything of, nobody says what it is for.
    is_record_read = any(part in live for _, part in parts)
    for name, node in once if live else ():
        if node in live or node.place is None or not _is_made_in(frame, node):
            continue
        others = {part: other for other, part in parts if part is not node}
        given = {it.node: name for name, it in frame.given.items() if isinstance(it, Data)}
        for source, is_clear in versions_of(node) if is_record_read else ():
            if not is_clear:
                continue
            if source in others:
                used = _used_at(facts, frame, live, source)
                instead = others[source]
            else:
                used = _used_on(frame, live, source) if source in given else None
                instead = given.get(source, "")
            if used is not None:
                yield Dropped(name, node.place, instead, used_at=used)
                break


def _is_made_in(frame: Frame, node: Node) -> bool:
    """Whether a call makes a value itself, be it leaf by leaf."""
    own = node.frame
    is_leaf = own is not None and isinstance(own.function, ast.Lambda)
    return own is frame or (own is not None and is_leaf and own.is_inside(frame))


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


def _used_on(frame: Frame, live: set[Node], source: Node) -> Place | None:
    """Where a caller goes on with what it has handed in, after the call, for what matters."""
    caller, call = frame.caller, frame.called_at
    if caller is None or caller.function is None or not isinstance(call, ast.expr):
        return None
    end = call.end_lineno or call.lineno
    uses = [
        position_in(caller, node)
        for node in live
        if source in node.inputs and node.operation not in _HANDING
    ]
    later = [it for it in uses if it is not None and it.lineno > end]
    if not later:
        return None
    return caller.place(min(later, key=lambda it: (it.lineno, it.col_offset)))


def _line(node: Node) -> int:
    return node.place.line if node.place is not None else 0


_HANDING = ACROSS | PARTS | {"static"}
