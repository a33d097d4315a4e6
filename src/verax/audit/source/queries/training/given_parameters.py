"""Optimisers that are given the parameters where they take the gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Call
from ...graph import sources
from ...values import Data, Value, nodes_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


def given_parameters(facts: SourceFacts) -> Iterator[tuple[Call, Value]]:
    """Updates whose gradients are the parameters, which are told with them."""
    changed = _changed(facts)
    for call in facts.events(Call):
        if call.name.endswith(".update") and len(call.args) > 2:
            given, params = call.args[1], call.keywords.get("params")
            if len(call.args) > 3:
                params = call.args[3]
            is_own = isinstance(call.result, Data) and _are_same(
                given, changed.get(call.result.node)
            )
            if is_own or _are_swapped(given, params):
                yield call, given
        elif call.name.endswith(".apply_gradients") and _are_of_owner(call):
            yield call, call.keywords["grads"]


def _changed(facts: SourceFacts) -> dict[object, Value]:
    """What is changed by the updates that an optimiser gives, by what it gives."""
    found: dict[object, Value] = {}
    for call in facts.calls(("optax.apply_updates", "equinox.apply_updates")):
        if len(call.args) > 1:
            for node in nodes_of(call.args[1]):
                if node.operation == "item" and node.label == "0":
                    found[node.inputs[0]] = call.args[0]
    return found


def _are_same(one: Value, other: Value | None) -> bool:
    nodes = set(nodes_of(one))
    return bool(nodes) and other is not None and nodes == set(nodes_of(other))


def _are_swapped(given: Value, params: Value | None) -> bool:
    """Whether gradients stand where the parameters should, and something else in their place."""
    held = nodes_of(params) if params is not None else []
    if not held or any(it.operation != "gradient" for it in held):
        return False
    others = nodes_of(given)
    return bool(others) and not any(it.operation == "gradient" for it in sources(others))


def _are_of_owner(call: Call) -> bool:
    """`state.apply_gradients(grads=state.params)`."""
    owner = call.args[0] if call.args else None
    given = call.keywords.get("grads")
    if not isinstance(owner, Data) or not isinstance(given, Data):
        return False
    node = given.node
    return node.operation == "field" and node.label == "params" and owner.node in node.inputs
