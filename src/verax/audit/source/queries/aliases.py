"""Other names for what a call is given, or for a part of it."""

from __future__ import annotations

import ast

from ..classes import fields_are_leaves, is_static_field
from ..events import Applied
from ..graph import Node
from ..values import Constant, Data, Instance, Sequence, Value, leaves

# What a state of training holds under these names are arrays.
ARRAYS = frozenset("params opt_state batch_stats target_params ema_params".split())


def other_names(applied: Applied, statement: ast.stmt, given: Value) -> list[str]:
    """Names to which the function has given an argument, or a part of it, before the call."""
    steps = applied.frame.steps
    before = next((i for i, (it, _) in enumerate(steps) if it is statement), 0)
    whole = {leaf.node for leaf in leaves(given)}
    if isinstance(given, Instance):
        whole.add(given.node)
    found: dict[str, bool] = {}
    for step, value in steps[:before]:
        if not isinstance(step, ast.Assign):
            continue
        for target in step.targets:
            if isinstance(target, ast.Name):
                written = step.value
                is_path = isinstance(written, (ast.Name, ast.Attribute))
                found[target.id] = is_path and _is_part(value, written, whole, given)
    return [name for name, is_one in found.items() if is_one]


def _is_part(value: Value, written: ast.expr, whole: set[Node], given: Value) -> bool:
    """Whether a value is the argument, or arrays that it holds."""
    if value is given:
        return not isinstance(given, Constant)
    own = [leaf for leaf in leaves(value) if leaf.node in whole]
    if isinstance(written, ast.Name):
        return bool(own)
    assert isinstance(written, ast.Attribute)
    name = written.attr
    if isinstance(given, Instance) and fields_are_leaves(given.cls):
        is_tree = name in given.cls.fields and not is_static_field(given.cls, name)
        return is_tree and (bool(own) or _is_under(value, whole))
    if isinstance(given, Sequence) and given.type is not None:
        return any(leaf.is_array for leaf in own) or (bool(own) and name in ARRAYS)
    return name in ARRAYS and (bool(own) or _is_under(value, whole))


def _is_under(value: Value, whole: set[Node]) -> bool:
    """Whether a value is a field of the argument."""
    if not isinstance(value, Data) or value.node.operation != "field":
        return False
    return any(it in whole for it in value.node.inputs)
