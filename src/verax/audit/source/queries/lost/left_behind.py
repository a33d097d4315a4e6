"""Fields of a new record that are not treated as those beside them.

Where particles are drawn anew, or a proposal is accepted or not, that holds for whole records: one
field of another particle, or of a proposal that was refused, makes a state that never was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...frame import Frame
from ...graph import Node
from ...operations import SELECTIONS
from ...values import Class, Data, Instance, Sequence, Value
from ..structures.structure import parts_of
from ..syntax import statement_around

if TYPE_CHECKING:
    from ...facts import SourceFacts

_KEYS = frozenset("key keys rng rngs seed".split())
_CHANCE = frozenset(f"jax.random.{it}" for it in ("uniform", "bernoulli", "exponential", "gumbel"))


@dataclass(frozen=True)
class LeftBehind:
    """A field that a record takes as it is, beside one that is selected (`how`, in words)."""

    place: Place
    field: str
    beside: str
    how: str


def left_behind(facts: SourceFacts) -> Iterator[LeftBehind]:
    """All such fields of records that functions of the file make."""
    told: set[Place] = set()
    for frame in facts.own_frames:
        for syntax, value in (*frame.steps, *frame.returns):
            new = _nodes(value)
            if new is None or not any(_is_selected(it) for it in new.values()):
                continue
            for field, beside, how in _of_record(frame, value, new):
                if new[beside].frame is not frame:
                    continue  # It is told where the record is made.
                place = _written_at(frame, syntax, new[beside], field)
                if place not in told:
                    told.add(place)
                    yield LeftBehind(place, field, beside, how)


def _is_selected(node: Node) -> bool:
    return node.operation in SELECTIONS or (node.operation == "item" and len(node.inputs) == 2)


def _class(value: Value) -> Class | None:
    found = value.cls if isinstance(value, Instance) else getattr(value, "type", None)
    return found if isinstance(found, Class) else None


def _nodes(value: Value) -> dict[str, Node] | None:
    """The arrays of a record by their fields."""
    if not isinstance(value, (Instance, Sequence)) or _class(value) is None:
        return None
    return {name: it.node for name, it in parts_of(value).items() if isinstance(it, Data)}


def _of_record(frame: Frame, value: Value, new: dict[str, Node]) -> Iterator[tuple[str, str, str]]:
    cls = _class(value)
    held = {id(it): it for it in (*frame.given.values(), *frame.environment.values())}
    same = [it for it in held.values() if it is not value and _class(it) is cls]
    older = [nodes for nodes in map(_nodes, same[:6]) if nodes]
    for one in older:
        yield from _drawn_anew(new, one)
        for other in older:
            if other is not one:
                yield from _accepted(new, one, other)


def _drawn_anew(new: dict[str, Node], old: dict[str, Node]) -> Iterator[tuple[str, str, str]]:
    """Fields that are taken as they were, beside one whose rows are selected by an index."""
    for name, node in new.items():
        if node.operation != "item" or len(node.inputs) != 2 or node.inputs[0] is not old.get(name):
            continue
        rows, index = node.inputs
        if not isinstance(index.shape, tuple) or index.shape != _rows(rows):
            continue
        for kept, it in new.items():
            is_kept = it is old.get(kept) and not it.is_key and _rows(it) == _rows(rows)
            if is_kept and kept != name:
                yield kept, name, "its rows are selected by an index"


def _rows(node: Node) -> tuple[object, ...] | None:
    """How many rows an array has, as a shape; `None` if that is not known."""
    shape = node.shape
    return shape[:1] if isinstance(shape, tuple) and shape and shape[0] is not None else None


def _accepted(
    new: dict[str, Node], proposed: dict[str, Node], old: dict[str, Node]
) -> Iterator[tuple[str, str, str]]:
    """Fields of a proposal that are taken, whether it is accepted or not."""
    chosen = [name for name in new if _chooses(new[name], proposed.get(name), old.get(name))]
    conditions = {new[name].inputs[0] for name in chosen}
    if len(chosen) < 2 or len(conditions) != 1 or not _is_by_chance(conditions.pop()):
        return
    for name, node in new.items():
        is_taken = node is proposed.get(name) and node is not old.get(name)
        is_number = node.dtype is None or not node.dtype.startswith(("int", "uint", "bool"))
        is_key = node.is_key or not _KEYS.isdisjoint(words_of(name))
        if is_taken and is_number and not is_key:
            yield name, chosen[0], "chance decides about it"


def _chooses(node: Node, one: Node | None, other: Node | None) -> bool:
    if node.operation not in SELECTIONS or one is None or other is None or len(node.operands) != 3:
        return False
    sides = [it.node if isinstance(it, Data) else None for it in node.operands[1:]]
    return sides == [one, other]


def _is_by_chance(node: Node) -> bool:
    return any(it.operation in _CHANCE for it in node.ancestors())


def _written_at(frame: Frame, syntax: ast.AST, beside: Node, field: str) -> Place:
    """Where a field is given to the record, or where the one beside it is."""
    statement = syntax if isinstance(syntax, ast.stmt) else statement_around(frame, syntax)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.keyword) and node.arg == field:
            return frame.place(node.value)
        if isinstance(node, ast.Attribute) and node.attr == field:
            return frame.place(node)
    is_here = beside.frame is frame and beside.place is not None
    return beside.place if is_here and beside.place is not None else frame.place(syntax)
