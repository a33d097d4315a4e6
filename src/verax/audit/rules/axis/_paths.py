"""How an axis got where it is, as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finding import Evidence

if TYPE_CHECKING:
    from ...trace.axes.axis import Dimension
    from ...trace.facts import Facts

_MOST = 6


def path_of(facts: Facts, dimension: Dimension, name: str) -> tuple[Evidence, ...]:
    """The way of an axis from the input that brings it to a dimension, a line of code a step."""
    from ...trace.describe import tensor_of

    value, index = dimension.value, dimension.index
    chain = [(value, index)]
    while (value, index) in facts.axes.came_from and len(chain) < 1000:
        value, index = facts.axes.came_from[value, index]
        chain.append((value, index))
    steps: list[Evidence] = []
    seen: set[object] = set()
    for value, index in reversed(chain):
        place = value.producer.place if value.producer is not None else None
        key = (place.file, place.line) if place is not None else value.name
        if key in seen:
            continue
        seen.add(key)
        tensor = tensor_of(facts, value)
        if value.producer is None and value.name:
            steps.append(Evidence(f"{name} is axis {index} of {value.name} ({tensor})"))
        elif place is not None:
            steps.append(Evidence(f"{name} is axis {index} of {tensor}", place))
    if len(steps) > _MOST:
        steps = [*steps[: _MOST // 2], *steps[-_MOST // 2 :]]
    return tuple(steps)
