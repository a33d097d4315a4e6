"""Models that a transformed function merges and calls, and whose new state stays behind in it.

`nnx.merge` makes a model of a state, in a transformed function one for this function alone. What
a call changes in it (batch statistics, a counter) has to be taken out again and returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...classes import base_names
from ...events import Call
from ...facts import SourceFacts
from ...remember import remembered, walked
from ...text import text_of
from ...values import Data, Instance, Value
from ..syntax import body_of, statement_around
from .dropped_states import DroppedState

_AVERAGES = "flax.nnx.BatchNorm"
_SETTING_UP = ("__init__", "setup")
# How deep models are nested that are looked into.
_DEPTH = 6


def merged_models(facts: SourceFacts) -> Iterator[DroppedState]:
    """Calls of merged models that change them, where nobody asks for the state afterwards."""
    for call in facts.calls(("flax.nnx.merge",)):
        if not call.frame.is_staged or not _is_changed_by_calls(facts, call.result):
            continue
        name = _name_given(call)
        uses = list(_calls_of(body_of(call.frame), name)) if name else []
        if uses and len(uses) == _reads(body_of(call.frame), name):
            statement = statement_around(call.frame, uses[0]) or uses[0]
            what = f"the state of `{name}`"
            yield DroppedState(call.frame.place(uses[0]), text_of(statement), what, None)


def _name_given(call: Call) -> str:
    statement = statement_around(call.frame, call.syntax)
    if not isinstance(statement, ast.Assign) or statement.value is not call.syntax:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _calls_of(body: ast.AST, name: str) -> Iterator[ast.Call]:
    """The calls of a model and of its methods; all but that which makes it one for evaluation."""
    for node in walked(body):
        if isinstance(node, ast.Call):
            function = node.func
            is_method = isinstance(function, ast.Attribute) and function.attr != "eval"
            owner = function.value if isinstance(function, ast.Attribute) else function
            if (
                isinstance(owner, ast.Name)
                and owner.id == name
                and (is_method or owner is function)
            ):
                yield node


def _reads(body: ast.AST, name: str) -> int:
    return sum(
        1
        for it in walked(body)
        if isinstance(it, ast.Name) and it.id == name and isinstance(it.ctx, ast.Load)
    )


def _is_changed_by_calls(facts: SourceFacts, model: Value, depth: int = 0) -> bool:
    """Whether calling a model changes it: it counts, or averages over batches while it trains."""
    if isinstance(model, Data):
        # Somebody may have said that the averages are to be used as they are.
        text = facts.module.text
        is_evaluated = ".eval(" in text or "use_running_average" in text
        return model.type == _AVERAGES and not is_evaluated
    if not isinstance(model, Instance) or depth > _DEPTH:
        return False
    if "flax.nnx.Module" in base_names(model.cls) and _writes_variables(model.cls.syntax):
        return True
    return any(_is_changed_by_calls(facts, it, depth + 1) for it in model.attributes.values())


@remembered
def _writes_variables(cls: ast.AST) -> bool:
    """Whether a method other than the constructor gives a variable of the object a new value."""
    methods = [it for it in getattr(cls, "body", ()) if isinstance(it, ast.FunctionDef)]
    return any(
        isinstance(node, (ast.Assign, ast.AugAssign)) and any(map(_is_variable, _targets(node)))
        for method in methods
        if method.name not in _SETTING_UP
        for node in walked(method)
    )


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_variable(target: ast.expr) -> bool:
    """Whether a target is `self.count.value` or `self.count[...]`."""
    is_value = isinstance(target, ast.Attribute) and target.attr == "value"
    index = target.slice if isinstance(target, ast.Subscript) else None
    is_all = isinstance(index, ast.Constant) and index.value is ...
    inner = target.value if isinstance(target, (ast.Attribute, ast.Subscript)) else None
    owner = inner.value if isinstance(inner, ast.Attribute) else None
    return (is_value or is_all) and isinstance(owner, ast.Name) and owner.id == "self"
