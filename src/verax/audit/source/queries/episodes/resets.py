"""Choices between a state that goes on and one of a reset, by a flag for the end of an episode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....words import is_reward, may_be_episode_boundary, may_be_episode_end, words_of
from ...events import Fact
from ...frame import Frame
from ...graph import Node
from ...operations import GIVEN, SELECTIONS, ZEROS
from ...remember import remembered
from ...values import Constant, Data, Sequence, Value
from ..loops.bodies import made_from, paired_leaves
from .negation import without_negation, without_shape
from .targets import is_end

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class Reset:
    """A choice in the call of a function that knows its flag by a name for an end."""

    frame: Frame
    flag: str
    judged: Node
    result: Node
    kept: Node
    fresh: Node
    is_reversed: bool


@remembered
def resets(facts: SourceFacts) -> list[Reset]:
    """All choices between what goes on and what a reset has made."""
    return list(_resets(facts))


def _resets(facts: SourceFacts) -> Iterator[Reset]:
    """All choices of which one side was made by a function that resets, and the other was not.

    Where nothing is called a reset, one side is drawn at random and knows nothing of the state that
    the flag judges and the other side goes on from.
    """
    for frame, flag, sides in _choices(facts):
        judged, is_negated = without_negation(flag.node)
        if is_negated:
            sides = [(other, one, result) for one, other, result in sides]
        frames = [it for it in frame.callers() if not isinstance(it.function, ast.Lambda)]
        over = [
            it for it in frames if _is_called_over(judged, it) or _comes_with_reward(judged, it)
        ]
        drawn = _drawn_side(sides, judged) if over else None
        for first, second, result in sides:
            known = over
            if is_fresh(first.node) is not is_fresh(second.node):
                is_reversed = is_fresh(second.node)
                known = [it for it in frames if is_end(facts, judged, it)]
                known = known or [it for it in frames if _is_called_over(judged, it)]
            elif drawn is None:
                continue
            else:
                is_reversed = drawn == 1
            kept, fresh = (first, second) if is_reversed else (second, first)
            if fresh.node in made_from([kept.node]):
                continue  # What a reset has made, and a change of it.
            if not _starts(kept.node):
                continue  # A constant: no episode that could go on.
            if not known or judged in made_from([fresh.node]):
                continue
            if _are_of_one_reset(judged, fresh.node):
                continue
            name = facts.name_of(Data(judged))
            frame = next((it for it in known if _gives_more(it, result)), known[0])
            yield Reset(frame, name, judged, result, kept.node, fresh.node, is_reversed)


def _gives_more(frame: Frame, result: Node) -> bool:
    """Whether a function gives back more than what was chosen: it does not only choose."""
    given = [value for _, value in frame.returns]
    return not all(isinstance(it, Data) and it.node is result for it in given)


def _drawn_side(sides: list[Side], judged: Node) -> int | None:
    """Which of the two things that a choice is between is drawn anew, if just one of them is."""
    one, other = [it[0].node for it in sides], [it[1].node for it in sides]
    drawn = [is_drawn_anew(*way, judged) for way in ((one, other), (other, one))]
    return drawn.index(True) if drawn.count(True) == 1 else None


@remembered
def wipes(facts: SourceFacts) -> dict[Frame, set[Node]]:
    """Flags by which functions put zeros in the place of something that they are given.

    That is done to memories, where an episode ends or another one begins.
    """
    found: dict[Frame, set[Node]] = {}
    for frame, flag, kept in _wiped(facts):
        judged = without_shape(flag)
        frames = [it for it in frame.callers() if not isinstance(it.function, ast.Lambda)]
        is_own = any(
            isinstance(value, Data) and value.node is judged and may_be_episode_boundary(name)
            for name, value in (frames[0].environment.items() if frames else ())
        )
        if is_own and without_shape(kept).operation in GIVEN:
            found.setdefault(frames[0], set()).add(judged)
    return found


def _wiped(facts: SourceFacts) -> Iterator[tuple[Frame, Node, Node]]:
    """Choices of zeros by a flag: where, the flag, and what is kept else."""
    for call in facts.calls(SELECTIONS):
        match call.args:
            case [Data() as flag, zero, Data() as kept] if is_zero(zero):
                yield call.frame, flag.node, kept.node
            case _:
                pass


def is_zero(value: Value) -> bool:
    """Whether a value is the number zero, or nothing but zeros."""
    if isinstance(value, Constant):
        return value.value == 0
    return isinstance(value, Data) and value.node.operation in ZEROS


# A part of what is taken if a flag is set, the same part of what is taken if not, and the result.
Side = tuple[Data, Data, Node]


def _choices(facts: SourceFacts) -> Iterator[tuple[Frame, Data, list[Side]]]:
    """Every choice: where, its flag, and the parts of the two things that it is between."""
    for call in facts.calls(SELECTIONS):
        match [*call.args, call.result]:
            case [Data() as flag, Data() as first, Data() as second, Data() as result]:
                yield call.frame, flag, [(first, second, result.node)]
            case _:
                pass
    for fact in facts.events(Fact):
        flag = fact.data["predicate"] if fact.kind == "cond" else None
        if not isinstance(flag, Data) or len(fact.data["results"]) != 2:
            continue
        first, second = (paired_leaves(it, fact.data["chosen"]) for it in fact.data["results"])
        others = {result.node: side for side, result in second}
        sides = [(it, others[at.node], at.node) for it, at in first if at.node in others]
        if sides:
            yield fact.frame, flag, sides


def _is_called_over(flag: Node, frame: Frame) -> bool:
    """Whether a function gives a flag a name that may be one for an end, and none for another."""
    names = [
        name
        for name, value in frame.environment.items()
        if isinstance(value, Data) and value.node is flag
    ]
    return bool(names) and all(map(may_be_episode_end, names))


def _comes_with_reward(flag: Node, frame: Frame) -> bool:
    """Whether a function returns a flag beside a reward, as a step of an environment does."""
    paid = {
        value.node
        for name, value in frame.environment.items()
        if isinstance(value, Data) and is_reward(name)
    }
    for _, returned in frame.returns if paid else ():
        items = returned.items if isinstance(returned, Sequence) else None
        nodes = {it.node for it in items or () if isinstance(it, Data)}
        if flag in nodes and not paid.isdisjoint(nodes):
            return True
    return False


def is_drawn_anew(fresh: list[Node], kept: list[Node], flag: Node) -> bool:
    """Whether a state is drawn without regard to the one that is judged and that is kept else."""
    known, judged = made_from(fresh), made_from([flag])
    if not any(map(_is_draw, known)) or any(map(_is_draw, judged - made_from(kept))):
        return False
    begun = {start for it in kept for start in _starts(it)}
    states = {it for it in begun & _starts(flag) if not it.is_key}
    return bool(states) and states.isdisjoint(known)


def _is_draw(node: Node) -> bool:
    name = node.operation
    return name.startswith("jax.random.") and name.rpartition(".")[2] not in _KEYS


_KEYS = frozenset(("split", "fold_in", "key", "PRNGKey", "clone", "wrap_key_data"))
_GIVEN = frozenset(("parameter", "carry", "slice", "turn"))


def _starts(node: Node) -> set[Node]:
    """What comes into a function or a turn, of which a value is made; parts of it by themselves."""
    found: set[Node] = set()
    pending, seen = [node], {node}
    while pending:
        it = pending.pop()
        whole = it
        while whole.operation in ("field", "item", "lane", "primal") and whole.inputs:
            whole = whole.inputs[0]
        if whole.operation in _GIVEN:
            found.add(it)
            continue
        new = [source for source in it.inputs if source not in seen]
        seen.update(new)
        pending += new
    return found


def _are_of_one_reset(flag: Node, fresh: Node) -> bool:
    """Whether a reset made both in one record: the flag then tells nothing of another state."""
    record = whole_of(fresh)
    return whole_of(flag) is record and is_fresh(record)


def whole_of(node: Node) -> Node:
    """What a value is a part of: a record, or all that one call returns."""
    while node.operation in ("field", "item") and node.inputs:
        node = node.inputs[0]
    return node


# What a state keeps of its start, to go back to it.
_FIRST = frozenset("first init initial reset fresh start".split())


def is_fresh(node: Node) -> bool:
    """Whether a value was made in the call of a function that resets, or kept from there."""
    for _ in range(6):
        if node.operation in ("field", "item") and _FIRST & set(words_of(node.label)):
            return True
        frames = node.frame.callers() if node.frame is not None else ()
        if node.operation.startswith(".") and "reset" in words_of(node.operation):
            return True
        if any("reset" in words_of(it.name.rpartition(".")[2]) for it in frames):
            return True
        if node.operation not in ("field", "item", "lane", "stack") or not node.inputs:
            return False
        node = node.inputs[0]
    return False
