"""States that are taken out of a model again, after calls that have changed it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...events import Call
from ...facts import SourceFacts
from ...frame import Frame
from ...graph import Node
from ...values import Constant, Instance, nodes_of
from ..syntax import body_of
from .merged_models import calls_of, is_changed_by_calls
from .updating_calls import EVALUATING


def taken_states(facts: SourceFacts) -> dict[Node, list[Node]]:
    """What `nnx.state(model, …)` gives after a call of a merged model: each with the old states."""
    found: dict[Node, list[Node]] = {}
    for call in facts.calls(("flax.nnx.state", "flax.nnx.split")):
        model = call.args[0] if call.args else None
        if not isinstance(model, Instance) or not _is_changed(facts, call, model):
            continue
        parts = [it for it in nodes_of(model) if it.operation == "merged"]
        old = list(dict.fromkeys(state for it in parts for state in it.inputs[1:]))
        # A model that is split into graph and state stands for both.
        found |= {it: old for it in nodes_of(call.result) if it not in parts}
    return found


def _is_changed(facts: SourceFacts, taken: Call, model: Instance) -> bool:
    """Whether a function has called a model in a way that changes it, before its state is taken."""
    given = getattr(taken.syntax, "args", [None])[0]
    name, frame = given.id if isinstance(given, ast.Name) else "", taken.frame
    calls = (
        [it for it in calls_of(body_of(frame), name) if it.lineno <= _line(taken)] if name else []
    )
    told = [flag for it in calls for flag in _told(facts, frame, it)]
    if not calls or (told and all(told)):
        return False  # It was asked, and not trained.
    return is_changed_by_calls(facts, model, is_trained=bool(told))


def _line(call: Call) -> int:
    return getattr(call.syntax, "lineno", 0)


def _told(facts: SourceFacts, frame: Frame, call: ast.Call) -> Iterator[bool]:
    """Whether a model is told to be evaluated, by each flag that it is given for that."""
    for run in facts.frames:
        if run.called_at is call and run.caller is frame:
            for name, flag in EVALUATING.items():
                it = run.given.get(name)
                if isinstance(it, Constant) and isinstance(it.value, bool):
                    yield it.value is flag
