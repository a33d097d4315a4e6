"""Parts of a loop's carry that go on past the end of an episode, as the loop could know."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ....finding import Place
from ....words import (
    is_episode_end,
    is_reward,
    may_be_episode_boundary,
    may_be_episode_end,
    tells_beginning,
)
from ...events import Fact, Loop
from ...frame import Frame, Region
from ...graph import Node
from ...operations import CASTS, SELECTIONS
from ...remember import each
from ...values import Data, Sequence, Value, leaves, nodes_of
from ..boundaries import SEQUENTIAL
from ..loops.bodies import behind, body_frame, paired_leaves, returned_at
from ..loops.direction import runs_backwards
from ..names import local_name, named_parts, names_of
from ..nodes import position_in
from ..written import written_at
from .errors import decays_past_ends, factor_outside, made_of_ends, masked_errors, shares
from .recurrence import (
    depending,
    feedback_path,
    flags_below,
    flags_inside,
    flags_of,
    flags_taken,
    has_rows_for,
    is_hidden,
    is_learned,
    is_memory,
    is_recursion,
    is_remembered,
    is_statistic,
    marks_of,
    parts_of_slices,
    reaching,
    trains,
)
from .targets import is_called_going_on

if TYPE_CHECKING:
    from ...facts import SourceFacts


class Crossing(NamedTuple):
    """A part that goes on: where it is made or handed on, what it is called, and the loop."""

    place: Place
    name: str
    loop: Place


def crossings(facts: SourceFacts) -> Iterator[Crossing]:
    """All such parts, of JAX's loops and of Python's."""
    for loop in facts.events(Loop):
        frame = body_frame(facts, loop)
        if frame is None or loop.kind not in SEQUENTIAL or trains(loop.carry_out):
            continue
        ends = set(flags_of(facts, loop, frame))
        # A recursion that goes backwards is handed the flag of the step that comes after.
        carried = paired_leaves(loop.carry_in, loop.carry_out)
        ends |= {before.node for before, after in carried if _without_casts(after.node) in ends}
        if loop.kind == "while_loop" and not ends:
            continue  # A search runs until it is through, and starts anew where it likes.
        yield from _past_flags(facts, loop, frame, ends)
        if not ends:
            yield from _past_marks(facts, loop, frame)
            yield from _past_factors(facts, loop, frame)
            yield from _past_unread_flags(facts, loop, frame)
            yield from _over_masked_errors(facts, loop, frame)
    for factor, place in decays_past_ends(facts):
        yield Crossing(factor.place or place, facts.name_of(Data(factor)), place)
    for fact in facts.events(Fact):
        if fact.kind == "loop" and fact.frame.module is facts.module:
            yield from _in_python(facts, fact)


def _without_casts(node: Node) -> Node:
    while node.operation in CASTS and node.inputs:
        node = node.inputs[0]
    return node


def _past_flags(
    facts: SourceFacts, loop: Loop, frame: Frame, ends: set[Node]
) -> Iterator[Crossing]:
    """Parts that no flag decides about, neither one that is scanned nor one that a turn makes."""
    inside = ends | flags_inside(loop, frame)
    told, known = depending(loop.returned, ends), depending(loop.returned, inside)
    pairs = list(paired_leaves(loop.carry_in, loop.carry_out))
    carried = [before.node for before, _ in pairs]
    for before, after in pairs:
        # What an environment itself carries on past an end is its own business.
        is_kept = bool(known) and (
            is_hidden(facts, loop, before.node, frame)
            or is_remembered(loop, before, after, inside, known)
        )
        if not ends and not is_kept:
            continue
        flags, gated = (inside, known) if is_kept else (ends, told)
        path = feedback_path(after.node, before.node, flags, gated)
        if path is not None and is_kept:
            # What is called may get flags of its own, of each step in what is one turn here.
            flags = inside | flags_below(loop, frame)
            path = feedback_path(after.node, before.node, flags, depending(loop.returned, flags))
        if path is None or not has_rows_for(before.node, flags, carried):
            continue
        if not is_statistic(facts, loop, before.node, frame) and not is_learned(loop, before.node):
            place = _beside_masked(facts, loop, frame, path, gated)
            place = place or _kept_at(facts, loop, frame, path, ends)
            yield Crossing(place, local_name(facts, frame, before, after), loop.place)


def _past_marks(facts: SourceFacts, loop: Loop, frame: Frame) -> Iterator[Crossing]:
    """What a network remembers, past flags of which only their type and name tell what they are."""
    marks = marks_of(facts, loop, frame)
    told = depending(loop.returned, marks) if marks else set[Node]()
    for before, after in paired_leaves(loop.carry_in, loop.carry_out) if marks else ():
        path = feedback_path(after.node, before.node, marks, told)
        if path is None or not is_memory(loop, after.node):
            continue
        if has_rows_for(before.node, marks) and not is_learned(loop, before.node):
            place = _beside_masked(facts, loop, frame, path, told)
            place = place or _kept_at(facts, loop, frame, path, marks)
            yield Crossing(place, local_name(facts, frame, before, after), loop.place)


def _past_factors(facts: SourceFacts, loop: Loop, frame: Frame) -> Iterator[Crossing]:
    """Backward recursions with one factor for all turns, where a turn knows of a better one.

    What is called a mark, or a factor that is zero at an end, has a say in what is added there.
    """
    known = _factors_of(facts, loop, frame) if runs_backwards(loop) else set[Node]()
    if not known:
        return
    told = reaching(behind(loop.returned), _shares_of(loop))
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        path = feedback_path(after.node, before.node, known, told)
        if path is None or not is_recursion(loop, path) or not has_rows_for(before.node, known):
            continue
        is_used = not known.isdisjoint(behind(after))
        if is_used and not is_statistic(facts, loop, before.node, frame):
            name = local_name(facts, frame, before, after)
            yield Crossing(_made_at(path, frame, loop.place, known), name, loop.place)


def _shares_of(loop: Loop) -> set[Node]:
    """All that is another one in each turn: any of it may be zero where an episode ends."""
    taken = {leaf.node for leaf in leaves(loop.slices)} if loop.slices is not None else set[Node]()
    return taken | {share for _, share in shares(loop)}


def _factors_of(facts: SourceFacts, loop: Loop, frame: Frame) -> set[Node]:
    used = behind(loop.returned)
    return marks_of(facts, loop, frame) | {
        it
        for it in _shares_of(loop) | parts_of_slices(loop)
        if it in used and any(map(is_called_going_on, names_of(facts, it, frame)))
    }


def _beside_masked(
    facts: SourceFacts, loop: Loop, body: Frame, path: list[Node], told: Set[Node]
) -> Place | None:
    """Where a function gives back what is kept beside another part that it masks by the flags."""
    for frame in facts.frames:
        around = frame.region.chain() if frame.region is not None else ()
        if frame is body or len(frame.returns) != 1 or loop.region not in around:
            continue
        syntax, value = frame.returns[0]
        given_back = [] if isinstance(value, Data) else nodes_of(value)
        masked = any(
            it in told and it.operation in _MASKS and it.frame is frame for it in given_back
        )
        kept = [it for it in given_back if it in path and it not in told]
        if masked and kept:
            return frame.place(written_at(frame, syntax, value, kept[0]))
    return None


_MASKS = SELECTIONS | {"*"}


def _kept_at(
    facts: SourceFacts, loop: Loop, frame: Frame, path: list[Node], flags: set[Node]
) -> Place:
    """Where something goes on that should have started anew.

    A turn that is the first of an episode, by its flags, must not begin with what was kept. One
    that is the last, or comes to know of an end itself, must not hand it on.
    """
    left_out = _left_out_at(facts, frame, path[-1], flags)
    if left_out is not None:
        return left_out
    names = {name for it in flags for name in names_of(facts, it, frame)}
    is_handed = not is_recursion(loop, path) and not any(map(tells_beginning, names))
    handed = returned_at(facts, loop, path[0]) if is_handed else None
    return handed or _made_at(path, frame, loop.place, flags)


def _left_out_at(facts: SourceFacts, body: Frame, part: Node, flags: set[Node]) -> Place | None:
    """Where a function below a body starts other parts anew, and gives this one back as it came."""
    for run in (it for runs in facts.record.runs.values() for it in runs):
        if run is body or not run.is_inside(body):
            continue
        for syntax, value in run.returns:
            given_back = set(nodes_of(value))
            if part in given_back and depending(value, flags) & given_back - {part}:
                return run.place(written_at(run, syntax, value, part))
    return None


def _over_masked_errors(facts: SourceFacts, loop: Loop, frame: Frame) -> Iterator[Crossing]:
    """Recursions over errors that stop at the ends of episodes, with factors that do not."""
    if not masked_errors(facts, loop):
        return
    told = reaching(behind(loop.returned), made_of_ends(facts, loop))
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        path = feedback_path(after.node, before.node, set(), told)
        if path is not None:
            name = local_name(facts, frame, before, after)
            # A turn that is handed factors which know of ends, and takes others, is wrong itself.
            factor = None if _has_unread_share(facts, loop) else factor_outside(loop, path)
            made_at = factor.place if factor is not None else None
            yield Crossing(made_at or _made_at(path, frame, loop.place), name, loop.place)


def _past_unread_flags(facts: SourceFacts, loop: Loop, frame: Frame) -> Iterator[Crossing]:
    """Recursions that are handed flags beside what they add up, and leave them aside.

    What stands in a tuple was put there to be used; a record may hold more than a body needs.
    """
    if not _has_unread_share(facts, loop) and not _has_unread_parameter(loop):
        return
    used = behind(loop.returned)
    # A factor that is scanned may well be zero where an episode ends.
    told = reaching(used, {share for _, share in shares(loop)})
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        # A network takes in what is scanned, and forgets nothing by that.
        is_kept = is_hidden(facts, loop, before.node, frame)
        path = feedback_path(after.node, before.node, set(), set() if is_kept else told)
        if path is None or is_statistic(facts, loop, before.node, frame):
            continue
        name = local_name(facts, frame, before, after)
        yield Crossing(_made_at(path, frame, loop.place), name, loop.place)


def _has_unread_share(facts: SourceFacts, loop: Loop) -> bool:
    """Whether a body gets a tuple with flags in it that it does not use."""
    if not isinstance(loop.slices, Sequence) or loop.slices.type is not None:
        return False
    used = behind(loop.returned)
    unread = [
        whole.node for whole, part in paired_leaves(loop.xs, loop.slices) if part.node not in used
    ]
    return any(
        may_be_episode_boundary(name) or is_called_going_on(name)
        for node in unread
        for name in names_of(facts, node, loop.frame)
    )


def _has_unread_parameter(loop: Loop) -> bool:
    """Whether the function around a loop over rewards has a parameter for flags, and no use of it.

    One that is deleted, or thrown away by its name, is left aside on purpose.
    """
    function = loop.frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    given = set(loop.frame.given)
    if not any(map(is_reward, given)):
        return False
    written = {it.id for it in each(function, ast.Name)}
    flags = (it for it in given - written if not it.startswith("_"))
    return any(map(may_be_episode_end, flags))


def _in_python(facts: SourceFacts, fact: Fact) -> Iterator[Crossing]:
    """Recursions in a loop of Python's over what was recorded, of which it takes flags."""
    if not any(is_episode_end(name) for name in _written_names(fact.syntax)):
        return
    region: Region = fact.data["region"]
    pairs: list[tuple[str, Data, Data]] = []
    for name, ends in fact.data["left"].items():
        before, after = fact.data["carried"][name][0], ends[-1] if ends else None
        if isinstance(before, Data) and isinstance(after, Data):
            pairs.append((name, before, after))
    # What a turn puts into a list is no carry, and what it is made from is used.
    lists = [it for it in fact.frame.environment.values() if isinstance(it, Sequence)]
    used = {node for it in (*(after for _, _, after in pairs), *lists) for node in behind(it)}
    flags = flags_taken(facts, used, region, fact.frame)
    told = reaching(used, flags) if flags else set[Node]()
    for name, before, after in pairs if flags and not any(trains(it[2]) for it in pairs) else ():
        path = feedback_path(after.node, before.node, flags, told)
        if path is not None and has_rows_for(before.node, flags):
            yield Crossing(_made_at(path, fact.frame, fact.place), name, fact.place)


