"""Flags by what they ask: without the axes that they were given, and whether for the opposite."""

from __future__ import annotations

from ...graph import Node
from ...operations import RESHAPES
from ...values import Constant


def without_shape(node: Node) -> Node:
    """Flags without the axes that they were given; one of several results stays what it is."""
    while node.inputs and (
        node.operation in RESHAPES or (node.operation == "item" and node.label in ("", "None"))
    ):
        node = node.inputs[0]
    return node


def without_negation(node: Node) -> tuple[Node, bool]:
    """What `~done` and `1 - done` ask for the opposite of, and whether they do."""
    is_negated = False
    node = without_shape(node)
    while _is_negation(node):
        node, is_negated = without_shape(node.inputs[0]), not is_negated
    return node, is_negated


def _is_negation(node: Node) -> bool:
    if node.operation == "-" and len(node.operands) == 2:
        first = node.operands[0]
        return len(node.inputs) == 1 and isinstance(first, Constant) and first.value == 1
    return node.operation == "~x" and len(node.inputs) == 1
