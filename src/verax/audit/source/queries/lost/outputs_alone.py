"""Calls that return a new state, of which only the output is taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...facts import SourceFacts
from ...remember import walked
from ...text import text_of
from ..syntax import body_of, statement_around
from .dropped_states import DroppedState
from .updating_calls import updating_calls


def outputs_alone(facts: SourceFacts) -> Iterator[DroppedState]:
    """`out = model.apply(variables, x, mutable=["batch_stats"])[0]`."""
    for call, name in updating_calls(facts):
        frame = call.frame
        for node in walked(body_of(frame)):
            if not isinstance(node, ast.Subscript) or node.value is not call.syntax:
                continue
            if isinstance(node.slice, ast.Constant) and node.slice.value == 0:
                text = text_of(statement_around(frame, node) or node)
                yield DroppedState(call.place, text, f"`{name}`", None)
