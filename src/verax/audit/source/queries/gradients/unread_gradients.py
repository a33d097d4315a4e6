"""Gradients that are computed, given a name, and never read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...values import nodes_of
from ..lost.dropped_states import named_parts_of
from ..reads import reads_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


def unread_gradients(facts: SourceFacts) -> Iterator[tuple[str, Place]]:
    """The names of such gradients, and where they are computed."""
    told: set[ast.stmt] = set()
    for function, runs in facts.functions():
        # A test, or a measurement, may only want to see that they can be computed.
        if function.name.lstrip("_").startswith(("test", "bench", "warm", "profile", "time")):
            continue
        # Nor does a program that prints a value and gives nothing back want to train.
        for statement, value in runs[0].steps if runs[0].returns else ():
            if not isinstance(statement, ast.Assign) or statement in told:
                continue
            for target, part in named_parts_of(statement.targets[0], value):
                nodes = nodes_of(part)
                if not nodes or any(it.operation != "gradient" for it in nodes):
                    continue
                if not isinstance(target, ast.Name) or target.id.startswith("_"):
                    continue
                if not reads_of(function).after(statement, target.id):
                    told.add(statement)
                    yield target.id, runs[0].place(statement)


def unread_tangents(facts: SourceFacts) -> Iterator[Place]:
    """Where the value that `jvp` returns is given a name to be read, and the tangent is not."""
    told: set[ast.stmt] = set()
    for call in facts.calls(("jax.jvp", "equinox.filter_jvp")):
        steps = [it for it, value in call.frame.steps if value is call.result]
        for statement in steps:
            if statement in told or not isinstance(statement, ast.Assign):
                continue
            parts = list(named_parts_of(statement.targets[0], call.result))
            names = [it.id for it, _ in parts if isinstance(it, ast.Name)]
            function = call.frame.function
            if len(names) != 2 or len(parts) != 2 or function is None:
                continue
            value_read, tangent_read = (
                not it.startswith("_") and reads_of(function).after(statement, it) for it in names
            )
            if value_read and not tangent_read:
                told.add(statement)
                yield call.frame.place(statement)
