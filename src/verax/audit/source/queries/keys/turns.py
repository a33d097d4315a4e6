"""Keys that one turn of a loop uses and hands to the next, or that a loop leaves behind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Fact, KeyUse, Loop
from ...frame import Frame, Region
from ...graph import Node
from ...operations import SELECTIONS
from ...remember import walked
from ...values import Data, Instance, Sequence, Value, nodes_of
from ..handing import handed_back_at
from ..loops.bodies import body_frame, paired_leaves, returned_at
from ..names import local_name
from ..nodes import users_of
from ..written import written_at
from .reuse import calls, comes_from_outside, uses

if TYPE_CHECKING:
    from ...facts import SourceFacts


def handed_on_used(facts: SourceFacts) -> Iterator[tuple[Place, str, KeyUse]]:
    """Keys that a turn consumes and hands on, where the next turn consumes what it gets."""
    first: dict[Node, KeyUse] = {}
    for use in uses(facts):
        first.setdefault(use.key.node, use)
        first.setdefault(use.key.node.whole(), use)
    for loop in facts.events(Loop):
        for before, after in paired_leaves(loop.carry_in, loop.carry_out):
            if comes_from_outside(after.node, loop.region) or before.node is after.node:
                continue  # The same key in every turn, which is another mistake.
            used = [first.get(end) for end in chosen_from(after.node)]
            if before.node in first and used and all(used):
                body, use = body_frame(facts, loop), next(filter(None, used))
                place = handed_back_at(use, after.node, body)
                place = place or returned_at(facts, loop, after.node) or loop.place
                yield place, local_name(facts, body, after), use
    for fact in facts.events(Fact):
        if fact.kind != "loop":
            continue
        for name, (before, after) in fact.data["carried"].items():
            if not isinstance(before, Data) or not isinstance(after, Data):
                continue
            for node in chosen_from(after.node):
                used = first.get(node)
                if (
                    before.node in first
                    and used is not None
                    and node in fact.data["spent"]
                    and node.is_made_in(fact.data["region"])
                ):
                    yield _where(used, fact.frame), name, used


def _where(use: KeyUse, frame: Frame) -> Place:
    """Where a function uses a key, be it in a function that it calls."""
    syntax = dict(calls(use)).get(frame)
    return use.place if syntax is None else frame.place(syntax)


def returned_used(facts: SourceFacts) -> Iterator[tuple[Place, str, KeyUse]]:
    """Keys that a loop consumed and advanced, which its function returns as they were before it.

    Whoever goes on with them draws again what the loop has drawn.
    """
    first: dict[Node, KeyUse] = {}
    for use in uses(facts):
        first.setdefault(use.key.node, use)
    for loop in facts.events(Loop) if first else ():
        last = loop.outside
        if loop.kind == "scan" and isinstance(last, Sequence) and last.items:
            last = last.items[0]
        entering = {it.node: taken.node for it, taken in paired_leaves(loop.initial, loop.carry_in)}
        leaving = {it.node: end.node for it, end in paired_leaves(loop.carry_in, loop.carry_out)}
        for start, end in paired_leaves(loop.initial, last):
            taken = entering.get(start.node, start.node)
            use, advanced = first.get(taken), leaving.get(taken, taken)
            if use is None or advanced is taken or _is_read(facts, loop.frame, end.node):
                continue
            for at in _names_returned(loop.frame, start.node):
                yield loop.frame.place(at), at.id, use


def _is_read(facts: SourceFacts, frame: Frame, node: Node) -> bool:
    """Whether something is made from a result, or it is returned."""
    is_returned = any(node in nodes_of(value) for _, value in frame.returns)
    return is_returned or node in users_of(facts)


def _names_returned(frame: Frame, node: Node) -> Iterator[ast.Name]:
    """Where a function returns something by its name."""
    for statement, value in frame.returns:
        if node in nodes_of(value):
            for it in walked(statement):
                held = frame.environment.get(it.id) if isinstance(it, ast.Name) else None
                if isinstance(it, ast.Name) and isinstance(held, Data) and held.node is node:
                    yield it


def unadvanced(facts: SourceFacts) -> Iterator[tuple[KeyUse, Region]]:
    """Uses in a loop of Python's of keys that stay in a state which each turn makes anew."""
    loops = [fact for fact in facts.events(Fact) if fact.kind == "loop"]
    first: dict[Node, KeyUse] = {}
    for use in uses(facts) if loops else ():
        first.setdefault(use.key.node, use)
    for fact in loops:
        region: Region = fact.data["region"]
        for name, ends in fact.data["left"].items():
            for key in _kept(facts, fact.data["carried"][name][0], ends):
                use = first.get(key)
                around = use.region.chain() if use is not None and use.region is not None else ()
                if use is not None and region in around:
                    yield use, region


def _kept(facts: SourceFacts, entered: Value, ends: list[Value]) -> Iterator[Node]:
    """The parts of what a turn gets that it hands on as they were, whatever way it takes."""
    if not ends:
        return
    if isinstance(entered, (Data, Instance)):
        for part in (entered.node.children or {}).values():
            is_field = part.operation == "field"
            if is_field and all(_field(facts, it, part.label) is part for it in ends):
                yield part
    if isinstance(entered, Instance):
        for name, part in entered.attributes.items():
            if isinstance(part, Data) and all(_field(facts, it, name) is part.node for it in ends):
                yield part.node
    elif isinstance(entered, Sequence) and entered.items is not None:
        for number, part in enumerate(entered.items):
            if isinstance(part, Data) and all(_item(it, number) is part.node for it in ends):
                yield part.node


def _field(facts: SourceFacts, value: Value, name: str) -> Node | None:
    """The node of an object's field, if that is known."""
    if isinstance(value, Instance) and name in value.attributes:
        found = value.attributes[name]
        return found.node if isinstance(found, Data) else None
    node = value.node if isinstance(value, (Data, Instance)) else None
    while node is not None and node in facts.machine.replaced:
        owner, changes = facts.machine.replaced[node]
        if name in changes:
            found = changes[name]
            return found.node if isinstance(found, Data) else None
        node = owner.node
    return (node.children or {}).get(("field", name)) if node is not None else None


def _item(value: Value, number: int) -> Node | None:
    items = value.items if isinstance(value, Sequence) else None
    found = items[number] if items is not None and number < len(items) else None
    return found.node if isinstance(found, Data) else None


def kept_by_chance(after: Node, key: Node) -> bool:
    """Whether a choice that hangs on what was drawn from a key keeps this very key.

    The next turn then draws the same once more, chooses the same, and so on.
    """
    if after.operation not in _CHOICES or not after.inputs:
        return False
    return key in chosen_from(after) and after.inputs[0].depends_on(key)


def kept_at(facts: SourceFacts, body: Frame | None, after: Node, key: Node) -> Place | None:
    """Where a choice keeps a key: in the branch that returns it, or in the choice itself."""
    if body is None or after.operation != "cond":
        return after.place
    for frame in facts.frames:
        if frame is not body and frame.is_inside(body):
            for syntax, value in frame.returns:
                if key in nodes_of(value):
                    return frame.place(written_at(frame, syntax, value, key))
    return after.place


_CHOICES = SELECTIONS | {"cond"}


def chosen_from(node: Node) -> tuple[Node, ...]:
    """What a name may hold when a turn ends: one key, or one of those that a choice is between."""
    if node.operation == "join":
        return node.inputs
    if node.operation in _CHOICES:
        return tuple(end for it in node.inputs[1:] for end in chosen_from(it))
    if node.operation == "stack" and len(node.inputs) == 1:
        return chosen_from(node.inputs[0])
    return (node,)
