"""Which differentiated inputs are arrays for certain, so that they are there to be trained."""

from __future__ import annotations

import ast

from ...graph import Node
from ...library.layers import is_layer
from .flows import Flow, primals


def is_trained(flow: Flow, node: Node) -> bool:
    """Whether a parameter is an array for certain: an entry of a dict, or of a layer.

    A field may be anything, unless it is known what numbers it holds. What a layer takes is found
    where the layer is made: by a call.
    """
    if node.dtype is not None and node.dtype.startswith("float") and node.shape:
        return True
    if node.operation == "field" and isinstance(node.syntax, ast.Call):
        return True
    if node.operation == "item" and node.label.startswith(("'", '"')):
        return True
    return any(inner is node and is_layer(leaf) for leaf, inner in primals(flow.event))