def _written_names(syntax: ast.AST) -> Iterator[str]:
    for node in each(syntax, ast.Name, ast.Attribute, ast.Constant):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node.value, str):
            yield node.value


def _made_at(
    path: list[Node], frame: Frame, loop: Place, flags: Set[Node] = frozenset[Node]()
) -> Place:
    """Where what is carried is made: in the body, or in a function below it that knows of ends."""
    first = path[0]
    inside = list(first.frame.callers()) if first.frame is not None else []
    is_sum = first.operation in ("+", "-", "*")
    below = inside[:1] if is_sum else []
    if frame in inside:
        below = inside[: inside.index(frame)] or below
    own = next((it for it in below if _knows_of_ends(it, flags)), frame)
    if first.frame is own and is_sum and first.place is not None:
        return first.place
    made = [it for it in map(partial(position_in, own), path) if it is not None]
    return own.place(made[0]) if made else loop


def _knows_of_ends(frame: Frame, flags: Set[Node]) -> bool:
    """Whether a function knows of episodes; else who calls it has to see to their ends.

    One that makes a gate of its own and calls it `reset` does not.
    """
    given = {leaf.node for value in frame.given.values() for leaf in leaves(value)}
    if not given.isdisjoint(flags):
        return True
    named = [name for name, it in frame.environment.items() if not _is_gate(it)]
    return any(is_episode_end(it) or is_reward(it) for it in (*named, *_fields_given(frame)))


def _is_gate(value: Value) -> bool:
    return isinstance(value, Data) and value.node.operation in _GATES


_GATES = frozenset(("jax.nn.sigmoid", "jax.nn.hard_sigmoid", "jax.lax.logistic"))


def _fields_given(frame: Frame) -> Iterator[str]:
    for value in frame.given.values():
        if not isinstance(value, Data):
            yield from (name for name, _ in named_parts(value))
