"""Calls that return a new state which nobody keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ....finding import Place
from ...classes import fields_are_leaves
from ...events import Call, Event
from ...facts import SourceFacts
from ...frame import Frame
from ...graph import Node
from ...remember import walked
from ...text import text_of
from ...values import Class, Data, Instance, Mapping, Sequence, Value, nodes_of
from ..flow import next_use
from ..reads import reads_of
from ..structures.structure import held
from ..syntax import body_of
from ..training.optimisers import renewed_states
from .updating_calls import mutated_states, states_given


class DroppedState(NamedTuple):
    """A statement, what of it is dropped, and where the old state is used again."""

    place: Place
    text: str
    what: str
    used: Place | None


def dropped_states(facts: SourceFacts) -> Iterator[DroppedState]:
    """The statements of a file that drop a new state."""
    mutated, optimised = mutated_states(facts), renewed_states(facts)
    told: dict[ast.stmt, DroppedState] = {}
    for frame in facts.own_frames:
        for statement, value in frame.steps:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
                continue
            target = statement.targets[0]
            if isinstance(target, ast.Tuple):
                found = (
                    _of_flax(frame, statement, value, mutated)
                    or _of_optimiser(frame, statement, target)
                    or _of_helper(frame, statement, value, optimised)
                    or _of_functions(frame, statement, target, value)
                )
                known = told.get(statement)
                # A run that knows less may only know where it is dropped, and not who goes on.
                is_better = known is None or known.place == frame.place(statement)
                if found is not None and is_better:
                    told[statement] = found
    yield from told.values()


def dropped_versions(facts: SourceFacts) -> Iterator[tuple[Event, str]]:
    """Statements that only call for a new version of a state, `stats.update(x)`, and its name."""
    for frame in facts.own_frames:
        for statement, value in frame.steps:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and _is_state(value):
                yield from ((Event(call, frame), it) for it in _old_versions(frame, call, value))


def _is_state(value: Value) -> bool:
    """Whether it is an object that JAX takes for a tree, which methods do not change."""
    cls = value.cls if isinstance(value, Instance) else getattr(value, "type", None)
    return isinstance(cls, Class) and fields_are_leaves(cls)


def _old_versions(frame: Frame, call: ast.Call, new: Value) -> list[str]:
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    given = [it for it in (*owner, *call.args) if isinstance(it, (ast.Name, ast.Attribute))]
    if all(it.operation == "call" for it in nodes_of(new)):
        return []  # What an unknown function gives, which may be there for what it does.
    olds = [(text_of(it), held(frame, it)) for it in given]
    return [
        name for name, old in olds if old is not None and old is not new and is_version_of(new, old)
    ][:1]


def is_dropped(target: ast.expr) -> bool:
    """Whether a name says that nobody needs what it gets."""
    return isinstance(target, ast.Name) and target.id.startswith("_")


def is_never_read(frame: Frame, target: ast.expr) -> bool:
    """Whether a name is one for nothing, or nothing reads it."""
    if not isinstance(target, ast.Name) or frame.function is None:
        return False
    return is_dropped(target) or not reads_of(frame.function).count(target.id)


def _is_looked_into(frame: Frame, used: ast.AST) -> bool:
    """Whether a name is read for a part of it, and not passed on."""
    return any(
        isinstance(node, (ast.Attribute, ast.Subscript)) and node.value is used
        for node in walked(body_of(frame))
    )


def _of_optimiser(frame: Frame, statement: ast.Assign, target: ast.Tuple) -> DroppedState | None:
    """`updates, _ = optimiser.update(grads, state, params)`, and `state` is used again."""
    call = statement.value
    assert isinstance(call, ast.Call)
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "update":
        return None
    if len(target.elts) != 2 or not 2 <= len(call.args) <= 3 or call.keywords:
        return None
    state = call.args[1]
    if not is_never_read(frame, target.elts[1]) or not isinstance(state, (ast.Name, ast.Attribute)):
        return None
    text = text_of(state)
    used = next_use(body_of(frame), statement, text)
    if used is None or _is_looked_into(frame, used):
        return None
    words = text_of(statement)
    return DroppedState(frame.place(statement), words, f"`{text}`", frame.place(used))


def _of_helper(
    frame: Frame, statement: ast.Assign, value: Value, optimised: dict[Node, tuple[Node, Frame]]
) -> DroppedState | None:
    """`params, _ = descend(grads, state.opt, params)`, and the old `state.opt` is returned."""
    if "eval_shape" in text_of(statement.value):
        return None  # It asks for shapes, and computes nothing.
    for name, part in named_parts_of(statement.targets[0], value):
        for node in nodes_of(part):
            old, caller = optimised.get(node, (None, frame))
            if old is None or caller is frame or not is_never_read(frame, name):
                continue
            for syntax, returned in frame.returns:
                if old in nodes_of(returned):
                    text = text_of(statement)
                    used = frame.place(syntax)
                    return DroppedState(frame.place(statement), text, "an optimiser's state", used)
    return None


def _of_flax(
    frame: Frame, statement: ast.Assign, value: Value, mutated: dict[Node, tuple[str, Call]]
) -> DroppedState | None:
    """`out, _ = model.apply(variables, …, mutable=["batch_stats"])`, also where a loss did so."""
    for name, part in named_parts_of(statement.targets[0], value):
        found = next((mutated[node] for node in nodes_of(part) if node in mutated), None)
        if found is None or not is_never_read(frame, name):
            continue
        what, call = found
        # Who is handed it by somebody else may well not need it.
        if call.frame is frame or not is_dropped(name):
            text, old = text_of(statement), set(states_given(call))
            handed_on = None if is_dropped(name) else _handed_on(frame, old)
            place = frame.place(statement if handed_on is None else handed_on)
            return DroppedState(place, text, f"`{what}`", None)
    return None


def _handed_on(frame: Frame, old: set[Node]) -> ast.AST | None:
    """The last `return` that gives back something old: who names the new one means to do better."""
    found = [syntax for syntax, value in frame.returns if not old.isdisjoint(nodes_of(value))]
    return found[-1] if found else None


def named_parts_of(target: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """The names of an assignment with what each of them gets."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    for number, name in enumerate(target.elts):
        if isinstance(name, ast.Starred):
            return
        part: Value | None = None
        if isinstance(value, Sequence) and value.items is not None:
            part = value.items[number] if number < len(value.items) else None
        elif isinstance(value, Data) and value.node.children is not None:
            node = value.node.children.get(("item", ("constant", number)))
            part = None if node is None else Data(node)
        if part is not None:
            yield from named_parts_of(name, part)


