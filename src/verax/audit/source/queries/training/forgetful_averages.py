"""Moving averages of parameters that have mostly the weight of what was updated just now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...graph import Node
from ...values import Constant, Data, Value, nodes_of
from ..nodes import nodes_by

if TYPE_CHECKING:
    from ...facts import SourceFacts

_UPDATED = ("apply_updates", ".apply_gradients")


@dataclass(frozen=True)
class ForgetfulAverage:
    """An average in which the new parameters weigh this much."""

    place: Place
    weight: float


def forgetful_averages(facts: SourceFacts) -> Iterator[ForgetfulAverage]:
    """Averages that functions of the file take of updated parameters and of others."""
    told: set[Place] = set()
    for place, weight in (*_of_optax(facts), *_by_hand(facts)):
        if place not in told and 0.5 < weight < 1.0:
            told.add(place)
            yield ForgetfulAverage(place, weight)


def _of_optax(facts: SourceFacts) -> Iterator[tuple[Place, float]]:
    for call in facts.calls(("optax.incremental_update",)):
        given = dict(zip(("new_tensors", "old_tensors", "step_size"), call.args, strict=False))
        given |= call.keywords
        step = _number(given.get("step_size"))
        new, old = given.get("new_tensors"), given.get("old_tensors")
        if step is not None and call.frame.module is facts.module:
            weight = _weight_of_updated(((new, step), (old, 1.0 - step)))
            if weight is not None:
                yield call.place, weight


def _by_hand(facts: SourceFacts) -> Iterator[tuple[Place, float]]:
    """`0.995 * params + 0.005 * target`, be it leaf by leaf."""
    for node in nodes_by(facts, ("+",)):
        if len(node.operands) != 2:
            continue
        one, other = (_product(it) for it in node.operands)
        if one is None or other is None or abs(one[1] + other[1] - 1.0) > 1e-6:
            continue
        weight = _weight_of_updated((one, other))
        is_own = node.frame is not None and node.frame.module is facts.module
        place = node.place if weight is not None and is_own else None
        if weight is not None and place is not None:
            yield place, weight


def _product(value: Value) -> tuple[Value, float] | None:
    """What a number multiplies, and the number."""
    node = value.node if isinstance(value, Data) else None
    if node is None or node.operation != "*" or len(node.operands) != 2:
        return None
    for one, other in (node.operands, node.operands[::-1]):
        number = _number(one)
        if number is not None:
            return other, number
    return None


def _number(value: Value | None) -> float | None:
    found = value.value if isinstance(value, Constant) else None
    return float(found) if isinstance(found, (int, float)) else None


def _weight_of_updated(parts: tuple[tuple[Value | None, float], ...]) -> float | None:
    """The weight of what is updated, if that is one of the two."""
    updated = [(_is_updated(value), weight) for value, weight in parts if value is not None]
    weights = [weight for is_updated, weight in updated if is_updated]
    return weights[0] if len(updated) == 2 and len(weights) == 1 else None


def _is_updated(value: Value) -> bool:
    nodes = nodes_of(value)
    return bool(nodes) and all(_whole(it).operation.endswith(_UPDATED) for it in nodes)


def _whole(node: Node) -> Node:
    """The tree or the record that a node is a leaf of."""
    while node.operation in ("item", "field") and node.inputs:
        node = node.inputs[0]
    return node
