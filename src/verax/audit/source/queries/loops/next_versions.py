"""What a body names as the next version of a part of its carry, which it hands on as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...classes import all_fields
from ...events import Loop
from ...frame import Frame
from ...graph import Node
from ...remember import each
from ...values import NONE, Data, Instance, Mapping, Sequence, Value, leaves, nodes_of
from ..structures.structure import parts_of
from ..syntax import body_of
from .bodies import assigned, behind, paired_leaves
from .called import names_in

if TYPE_CHECKING:
    from ...facts import SourceFacts


def next_versions(
    facts: SourceFacts, loop: Loop, frame: Frame, stale: list[Data]
) -> Iterator[tuple[Place, str, Data]]:
    """Values that are made from parts of a carry which stay: where, by which name, from which part.

    A name says so (`new_h`), or is that of the part itself: given to another value, or of a field
    that something is added to, be it in a function that makes the next carry for the body. Or the
    value is an object of the carry's class, or of a part's, and has another value in the place of
    the one that stays.
    """
    for statement, name, before in _of_body(loop, frame, stale):
        yield frame.place(statement), name, before
    for helper in _makers(facts, loop, frame, stale):
        for statement, name, value in assigned(helper):
            if _is_put_in(helper, name):
                continue
            for before in _increased(loop.carry_in or NONE, name, value, {it.node for it in stale}):
                yield helper.place(statement), name, before


def _makers(facts: SourceFacts, loop: Loop, body: Frame, stale: list[Data]) -> Iterator[Frame]:
    """The functions that make the next carry: they return what stays beside what has changed."""
    before, after = (set(nodes_of(it or NONE)) for it in (loop.carry_in, loop.carry_out))
    kept = {it.node for it in stale}
    for frame in facts.frames if kept else ():
        around = frame.region.chain() if frame.region is not None else ()
        if frame is not body and loop.region in around:
            given_back = {node for _, value in frame.returns for node in nodes_of(value)}
            if kept & given_back and given_back & (after - before):
                yield frame


def _is_put_in(helper: Frame, name: str) -> bool:
    """Whether a function makes a record with a value after all, on another way than was taken."""
    records = [it for it in each(body_of(helper), ast.Call) if _is_record(it)]
    given = [argument for it in records for argument in (*it.args, *it.keywords)]
    given += [value for it in each(body_of(helper), ast.Dict) for value in it.values]
    held = (it.value if isinstance(it, ast.keyword) else it for it in given)
    return any(isinstance(it, ast.Name) and it.id == name for it in held)


def _is_record(call: ast.Call) -> bool:
    """Whether a call makes a record, of a class or as a copy with other fields."""
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("replace", "_replace") or name.lstrip("_")[:1].isupper()


def _of_body(loop: Loop, frame: Frame, stale: list[Data]) -> Iterator[tuple[ast.stmt, str, Data]]:
    """What the statements of a body itself make."""
    if loop.carry_in is None or loop.carry_out is None:
        return
    own = {it.node for it in stale}
    handed_on = behind(loop.carry_out)
    after = set(nodes_of(loop.carry_out))
    all_of_it = own.issuperset(nodes_of(loop.carry_in))
    names = names_in(frame, own)
    for statement, name, value in assigned(frame):
        made_from = behind(value)
        used = [it for it in stale if it.node in made_from]
        new = nodes_of(value)
        if not used or not new or after.issuperset(new):
            continue
        kept = not handed_on.isdisjoint(new)
        before = [
            it
            for it in used
            if any(
                _is_next(name, old) for old in names.get(it.node, ()) if not (kept and all_of_it)
            )
            or (name in names.get(it.node, ()) and not kept and it.node not in new)
        ]
        before = before or list(_renewed(loop, value, own, handed_on))
        before = before or list(_increased(loop.carry_in, name, value, own))
        if before:
            yield statement, name, before[0]
        elif all_of_it and not kept and _has_fields_of(loop.carry_in, value):
            yield statement, name, used[0]


_NEXT = frozenset(("new", "next", "updated"))


def _is_next(name: str, own: str) -> bool:
    """Whether a name says that its value comes after another one's: `new_h` after `h`."""
    words = words_of(name)
    rest = tuple(word for word in words if word not in _NEXT)
    return len(rest) < len(words) and (not rest or rest == words_of(own))


def _containers(carry: Value, depth: int = 0) -> Iterator[Value]:
    """A carry and what it holds, as far as that holds something itself."""
    parts = parts_of(carry) if depth < 12 else {}
    if parts:
        yield carry
    for part in parts.values():
        yield from _containers(part, depth + 1)


def _renewed(loop: Loop, value: Value, stale: set[Node], handed_on: set[Node]) -> Iterator[Data]:
    """The parts that stay of which an object like the carry has a next version, which is lost.

    Of an object that other parts are made from, nothing is lost: it may be there for them.
    """
    after = set(nodes_of(loop.carry_out or NONE))
    for container in _containers(loop.carry_in or NONE):
        if not _is_alike(container, value):
            continue
        own = set(nodes_of(container))
        both = list(paired_leaves(container, value))
        changed = [(old, new) for old, new in both if new.node not in own | after]
        if any(new.node in handed_on for _, new in changed):
            continue
        for old, new in changed:
            if old.node in stale and not own.isdisjoint(behind(new)):
                yield old


def _is_alike(part: Value, value: Value) -> bool:
    """Whether a value is an object of a part's class, or a dict with its keys."""
    if isinstance(part, Sequence) and isinstance(value, Sequence):
        return part.type is not None and part.type is value.type
    if isinstance(part, Instance) and isinstance(value, Instance):
        return part.cls is value.cls
    if isinstance(part, Mapping) and isinstance(value, Mapping):
        return bool(part.items) and part.items.keys() == value.items.keys()
    return False


def _has_fields_of(carry: Value, value: Value) -> bool:
    """Whether a value is of a class that has all fields which the body reads from its carry."""
    cls = value.type if isinstance(value, Sequence) else None
    cls = value.cls if isinstance(value, Instance) else cls
    children = carry.node.children if isinstance(carry, Data) else None
    read = {node.label for node in (children or {}).values() if node.operation == "field"}
    return cls is not None and len(read) > 1 and read <= set(all_fields(cls))


def _increased(carry: Value, name: str, value: Value, stale: set[Node]) -> Iterator[Data]:
    """The field of a name that stays, if the value is what comes of adding something to it."""
    for container in _containers(carry):
        field = parts_of(container).get(name, NONE)
        pairs = list(paired_leaves(field, value))
        if len(pairs) != len(leaves(field)) or not pairs:
            continue
        if all(old.node in stale and _adds_to(new.node, old.node) for old, new in pairs):
            yield pairs[0][0]


def _adds_to(node: Node, part: Node, depth: int = 4) -> bool:
    """Whether a value is the sum of a part, be it decayed, and of something else."""
    if node.operation not in ("+", "-") or not depth:
        return False
    added = node.operands if node.operation == "+" else node.operands[:1]
    terms = [it.node for it in added if isinstance(it, Data)]
    return any(it is part or _is_scaled(it, part) or _adds_to(it, part, depth - 1) for it in terms)


def _is_scaled(node: Node, part: Node) -> bool:
    """Whether a value is a part times something else, as what decays or is gated is."""
    return node.operation == "*" and node.inputs.count(part) == 1
