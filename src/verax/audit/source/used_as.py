"""Of which class an argument is, if nothing else tells: by the methods that are called on it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .attributes import STATIC_ATTRIBUTES
from .classes import (
    all_fields,
    base_names,
    fields_are_leaves,
    innermost_function,
    is_certain,
)
from .parameters import FunctionSyntax, positional
from .remember import remembered, walked
from .values import Class, Data

if TYPE_CHECKING:
    from .machine import Interpreter

# Methods of arrays, of containers, and of what libraries give: they tell no class from another one.
_COMMON = STATIC_ATTRIBUTES | frozenset(
    "T at astype reshape sum mean min max std var any all argmax argmin dot ravel flatten squeeze "
    "transpose swapaxes copy item tolist items keys values get pop append extend update setdefault "
    "init apply init_with_output replace _replace apply_gradients apply_fn bind sample log_prob "
    "split format join map".split()
)
_LEFT_TO_OTHERS = ("typing.Protocol", "abc.ABC", "enum.", "builtins.")


@dataclass
class _Uses:
    """What a function does with a parameter: the attributes that it takes, and calls of them."""

    names: set[str] = field(default_factory=set[str])
    calls: list[tuple[str, ast.Call]] = field(default_factory=list[tuple[str, ast.Call]])


@remembered
def _uses_in(function: ast.AST) -> dict[str, _Uses]:
    found: dict[str, _Uses] = {}
    for node in walked(function):
        called = node.func if isinstance(node, ast.Call) else node
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            uses = found.setdefault(called.value.id, _Uses())
            uses.names.add(called.attr)
            if isinstance(node, ast.Call):
                uses.calls.append((called.attr, node))
    return {
        name: uses
        for name, uses in found.items()
        if any(called not in _COMMON for called, _ in uses.calls)
    }


def class_by_use(
    machine: Interpreter, function: FunctionSyntax, name: str, value: Data
) -> Class | None:
    """The only class of the program whose objects can be used as a function uses a parameter."""
    uses = _uses_in(function).get(name)
    if uses is None or value.node.operation != "parameter":
        return None
    found = [
        cls
        for cls in machine.record.classes
        if uses.names <= _names_of(cls.syntax) | all_fields(cls).keys() and _fits(cls, uses)
    ]
    if len(found) != 1 or (value.traced and not fields_are_leaves(found[0])):
        return None
    return found[0]


@remembered
def _names_of(cls: ast.ClassDef) -> set[str]:
    """What the body of a class defines, and what its methods assign to objects."""
    found: set[str] = set()
    for node in walked(cls):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def _fits(cls: Class, uses: _Uses) -> bool:
    if not is_certain(cls):
        return False
    if any(name.startswith(_LEFT_TO_OTHERS) for name in base_names(cls)):
        return False
    return all(_takes(cls, name, call) for name, call in uses.calls)


def _takes(cls: Class, name: str, call: ast.Call) -> bool:
    """Whether a method of a class can be called like this, as far as numbers and names tell."""
    function = innermost_function(cls.find(name))
    if function is None:
        return name not in cls.attributes and name in _names_of(cls.syntax)
    arguments = function.syntax.args
    own = [it.arg for it in positional(function.syntax)][1:]
    named = {it.arg for it in call.keywords}
    if None in named or any(isinstance(it, ast.Starred) for it in call.args):
        return True
    needed = len(own) - len(arguments.defaults)
    is_enough = len(call.args) + len(named & set(own)) >= needed
    is_room = len(call.args) <= len(own) or arguments.vararg is not None
    known = {*own, *(it.arg for it in arguments.kwonlyargs)}
    return is_enough and is_room and (named <= known or arguments.kwarg is not None)
