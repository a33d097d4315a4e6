"""Models that a transformed function merges and calls, and whose new state stays behind in it.

`nnx.merge` makes a model of a state, in a transformed function one for this function alone. What
a call changes in it (batch statistics, a counter) has to be taken out again and returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....words import words_of
from ...classes import base_names
from ...events import Call
from ...facts import SourceFacts
from ...frame import Frame, Region
from ...library.options import DERIVATIVES
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
        frame, name = call.frame, _name_given(call)
        is_apart = frame.is_staged or any(it.kind in DERIVATIVES for it in _around(frame))
        uses = list(calls_of(body_of(frame), name)) if is_apart and name else []
        is_trained = any(_method(it) == "train" for it in uses)
        calls = [it for it in uses if _method(it) != "train"]
        if not calls or not is_changed_by_calls(facts, call.result, is_trained):
            continue
        handed_on = _handed_on(frame, call.syntax)
        if handed_on is not None or len(uses) == _reads(body_of(frame), name):
            statement = statement_around(frame, calls[0]) or calls[0]
            place = frame.place(handed_on or calls[0])
            yield DroppedState(place, text_of(statement), f"the state of `{name}`", None)


def _around(frame: Frame) -> Iterator[Region]:
    return frame.region.chain() if frame.region is not None else iter(())


def _handed_on(frame: Frame, merge: ast.AST) -> ast.AST | None:
    """The `return` that gives back a state, besides parameters, that the model was merged from."""
    names = {it.id for it in getattr(merge, "args", ())[1:] if isinstance(it, ast.Name)}
    given = {it for it in names if not _PARAMETERS & set(words_of(it))}
    if any(isinstance(it, ast.Name) and it.id in given for it in _stored(body_of(frame))):
        return None
    for syntax, _ in frame.returns:
        if any(isinstance(it, ast.Name) and it.id in given for it in walked(syntax)):
            return syntax
    return None


# An optimiser makes new ones of these, outside of the model.
_PARAMETERS = frozenset("param params parameters weights".split())


def _stored(body: ast.AST) -> Iterator[ast.AST]:
    return (it for it in walked(body) if isinstance(getattr(it, "ctx", None), ast.Store))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _name_given(call: Call) -> str:
    statement = statement_around(call.frame, call.syntax)
    if not isinstance(statement, ast.Assign) or statement.value is not call.syntax:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def calls_of(body: ast.AST, name: str) -> Iterator[ast.Call]:
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


def is_changed_by_calls(facts: SourceFacts, model: Value, is_trained: bool, depth: int = 0) -> bool:
    """Whether calling a model changes it: it counts, or averages over batches while it trains."""
    if isinstance(model, Data):
        # Somebody may have said that the averages are to be used as they are.
        text = facts.module.text
        is_evaluated = ".eval(" in text or "use_running_average" in text
        return model.type == _AVERAGES and (is_trained or not is_evaluated)
    if not isinstance(model, Instance) or depth > _DEPTH:
        return False
    if "flax.nnx.Module" in base_names(model.cls) and _writes_variables(model.cls.syntax):
        return True
    parts = model.attributes.values()
    return any(is_changed_by_calls(facts, it, is_trained, depth + 1) for it in parts)


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
