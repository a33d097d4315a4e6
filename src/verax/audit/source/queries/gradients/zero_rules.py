"""Derivatives written by hand that are zero: for all arguments of a function, or for some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...classes import innermost_function
from ...events import Fact
from ...graph import Node
from ...library.custom_rules import argument_names, nondifferentiable
from ...values import Sequence, Transformed, Value, nodes_of
from ..surroundings import is_zeros
from .custom_derivatives import return_place
from .flows import Flow, flows

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class Dropped:
    """An argument that gets nothing from a rule, though parameters are trained through it."""

    function: str
    argument: str
    parameter: str
    place: Place
    applied: Place


def dropped_cotangents(facts: SourceFacts) -> Iterator[Dropped]:
    """Arguments with zeros for a cotangent, beside others of the function that get theirs."""
    told: set[tuple[str, str]] = set()
    for fact in facts.events(Fact):
        backward = fact.data.get("backward") if fact.kind == "derivative run" else None
        items = backward.items if isinstance(backward, Sequence) else None
        if items is None or len(items) != len(fact.data["arguments"]):
            continue
        flags = [is_zeros(it) for it in items]
        transformed: Transformed = fact.data["transformed"]
        function = innermost_function(transformed.function)
        if all(flags) or not any(flags) or function is None:
            continue
        names = argument_names(transformed)
        static = nondifferentiable(transformed, names) or ()
        moving = [it for number, it in enumerate(names) if number not in static]
        for number, name in enumerate(moving):
            if not flags[number] or (function.name, name) in told:
                continue
            place = return_place(facts, transformed.rules["bwd"])
            trained = _trained_through(facts, fact.data["arguments"][number], fact.data["result"])
            if place is not None and trained is not None:
                told.add((function.name, name))
                yield Dropped(function.name, name, trained, place, fact.place)


def _trained_through(facts: SourceFacts, argument: Value, result: Value) -> str | None:
    """A parameter that is trained through an argument of a function, if there is one."""
    given = nodes_of(argument)
    for flow in flows(facts):
        for node in given:
            if flow.gets(node) and _reaches(flow, node, result):
                return next(
                    flow.name(it.node) for it in flow.parameters if it.bit & flow.gets(node)
                )
    return None


def _reaches(flow: Flow, node: Node, result: Value) -> bool:
    """Whether a result goes up and down with a value, and the loss with the result."""
    results = [it for it in nodes_of(result) if it in flow.trained_through]
    return node in flow.slice(results)
