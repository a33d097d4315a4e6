"""Divisions by what is zero somewhere, for certain: how far each is from itself, an empty start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import GUARDS, NORMS, RECIPROCALS, ROOTS, ZEROS
from ...values import Constant, Data, Value
from ..gradients.infinite_slopes import zero_behind
from ..nodes import nodes_by, users_of
from .empty_segments import without_views

if TYPE_CHECKING:
    from ...facts import SourceFacts

_LENGTHS = ROOTS | NORMS
_TURNS = frozenset(("carry", "turn", "lane"))
# They leave out what is not finite.
_CHOICES = GUARDS | {"fill_diagonal"}


@dataclass(frozen=True, eq=False)
class ByZero:
    """A quotient, why its divisor is zero, and where that comes from."""

    quotient: Node
    why: str
    origin: Node


def by_zero(facts: SourceFacts) -> Iterator[ByZero]:
    """All such divisions whose result nobody chooses from."""
    users: dict[Node, list[Node]] | None = None
    for node in nodes_by(facts, _DIVISIONS):
        divisor = _divisor(node)
        found = _zero(without_views(divisor.node)) if isinstance(divisor, Data) else None
        if found is None or _is_in_branch(node):
            continue
        users = users if users is not None else users_of(facts)
        if not _is_chosen(node, users):
            yield ByZero(node, *found)


# With an operand that must not be zero.
_DIVISIONS = RECIPROCALS | {"/", "**"}


def _divisor(node: Node) -> Value | None:
    """What must not be zero: also in `r ** -2`, `rsqrt(r)`."""
    operands = node.operands
    if len(operands) == 2 and node.operation in ("/", "**"):
        power = operands[1].value if isinstance(operands[1], Constant) else 0
        if node.operation == "/":
            return operands[1]
        return operands[0] if isinstance(power, (int, float)) and power < 0 else None
    return operands[0] if len(operands) == 1 else None


def _zero(divisor: Node) -> tuple[str, Node] | None:
    """Why a divisor is zero somewhere, and with what: a distance, or the square of one."""
    given = divisor.operands[0] if divisor.operation in _LENGTHS and divisor.operands else None
    origin = zero_behind(given.node if isinstance(given, Data) else divisor)
    if origin is not None and origin.operation == "-":
        return "the distance of each to itself is zero", origin
    start = divisor
    while start.operation in _TURNS and start.inputs:
        start = start.inputs[0]
    if start is not divisor and divisor.operation != "lane" and start.operation in ZEROS:
        return "the loop starts with zeros", start
    return None


def _is_in_branch(node: Node) -> bool:
    around = node.region.chain() if node.region is not None else ()
    return any(it.kind in ("cond", "switch", "branch") for it in around)


def _is_chosen(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether a choice is made from a value, or from a product with it."""
    pending, seen = [node], {node}
    while pending and len(seen) < 20:
        for user in users.get(pending.pop(), ()):
            if user.operation.rpartition(".")[2] in _CHOICES:
                return True
            if user.operation in ("*", "+", "-", "-x") and user not in seen:
                seen.add(user)
                pending.append(user)
    return False
