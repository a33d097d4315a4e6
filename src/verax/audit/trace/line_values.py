"""What a line of code makes, what it takes, and what is used of either after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import jax.numpy as jnp
import numpy as np

from .facts import Facts
from .program import Step, Value
from .sections.lines import Node


def every_line(nodes: Iterable[Node]) -> Iterator[Node]:
    """Lines, and those of what they call."""
    for node in nodes:
        yield node
        yield from every_line(node.children)


def results_of(facts: Facts, node: Node) -> list[Value]:
    """What a line makes and something after it uses, or else what nothing in it uses."""
    made = [
        value
        for step in facts.order.steps[node.start : node.end]
        for value in step.outputs
        if value.producer is step
    ]
    beyond = [it for it in made if facts.order.reaches_beyond(it, node)]
    return [*beyond, *(it for it in made if not it.consumers and it not in beyond)]


def is_unread(facts: Facts, node: Node, name: str) -> bool:
    """Whether nothing reads a name that a line gives a value."""
    return node.place is not None and facts.sources.is_unread(node.place, name)


def is_data(value: Value) -> bool:
    """Whether a value is numbers with a meaning: no key, no flag, not known while tracing."""
    return (
        not value.is_constant
        and isinstance(value.dtype, np.dtype)
        and jnp.issubdtype(value.dtype, jnp.number)
        and value.dtype != np.uint32
    )


def fits(value: Value, source: Value) -> bool:
    """Whether an array has the type of another."""
    return value.shape == source.shape and value.dtype == source.dtype and bool(value.shape)


def taken_by(facts: Facts, node: Node) -> list[Value]:
    """What a line uses of what was there before it."""
    found: dict[Value, None] = {}
    for step in facts.order.steps[node.start : node.end]:
        for value in step.inputs:
            if facts.order.made_at(value) < node.start:
                found[value] = None
    return list(found)


def used_after(facts: Facts, value: Value, node: Node) -> tuple[bool, Step | None]:
    """Whether a value is used after a line by something that matters, and by which step.

    Only uses in the same body count; what a call does with it is found in the steps of the call.
    """
    order = facts.order
    for step in value.consumers:
        # A derivative takes all that its function was given, after that has run.
        later = order.start[step] >= node.end and step.kind not in ("call", "derivative")
        if later and any(it in facts.live for it in step.outputs) and step.place is not None:
            return True, step
    returned = value in facts.program.body.outputs
    return returned, None
