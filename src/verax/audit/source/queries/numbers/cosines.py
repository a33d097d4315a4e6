"""Angles by the arccosine of a cosine that is computed from two vectors.

The cosine of two parallel vectors is one, and rounding takes it beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import CONTRACTIONS, NORMS, ROOTS, SUMS
from ...values import Constant, Data
from ..arrays import calls_of
from .meaning import first_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts

_ENDS = SUMS | CONTRACTIONS | {"/"}
# What is larger keeps the quotient below one.
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class Angle:
    """A call of `arccos` or `arcsin`, and the cosine that it is given as it is."""

    name: str
    call: Node
    cosine: Node


def of_cosines(facts: SourceFacts) -> Iterator[Angle]:
    """All such calls."""
    for call in calls_of(facts, "arccos", "arcsin", "acos", "asin"):
        given = call.args[0] if call.args else None
        if not isinstance(given, Data) or not isinstance(call.result, Data):
            continue
        cosine = _taken(given.node)
        if _is_of_units(cosine) or _is_quotient(cosine):
            yield Angle(call.name.rpartition(".")[2], call.result.node, given.node)


def _taken(node: Node) -> Node:
    """A value before a part of it was taken, or its axes were changed, unless it was cut off."""
    found = first_behind(node, lambda it: it.operation in _ENDS or it.operation.endswith("clip"))
    return found if found is not None else node


def _is_of_units(node: Node) -> bool:
    """Whether two vectors of length one are multiplied and summed up."""
    factors = _multiplied(node)
    return len(factors) == 2 and all(_unit(it) for it in factors)


def _is_quotient(node: Node) -> bool:
    """`(a @ b) / (|a| * |b|)`."""
    if node.operation != "/" or len(node.inputs) != 2:
        return False
    above, below = node.inputs
    lengths = below.inputs if below.operation == "*" else ()
    return bool(_multiplied(above)) and len(lengths) == 2 and all(map(_is_length, lengths))


def _multiplied(node: Node) -> tuple[Node, ...]:
    """What is multiplied and summed up: `a` and `b` of `jnp.sum(a * b, -1)`, or of `a @ b`."""
    if node.operation in SUMS and node.inputs:
        node = node.inputs[0]
        return node.inputs if node.operation == "*" else ()
    return node.inputs if node.operation in CONTRACTIONS else ()


def _unit(node: Node) -> bool:
    return first_behind(node, _is_unit) is not None


def _is_unit(node: Node) -> bool:
    """`x / |x|`."""
    if node.operation != "/" or len(node.inputs) != 2:
        return False
    of, length = node.inputs
    return _is_length(length) and length.depends_on(of)


def _is_length(node: Node) -> bool:
    """Whether it is the length of a vector, be it by hand and with a tiny number."""
    node = _without_tiny(node)
    if node.operation in NORMS:
        return True
    inside = node.inputs[0] if node.operation in ROOTS and node.inputs else None
    return inside is not None and _without_tiny(inside).operation in (*SUMS, *CONTRACTIONS)


def _without_tiny(node: Node) -> Node:
    added = node.operands[1] if node.operation == "+" and len(node.operands) == 2 else None
    number = added.value if isinstance(added, Constant) else None
    is_tiny = isinstance(number, float) and abs(number) <= _TINY
    return node.inputs[0] if is_tiny else node
