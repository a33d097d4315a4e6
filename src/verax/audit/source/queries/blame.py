"""Which of the calls on the way to a mistake is to be mended."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Set
from typing import TYPE_CHECKING

from ...words import words_of
from ..events import Event
from ..frame import Frame, Region
from ..graph import Node
from ..values import Data, Value, nodes_of
from .loops.bodies import calls

if TYPE_CHECKING:
    from ...finding import Place
    from ..facts import SourceFacts


def wrongly_called_at(facts: SourceFacts, event: Event, is_right: Callable[[Frame], bool]) -> Place:
    """Where a function is called that does something wrong there, and is right elsewhere.

    A function that is also called from where all is right is not to be changed: who calls it from
    somewhere else is. `is_right` tells of a call of the function whether all is right there.
    """
    (frame, syntax), *around = calls(event)
    for caller, called_at in around:
        runs = facts.record.runs.get(frame.function or syntax, ())
        if _is_transformed(frame, caller) or not _is_right_elsewhere(runs, called_at, is_right):
            break
        frame, syntax = caller, called_at
    return frame.place(syntax)


def _is_right_elsewhere(
    runs: Iterable[Frame], called_at: ast.AST | None, is_right: Callable[[Frame], bool]
) -> bool:
    return any(_is_written(it) and it.called_at is not called_at and is_right(it) for it in runs)


def is_right_elsewhere(
    facts: SourceFacts, frame: Frame | None, is_right: Callable[[Frame], bool]
) -> bool:
    """Whether the function that something is wrong in is also called where all is right."""
    if frame is None or frame.function is None:
        return False
    return _is_right_elsewhere(facts.record.runs.get(frame.function, ()), frame.called_at, is_right)


def handed_wrongly_at(event: Event, made: Node, wanted: Set[str]) -> Place | None:
    """Where a function is handed what was made of the very thing that it wants.

    Its parameter has one of the words by which that is asked for, or its caller has the thing in
    hand, beside what was made of it, and has taken the wrong one; `None` if neither is to be seen.
    """
    (frame, _), *around = calls(event)
    for caller, called_at in around:
        names = [name for name, it in frame.given.items() if it in _holding(frame, made)]
        if not names or not isinstance(called_at, ast.Call):
            return None
        if any(not wanted.isdisjoint(words_of(it)) for it in names) or _has_source(caller, made):
            return caller.place(called_at)
        frame = caller
    return None


def _holding(frame: Frame, made: Node) -> list[Value]:
    """The parameters of a call that are a thing, as it is or seen from a transformation."""
    return [
        it
        for it in frame.given.values()
        if isinstance(it, Data) and (it.node is made or it.node.whole() is made)
    ]


def _has_source(frame: Frame, made: Node) -> bool:
    """Whether a function has both a thing and what it was made of, and has not just made it."""
    if made.frame is frame or not made.inputs:
        return False
    held = {node for it in frame.environment.values() for node in nodes_of(it)}
    return made.inputs[0] in held and made in held


def is_outside(facts: SourceFacts) -> Callable[[Frame], bool]:
    """Whether a call is made by a function that nothing ever traces, be it in a loop of Python's.

    A function that is compiled elsewhere is also gone through by itself.
    """

    def is_right(run: Frame) -> bool:
        caller = run.caller.function if run.caller is not None else None
        callers = facts.record.runs.get(caller, ()) if caller is not None else ()
        return all(_transformation(it) is None for it in (run, *callers))

    return is_right


def _is_transformed(frame: Frame, caller: Frame) -> bool:
    """Whether a call goes through a transformation: what it calls is meant for that."""
    return caller.function is None or _transformation(frame) is not _transformation(caller)


def _transformation(frame: Frame) -> Region | None:
    """The innermost transformation around a call."""
    around = frame.region.chain() if frame.region is not None else ()
    return next((it for it in around if it.kind != "loop"), None)


def _is_written(run: Frame) -> bool:
    """Whether a call is one of the program's own, and not one to see what a function does."""
    is_called = run.caller is not None and isinstance(run.called_at, ast.Call)
    # Nobody who makes an object, or enters a context, can know what that does.
    return is_called and not run.name.rpartition(".")[2].startswith("__")


def knowingly_given_at(
    event: Event, things: Value | None, knows: Callable[[Value], bool]
) -> Place | None:
    """Where a function is handed things by one who knows what they are, and it does not.

    It is given them as they are, and nothing else from which it could know; `None` if it could.
    """
    found: Place | None = None
    nodes = set(nodes_of(things)) if things is not None else set[Node]()
    (frame, _), *around = calls(event)
    for caller, called_at in around:
        given = frame.given.values()
        is_given = any(it is things or (isinstance(it, Data) and it.node in nodes) for it in given)
        if frame.function is not None and (not is_given or any(map(knows, given))):
            break
        frame, found = caller, caller.place(called_at)
    return found


def made_at(facts: SourceFacts, frame: Frame, made: Event) -> Place | None:
    """Where something wrong is made for a function: by itself, or by one that it alone calls.

    A helper that others call as well may be right for them; `None` if it is made elsewhere.
    """
    around = list(calls(made))
    own = next((number for number, (it, _) in enumerate(around) if it is frame), None)
    if own is None:
        return None
    while own > 0 and _is_only_called_at(facts, around[own - 1][0], around[own][1]):
        own -= 1
    user, syntax = around[own]
    return user.place(syntax)


def _is_only_called_at(facts: SourceFacts, frame: Frame, call: ast.AST) -> bool:
    """Whether a function of the same file is called at one place alone."""
    runs = facts.record.runs.get(frame.function, ()) if frame.function is not None else ()
    is_here = frame.module is facts.module and isinstance(call, ast.Call)
    return is_here and all(it.called_at is call for it in runs if _is_written(it))


def given_together_at(event: Event, things: list[Value]) -> Place:
    """The call that brings together things which do not fit, through however many functions.

    A helper that gets them all from its caller cannot know that they do not fit.
    """
    (frame, syntax), *around = calls(event)
    for caller, called_at in around:
        if not isinstance(called_at, ast.Call) or not all(_is_given(frame, it) for it in things):
            break
        frame, syntax = caller, called_at
    return frame.place(syntax)


def _is_given(frame: Frame, thing: Value) -> bool:
    node = thing.node if isinstance(thing, Data) else None
    return any(
        it is thing or (isinstance(it, Data) and it.node is node) for it in frame.given.values()
    )
