"""Steps along a gradient that make a sum of squares larger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Applied
from ...graph import Node
from ...operations import GIVEN, PARTS
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
    derived = [it for it in flows(facts) if it.event.transformed.kind in GRADIENTS]
    found = [it for it in derived if _is_error(it)]
    users = users_of(facts) if found else {}
    again = {node for it in facts.events(Applied) for value in it.args for node in nodes_of(value)}
    for flow in found:
        parameters = _parameters(flow.event)
        for gradient in _gradients(flow.event) if parameters else ():
            for step in _steps_up(gradient, parameters, users):
                # A step that is tried out, to be taken back, finds the worst case near by.
                if step not in again:
                    yield Climb(flow.event, step)


def goes_up(facts: SourceFacts, updates: Node) -> bool:
    """Whether what an optimiser is given may be the gradient of what is to become small.

    It is none that is turned round, and none of a score: a sum without a term that is an error, or
    that is subtracted.
    """
    derived = {
        gradient: it
        for it in flows(facts)
        if it.event.transformed.kind in GRADIENTS
        for gradient in _gradients(it.event)
    }
    pending = [(it, 1) for it in updates.inputs[1:]]
    seen = {updates}
    while pending and len(seen) < 100:
        node, sign = pending.pop()
        if node in derived and (sign < 0 or _is_score(derived[node])):
            return False
        if node in seen or node in derived:
            continue
        seen.add(node)
        pending += [(it, sign * (_sign_through(node, it) or 1)) for it in node.inputs]
    return True


def _is_score(flow: Flow) -> bool:
    """Whether it is known what is differentiated, and nothing in it asks to become small."""
    parts = [it for it in _terms(flow) if flow.gets(it.node)]
    is_known = bool(parts) and all(it.node.operation != "call" for it in parts)
    return is_known and not any(it.sign < 0 or _is_positive(it.node) for it in parts)


def _terms(flow: Flow) -> list[Term]:
    return terms(flow, [Term(node, 1) for node in flow.results])


def _is_error(flow: Flow) -> bool:
    """Whether a loss is a sum of squares, or of other losses that cannot be negative."""
    parts = [it for it in _terms(flow) if flow.gets(it.node)]
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
    return sign_of(other)


def sign_of(value: Value, depth: int = 0) -> int:
    """The sign of a number, zero if that is not known; what is given is positive as it comes."""
    if isinstance(value, Constant):
        number = value.value
        return -1 if isinstance(number, (int, float)) and number < 0 else 1
    node = value.node if isinstance(value, Data) else None
    if node is None or depth > _DEEPEST:
        return 0
    parts = [sign_of(it, depth + 1) for it in node.operands or map(Data, node.inputs)]
    name = node.operation.rpartition(".")[2]
    if name in _NEVER_NEGATIVE:
        return 1
    if not parts:
        return int(node.operation in GIVEN)
    if node.operation == "-x":
        return -parts[0]
    if node.operation in ("*", "/"):
        return math.prod(parts)
    if node.operation == "+":
        return parts[0] if len(set(parts)) == 1 else 0
    return parts[0] if node.operation in _SAME | PARTS | {"**"} else 0


_DEEPEST = 8
_NEVER_NEGATIVE = frozenset("exp sqrt abs square softplus sigmoid norm".split())
