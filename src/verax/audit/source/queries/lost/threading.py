"""States that a function threads through one call and drops at another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...frame import Frame
from ...looping import assigned_names
from ..flow import next_use
from ..reads import reads_of
from ..syntax import body_of, statements_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

_STATES = frozenset("state states carry hidden cache memory h c hx cx mems stats".split())
# With `states` they are what a layer of a transformer computes, for this step alone.
_ACTIVATIONS = frozenset("hidden query key value encoder decoder attention".split())


@dataclass(frozen=True)
class DroppedOnce:
    """A call that drops a state; at `kept_at` the same function hands it on."""

    place: Place
    state: str
    kept_at: Place


def dropped_once(facts: SourceFacts) -> Iterator[DroppedOnce]:
    """`x, state = first(x, state)` and then `x, _ = second(x, state)`."""
    for function, runs in facts.functions():
        yield from _of_function(runs[0], function)
        yield from _of_turns(runs[0], function)


def _of_turns(frame: Frame, function: ast.AST) -> Iterator[DroppedOnce]:
    """`params, final, loss = step(params, hidden, x)` in a loop that never changes `hidden`.

    The other results take the places of the arguments at the same positions.
    """
    reads = reads_of(function)
    for statement in dict.fromkeys(step for step, _ in frame.steps):
        call = _threaded(function, statement)
        loops = reads.around(statement)
        if call is None or not loops:
            continue
        given = [it.id if isinstance(it, ast.Name) else "" for it in call.call.args]
        pairs = list(zip(call.targets, given, strict=False))
        threaded = [new for new, old in pairs if new and new == old]
        for new, old in pairs:
            if not new or not old or new == old or old in assigned_names(loops[-1]):
                continue
            if threaded and _is_state(old) and _is_for_nothing(function, call.statement, new):
                yield DroppedOnce(frame.place(statement), old, frame.place(statement))


def _of_function(frame: Frame, function: ast.AST) -> Iterator[DroppedOnce]:
    steps = (_threaded(function, step) for step, _ in frame.steps)
    calls = [it for it in steps if it is not None]
    for call in calls:
        for number, name in enumerate(call.targets):
            if not _is_for_nothing(function, call.statement, name) or not call.goes_on(number):
                continue
            for other in calls:
                if other.statement is call.statement or number >= len(other.targets):
                    continue
                state = other.targets[number]
                if (
                    not _is_state(state)
                    or state not in other.given
                    or state not in call.given
                    or state == name
                    or state in call.targets  # It comes back at another place.
                ):
                    continue
                if next_use(body_of(frame), call.statement, state) is not None:
                    kept_at = frame.place(other.statement)
                    yield DroppedOnce(frame.place(call.statement), state, kept_at)
                    break


@dataclass(frozen=True)
class _Call:
    """An assignment of a call's results: their names, and the names that the call is given."""

    statement: ast.Assign
    call: ast.Call
    targets: list[str]
    given: frozenset[str]

    def goes_on(self, but: int) -> bool:
        """Whether another result takes the place of what the call was given.

        Who only looks at what a step would give, after the last one, leaves all as it is.
        """
        return any(it in self.given for i, it in enumerate(self.targets) if i != but)


def _threaded(function: ast.AST, statement: ast.stmt) -> _Call | None:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Tuple):
        return None
    call = _call_behind(function, statement)
    if call is None or len(statement.targets) > 1:
        return None
    names = [it.id if isinstance(it, ast.Name) else "" for it in target.elts]
    given = (*call.args, *(it.value for it in call.keywords))
    own = frozenset(it.id for it in given if isinstance(it, ast.Name))
    return _Call(statement, call, names, own)


def _call_behind(function: ast.AST, statement: ast.Assign) -> ast.Call | None:
    """The call whose results are taken apart, be it by a name that they have got just before."""
    value = statement.value
    if isinstance(value, ast.Name):
        made = [
            it.value
            for it in statements_in(function)
            if isinstance(it, ast.Assign) and value.id in assigned_names(it)
        ]
        is_once = len(made) == 1 and reads_of(function).count(value.id) == 1
        value = made[0] if is_once else value
    return value if isinstance(value, ast.Call) else None


def _is_state(name: str) -> bool:
    """Whether something is a state by its name; a position and a direction are none."""
    words = set(words_of(name))
    return not _STATES.isdisjoint(words) and not ("states" in words and words & _ACTIVATIONS)


def _is_for_nothing(function: ast.AST, statement: ast.stmt, name: str) -> bool:
    if not name:
        return False
    return name.startswith("_") or not reads_of(function).after(statement, name)
