"""New states that a loss returns beside its value, and that who differentiates it does not keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ....words import words_of
from ...events import Applied
from ...facts import SourceFacts
from ...frame import Frame
from ...graph import Node
from ...library.options import argument_numbers
from ...text import text_of
from ...values import NONE, Value, nodes_of
from ..flow import next_use
from ..syntax import body_of
from .dropped_states import DroppedState, is_dropped, is_never_read, named_parts_of, used_later
from .taken_states import taken_states
from .updating_calls import mutated_states, states_given
from .versions import keeps_field


class _Loss(NamedTuple):
    """A run of a loss, and by which of its arguments it is differentiated."""

    run: Frame
    by: frozenset[int]


def trained_states(facts: SourceFacts) -> Iterator[DroppedState]:
    """`(loss, _), grads = step(params, state)`: a loss returns `new_state`, `state` is used on."""
    losses = _losses(facts)
    if not losses:
        return
    renewed = {node: states_given(call) for node, (_, call) in mutated_states(facts).items()}
    renewed |= taken_states(facts)
    told: set[ast.stmt] = set()
    for frame in facts.own_frames:
        for statement, value in frame.steps:
            call = statement.value if isinstance(statement, ast.Assign) else None
            if not isinstance(statement, ast.Assign) or statement in told or call not in losses:
                continue
            for found in _of_statement(frame, statement, value, losses[call], renewed):
                told.add(statement)
                yield found
                break


def _losses(facts: SourceFacts) -> dict[ast.AST | None, list[_Loss]]:
    """The runs of losses, by the calls that take their gradients."""
    calls = {
        it.syntax: frozenset(argument_numbers(it.transformed) or ())
        for it in facts.events(Applied)
        if it.transformed.kind in ("value_and_grad", "grad") and "has_aux" in it.transformed.options
    }
    found: dict[ast.AST | None, list[_Loss]] = {}
    for run in facts.frames if calls else ():
        if run.called_at in calls:
            found.setdefault(run.called_at, []).append(_Loss(run, calls[run.called_at]))
    return found


def _of_statement(
    frame: Frame,
    statement: ast.Assign,
    value: Value,
    losses: list[_Loss],
    renewed: dict[Node, list[Node]],
) -> Iterator[DroppedState]:
    target, call = statement.targets[0], statement.value
    assert isinstance(call, ast.Call)
    for name, part in named_parts_of(target, value) if isinstance(target, ast.Tuple) else ():
        if not is_never_read(frame, name):
            continue
        for loss in losses:
            for argument in _renewed(loss, call, set(nodes_of(part)), renewed):
                used = _used_on(frame, statement, argument)
                if used is not None:
                    at, text = statement if is_dropped(name) else used, text_of(statement)
                    what = f"`{text_of(argument)}`"
                    yield DroppedState(frame.place(at), text, what, frame.place(used))


def _used_on(frame: Frame, statement: ast.Assign, old: ast.expr) -> ast.AST | None:
    """Where a name, or a field of one, is used after a statement as it was before."""
    if isinstance(old, ast.Name):
        return used_later(frame, statement, old.id)
    if not isinstance(old, ast.Attribute) or not isinstance(old.value, ast.Name):
        return None
    used = next_use(body_of(frame), statement, text_of(old))
    # A record that is made anew from the old one has the field as it was.
    return used or keeps_field(body_of(frame), statement, old.value.id, old.attr)


def _renewed(
    loss: _Loss, call: ast.Call, part: set[Node], renewed: dict[Node, list[Node]]
) -> Iterator[ast.expr]:
    """The arguments of which a function returns a new version.

    By its own names for them, or since it has applied a module to one. What it is differentiated
    by is trained, and renewed by somebody else.
    """
    run = loss.run
    parameters = [it.arg for it in getattr(getattr(run.function, "args", None), "args", [])]
    arguments = {
        name: given
        for number, (name, given) in enumerate(zip(parameters, call.args, strict=False))
        if number not in loss.by
    }
    arguments |= {it.arg: it.value for it in call.keywords if it.arg is not None}
    for syntax, value in run.returns:
        returned = syntax.value if isinstance(syntax, ast.Return) else None
        for written, given in named_parts_of(returned, value) if returned is not None else ():
            if part.isdisjoint(nodes_of(given)):
                continue
            name = written.id if isinstance(written, ast.Name) else ""
            states = {node for it in _wholes(given) for node in renewed.get(it, ())}
            for parameter, argument in arguments.items():
                old = set(nodes_of(run.given.get(parameter, NONE)))
                is_new = _is_new_name(name, parameter) and old.isdisjoint(nodes_of(given))
                if is_new or old & states:
                    yield argument


def _wholes(value: Value) -> Iterator[Node]:
    """What a value is, and what it is a part of."""
    for node in nodes_of(value):
        while node.operation in ("item", "field") and node.inputs:
            yield node
            node = node.inputs[0]
        yield node


_NEW = frozenset(("new", "next", "updated"))


def _is_new_name(name: str, old: str) -> bool:
    """Whether a name is one for the next version: `new_state` of `state`."""
    words = words_of(name)
    without = tuple(it for it in words if it not in _NEW)
    return without == words_of(old) and (name == old or without != words)
