"""Steps along a gradient that make a sum of squares larger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Applied
from ...graph import Node
from ...values import Constant, Data, Instance, Mapping, Sequence, Value, leaves, nodes_of
from ..boundaries import GRADIENTS
from ..nodes import users_of
from .flows import Flow, flows
from .loss_terms import Term, squared, terms

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Means of losses that are never negative, and zero for the best prediction.
_LOSSES = frozenset(
    f"optax.{module}{name}"
    for module in ("", "losses.")
    for name in (
        "l2_loss",
        "squared_error",
        "huber_loss",
        "log_cosh",
        "softmax_cross_entropy",
        "softmax_cross_entropy_with_integer_labels",
        "sigmoid_binary_cross_entropy",
    )
)
_SAME = frozenset("last join carry turn primal copy".split())


@dataclass(frozen=True, eq=False)
class Climb:
    """A sum of parameters and a positive multiple of their gradient."""

    derivative: Applied
    step: Node


def climbs(facts: SourceFacts) -> Iterator[Climb]:
    """Steps up the gradient of an error, with respect to a tree of parameters."""
    found = [it for it in flows(facts) if it.event.transformed.kind in GRADIENTS and _is_error(it)]
    users = users_of(facts) if found else {}
    again = {node for it in facts.events(Applied) for value in it.args for node in nodes_of(value)}
    for flow in found:
        parameters = _parameters(flow.event)
        for gradient in _gradients(flow.event) if parameters else ():
            for step in _steps_up(gradient, parameters, users):
                # A step that is tried out, to be taken back, finds the worst case near by.
                if step not in again:
                    yield Climb(flow.event, step)


def _is_error(flow: Flow) -> bool:
    """Whether a loss is a sum of squares, or of other losses that cannot be negative."""
    parts = terms(flow, [Term(node, 1) for node in flow.results])
    parts = [it for it in parts if flow.gets(it.node)]
    return bool(parts) and all(it.sign > 0 and _is_positive(it.node) for it in parts)


def _is_positive(node: Node) -> bool:
    return squared(node) is not None or node.operation in _LOSSES


def _parameters(event: Applied) -> set[Node]:
    """The leaves of the differentiated argument, if that is a tree: one array may be an input."""
    argument: Value | None = event.args[0] if event.args else None
    if "argnums" in event.transformed.options or argument is None:
        return set()
    if not isinstance(argument, (Mapping, Sequence, Instance)) or len(leaves(argument)) < 2:
        return set()
    return set(nodes_of(argument))


def _gradients(event: Applied) -> list[Node]:
    return [it for it in nodes_of(event.outside) if it.operation == "gradient"]


def _steps_up(
    gradient: Node, parameters: set[Node], users: dict[Node, list[Node]]
) -> Iterator[Node]:
    """Sums of the parameters and what has the gradient's sign."""
    pending, seen = [(gradient, 1)], {gradient}
    while pending and len(seen) < 40:
        current, sign = pending.pop()
        for user in users.get(current, ()):
            if user in seen:
                continue
            seen.add(user)
            kept = _sign_through(user, current)
            if kept == 0:
                continue
            others = [it for it in user.inputs if it is not current]
            if user.operation in ("+", "-") and not parameters.isdisjoint(others):
                if sign * kept > 0:
                    yield user
                continue
            pending.append((user, sign * kept))


def _sign_through(node: Node, part: Node) -> int:
    """The sign with which a part goes into a value; zero if that cannot be told."""
    operation, operands = node.operation, node.operands
    if operation in _SAME or operation == "+":
        return 1
    if operation == "-x":
        return -1
    if len(operands) != 2 or operation not in ("-", "*", "/"):
        return 0
    first, second = operands
    is_first = isinstance(first, Data) and first.node is part
    if operation == "-":
        return 1 if is_first else -1
    other = second if is_first else first
    if operation == "/" and not is_first:
        return 0
    number = other.value if isinstance(other, Constant) else None
    if isinstance(number, (int, float)):
        return -1 if number < 0 else 1
    return _sign_of(other)


def _sign_of(value: Value) -> int:
    """The sign of a factor: positive, unless it is written with a minus."""
    node = value.node if isinstance(value, Data) else None
    sign = 1
    for _ in range(8):
        if node is None:
            return sign
        if node.operation == "-x":
            sign = -sign
        elif node.operation in ("*", "/"):
            for it in node.operands:
                number = it.value if isinstance(it, Constant) else None
                if isinstance(number, (int, float)) and number < 0:
                    sign = -sign
        elif node.operation not in _SAME:
            return sign
        node = node.inputs[0] if node.inputs else None
    return sign