def _of_functions(
    frame: Frame, statement: ast.Assign, target: ast.Tuple, value: Value
) -> DroppedState | None:
    """`y, _ = batch_norm(stats, x)`, and `stats` is used again."""
    if not isinstance(value, Sequence) or value.items is None:
        return None
    if len(value.items) != len(target.elts):
        return None
    call = statement.value
    assert isinstance(call, ast.Call)
    for name_syntax, new in zip(target.elts, value.items, strict=True):
        # What comes first is the result that one asks for.
        if not is_dropped(name_syntax) or name_syntax is target.elts[0]:
            continue
        for argument in _names_given(call):
            old = frame.environment.get(argument.id)
            used = used_later(frame, statement, argument.id)
            if old is not None and used is not None and is_version_of(new, old):
                what = f"`{argument.id}`"
                place = frame.place(statement)
                return DroppedState(place, text_of(statement), what, frame.place(used))
    return None


def _names_given(call: ast.Call) -> list[ast.Name]:
    """The names that a call is given, also those that are packed into a record or a dict for it."""
    arguments = (*call.args, *(it.value for it in call.keywords))
    return [node for it in arguments for node in walked(it) if isinstance(node, ast.Name)]


def is_version_of(new: Value, old: Value) -> bool:
    """Whether a tree has the structure of another one, and is made from it."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        same = bool(new.items) and new.items.keys() == old.items.keys()
    elif isinstance(new, Instance) and isinstance(old, Instance):
        same = new.cls is old.cls
    elif isinstance(new, Sequence) and isinstance(old, Sequence):
        same = new.type is not None and new.type is old.type
    else:
        same = False
    if not same:
        return False
    sources = set(nodes_of(old))
    return any(
        node not in sources and not sources.isdisjoint(node.ancestors()) for node in nodes_of(new)
    )


def used_later(frame: Frame, statement: ast.stmt, name: str) -> ast.AST | None:
    """Where a name is read after a statement, before it gets another value."""
    end = statement.end_lineno or statement.lineno
    later = [
        node
        for node in walked(body_of(frame))
        if isinstance(node, ast.Name) and node.id == name and node.lineno > end
    ]
    if not later:
        return None
    first = min(later, key=lambda node: (node.lineno, node.col_offset))
    return first if isinstance(first.ctx, ast.Load) else None
