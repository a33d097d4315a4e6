"""Softmaxes that are written out: `x - logsumexp(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import Call
from ...graph import Node
from ...values import Data, Value
from ..nodes import nodes_by

if TYPE_CHECKING:
    from ...facts import SourceFacts

_NEW_AXES = frozenset(("item", "jax.numpy.expand_dims"))


def is_taken_from_its_own(facts: SourceFacts, call: Call) -> bool:
    """Whether the result of a call is subtracted from what the call was given."""
    given, result = call.args[0], call.result
    if not isinstance(given, Data) or not isinstance(result, Data):
        return False
    for node in nodes_by(facts, ("-",)):
        if len(node.operands) == 2:
            first, second = map(_node, node.operands)
            if first is given.node and second is not None and _with_axes(second) is result.node:
                return True
    return False


def _node(value: Value) -> Node | None:
    return value.node if isinstance(value, Data) else None


def _with_axes(node: Node) -> Node:
    """An array without the new axes that it is given to broadcast."""
    return node.inputs[0] if node.operation in _NEW_AXES and node.inputs else node
