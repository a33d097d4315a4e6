"""Where what is wrong inside of a function was handed to it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..classes import fields_are_leaves
from ..events import Event, KeyUse
from ..frame import Frame, Region
from ..graph import Node
from ..remember import walked
from ..values import Constant, Data, Instance, Value, nodes_of
from .boundaries import SEQUENTIAL
from .loops.bodies import calls
from .structures.structure import parts_of
from .written import expressions_of, written_at

if TYPE_CHECKING:
    from ...finding import Place
    from ..facts import SourceFacts

_SHARES = frozenset(("lane", "slice", "carry"))


def handed_in_at(
    event: Event,
    is_it: Callable[[Value], bool],
    region: Region | None = None,
    within: Frame | None = None,
) -> Place:
    """The call that hands in what an event is about, through however many functions.

    A helper that uses what it is given does nothing wrong; who gives it the wrong thing does: its
    caller, or its own signature for who does not say otherwise. Where a function gets the thing by
    other means, from an object, say, it is told there. Nothing is told outside of a region, or of a
    call, that is given.
    """
    chain = list(calls(event))
    is_bounded = region is not None or within is not None
    last = _last_within(chain, region, within)
    at = 0
    while True:
        taker = _taker(chain[at][0], is_it)
        default = None if taker is None or is_bounded else default_at(taker, is_it)
        if default is not None:
            return default
        after = next((i + 1 for i, (frame, _) in enumerate(chain) if frame is taker), len(chain))
        if chain[at][0].function is None:
            after = at + 1  # A transformation hands on what it is given.
        if after > last:
            frame, syntax = chain[at]
            return frame.place(syntax)
        at = after


def default_at(frame: Frame, is_it: Callable[[Value], bool]) -> Place | None:
    """Where the signature of a function says what a parameter is that its caller leaves out."""
    return next(map(frame.place, defaults_of(frame, is_it).values()), None)


def defaults_of(frame: Frame, is_it: Callable[[Value], bool]) -> dict[str, ast.expr]:
    """The parameters of a call that its caller leaves out, each with what the signature says."""
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return {}
    defaults = [it for it in (*function.args.defaults, *function.args.kw_defaults) if it]
    found: dict[str, ast.expr] = {}
    for name, value in frame.given.items():
        written = value.origin[1] if isinstance(value, Constant) and value.origin else None
        if written in defaults and is_it(value):
            found[name] = written
    return found


def _last_within(
    chain: list[tuple[Frame, ast.AST]], region: Region | None, within: Frame | None
) -> int:
    """How far out a chain of calls stays inside of a region and a call."""
    loop: ast.AST | None = region.details.get("syntax") if region is not None else None
    inside = set(map(id, walked(loop))) if loop is not None else set[int]()
    last = len(chain) - 1
    for number, (frame, syntax) in enumerate(chain):
        if frame is within or id(syntax) in inside:
            return number
        if region is not None and loop is None and not _is_around(frame, region):
            # The body can make a key for its turn, but no lane of a map one for itself.
            is_bound = chain[number - 1][0].function is None
            return number - 2 if is_bound and region.kind in SEQUENTIAL else number - 1
    return last


def _taker(frame: Frame, is_it: Callable[[Value], bool]) -> Frame | None:
    """The call that has something as a parameter: this one, or one that its function is within."""
    scope: Frame | None = frame
    while scope is not None:
        if any(map(is_it, _arguments(scope))):
            return scope
        scope = scope.outer
    return None


def _arguments(frame: Frame) -> Iterator[Value]:
    """What a call is given; what `*args` and `**kwargs` gather are arguments like any other."""
    function = frame.function
    gathered: list[ast.arg | None] = []
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        gathered = [function.args.vararg, function.args.kwarg]
    names = {it.arg for it in gathered if it is not None}
    for name, value in frame.given.items():
        yield from parts_of(value).values() if name in names else (value,)


def _is_around(frame: Frame, region: Region) -> bool:
    return frame.region is not None and any(it is region for it in frame.region.chain())


def is_key(*keys: Node) -> Callable[[Value], bool]:
    """Whether a value is one of some keys, by itself or as what is differentiated."""
    nodes = set(map(_plain, keys))
    return lambda value: isinstance(value, Data) and _plain(value.node) in nodes


def _plain(node: Node) -> Node:
    while node.operation == "primal" and node.inputs:
        node = node.inputs[0]
    return node


def handed_apart_at(key: Node, first: Event, second: Event) -> Place | None:
    """Where the second of two uses of a key gets it, in the innermost call that holds them both.

    `None` for one draw that is reached twice with a key that its callers hand it, which only they
    can tell apart.
    """
    others = {frame for frame, _ in calls(first)}
    common = next((frame for frame, _ in calls(second) if frame in others), None)
    if common is None:
        return None
    if first.syntax is second.syntax:
        return _kept_at(second, key, common)
    # What a loop starts from was handed to the function around it.
    starts = [key]
    while (starts[-1].operation in _SHARES or starts[-1].operation == "turn") and starts[-1].inputs:
        starts.append(starts[-1].inputs[0])
    return handed_in_at(second, is_key(*starts), within=common)


def _kept_at(use: Event, key: Node, within: Frame) -> Place | None:
    """Where a function uses a key that nobody hands it: its object or its module keeps that.

    Who calls it a second time cannot know that it will draw the same again; it can advance the key.
    """
    is_it = is_key(key)
    around = list(calls(use))
    at = 0
    while at < len(around) and around[at][0] is not within:
        frame, syntax = around[at]
        taker = _taker(frame, is_it)
        if frame.function is not None and taker is None:
            is_kept = key.frame is not None and key.frame.function is None
            is_own = frame.module is within.module  # Another file may be right for others.
            is_told = is_own and (is_kept or _has_changing_object(frame))
            return frame.place(syntax) if is_told else None
        after = (i + 1 for i, (caller, _) in enumerate(around) if caller is taker)
        at = at + 1 if frame.function is None else next(after, len(around))
    return None


def _has_changing_object(frame: Frame) -> bool:
    """Whether a function is handed an object whose attributes it can set."""
    given = frame.given.values()
    return any(isinstance(it, Instance) and not fields_are_leaves(it.cls) for it in given)


def is_in_value(use: Event, is_it: Callable[[Value], bool]) -> bool:
    """Whether a function is handed something inside of an object that nobody changes."""
    objects = [it for it in use.frame.given.values() if isinstance(it, Instance)]
    return any(
        fields_are_leaves(it.cls) and any(map(is_it, parts_of(it).values())) for it in objects
    )


def put_twice_at(facts: SourceFacts, before: KeyUse, use: KeyUse) -> Place | None:
    """Where a function puts one key under two names into what it returns, for others to use.

    Who uses both of them takes each for a key of its own.
    """
    key = use.key.node
    for frame in itertools.chain.from_iterable(facts.record.runs.values()):
        has_it = frame is key.frame or _taker(frame, is_key(key)) is frame
        is_own = frame.module is facts.module
        if has_it and is_own and not any(it.frame.is_inside(frame) for it in (before, use)):
            for syntax, value in frame.returns:
                whole = syntax.value if isinstance(syntax, ast.Return) else syntax
                held = parts_of(value)
                written = expressions_of(whole, value).items()
                names = [inner for name, inner in written if is_key(key)(held[name])]
                if len(names) > 1:
                    return frame.place(names[1])
    return None


def handed_back_at(use: KeyUse, key: Node, body: Frame | None) -> Place | None:
    """Where a function that a body calls to use a key gives this key back, as in its state."""
    for frame in use.frame.callers():
        if frame is body:
            return None
        for syntax, value in reversed(frame.returns):
            if key in nodes_of(value):
                return frame.place(written_at(frame, syntax, value, key))
    return None


def advanced_at(facts: SourceFacts, use: KeyUse, body: Frame | None) -> Place | None:
    """Where a body calls a function that uses a key and gives its next one back, which is dropped.

    Who would use that one has nothing else to mend; but who gives it a name forgets it later.
    """
    key, used = use.key.node, {it.key.node for it in facts.events(KeyUse)}
    found: Place | None = None
    for frame in use.frame.callers():
        given_back = {node for _, value in frame.returns for node in nodes_of(value)}
        is_advanced = any(it.is_key and it not in used and it.depends_on(key) for it in given_back)
        if frame is body or not (is_advanced or frame.function is None):
            break
        if frame.caller is not None and isinstance(frame.called_at, ast.Call):
            found = frame.caller.place(frame.called_at)
    return None if body is None or _has_name_for_next(body, key, used) else found


def _has_name_for_next(body: Frame, key: Node, used: set[Node]) -> bool:
    """Whether a function has a key under a name that is made from another, and does not use it."""
    return any(
        it.is_key and it not in used and it.depends_on(key)
        for name, value in body.environment.items()
        if not name.startswith("_")
        for it in nodes_of(value)
    )


def given_back_at(before: KeyUse, use: KeyUse) -> Place | None:
    """Where a function that has used a key returns it in its state, for somebody to use again."""
    for frame in before.frame.callers():
        if use.frame.is_inside(frame):
            return None
        for syntax, value in reversed(frame.returns):
            if not isinstance(value, Data) and before.key.node in nodes_of(value):
                return frame.place(written_at(frame, syntax, value, before.key.node))
    return None


def entered(use: KeyUse, other: KeyUse) -> Event:
    """Where a key enters the loop or map that uses it, if another use of it is outside of that."""
    node, found = use.key.node, Event(use.syntax, use.frame)
    around = set(other.region.chain()) if other.region is not None else set[Region]()
    while node.operation in _SHARES and node.inputs:
        own = node.varies - node.inputs[0].varies
        if own.isdisjoint(around) and node.syntax is not None and node.frame is not None:
            found = Event(_argument(node.syntax, node.frame, node.inputs[0]), node.frame)
        node = node.inputs[0]
    return found


def _argument(syntax: ast.AST, frame: Frame, given: Node) -> ast.AST:
    """What a call is given by a name, or the call itself where no name is seen to hold it."""
    for it in walked(syntax) if isinstance(syntax, ast.Call) else ():
        held = frame.environment.get(it.id) if isinstance(it, ast.Name) else None
        if isinstance(held, Data) and held.node is given:
            return it
    return syntax
