"""Counts of steps that a state has, that its step reads, and that nothing ever advances."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...remember import walked
from ...text import text_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_COUNTS = frozenset("step steps count counter t timestep timesteps iteration iterations".split())
_SIZES = frozenset("max min num n total limit per size length horizon".split())


@dataclass(frozen=True)
class Standing:
    """Where a state is copied without its count, which the same function reads."""

    place: Place
    field: str
    read_at: Place


def standing_counters(facts: SourceFacts) -> Iterator[Standing]:
    """Counts that start at zero in this file and are never given another value in it.

    Of a state whose class is derived from one elsewhere, others may advance the count.
    """
    own = [it for it in facts.record.classes if it.frame.module is facts.module]
    fields = {name for cls in own for name in cls.fields if _is_count(name)}
    if not fields:
        return
    tree = facts.module.syntax
    fields = {it for it in fields if _starts_at_zero(tree, it) and not _is_advanced(tree, it)}
    told: set[ast.AST] = set()
    for function, runs in facts.functions() if fields else ():
        read = _reads(function, fields)
        for node in walked(function):
            at = read.get(_copied(node))
            if at is not None and node not in told:
                told.add(node)
                place = runs[0].place
                yield Standing(place(node), text_of(at), place(at))


def _is_count(name: str) -> bool:
    words = words_of(name)
    return not _COUNTS.isdisjoint(words) and _SIZES.isdisjoint(words)


def _starts_at_zero(tree: ast.AST, field: str) -> bool:
    """Whether a record is made with zero for a field, by name."""
    return any(
        it.arg == field and _is_zero(it.value)
        for call in walked(tree)
        if isinstance(call, ast.Call)
        for it in call.keywords
    )


def _is_zero(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        called = text_of(value.func).rpartition(".")[2]
        first = value.args[0] if value.args else None
        return called == "zeros" or (called in ("array", "asarray", "int32") and _is_number(first))
    return _is_number(value)


def _is_number(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value in (0, 0.0)


def _is_advanced(tree: ast.AST, field: str) -> bool:
    """Whether anything gives a field a value other than zero or its own, or adds to it."""
    return any(_advances(it, field) for it in walked(tree))


def _advances(node: ast.AST, field: str) -> bool:
    if isinstance(node, ast.keyword):
        is_own = isinstance(node.value, ast.Attribute) and node.value.attr == field
        is_kept = is_own or _is_zero(node.value)
        return node.arg is None or (node.arg == field and not is_kept)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return any(_names(it, field) for it in (node.left, node.right))
    is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Attribute) and is_set and node.attr == field


def _names(value: ast.expr, field: str) -> bool:
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name == field


def _copied(node: ast.AST) -> str:
    """The name of a state that is copied with other values for some fields."""
    if not isinstance(node, ast.Call) or not node.keywords or node.args:
        return ""
    called = node.func
    is_copy = isinstance(called, ast.Attribute) and called.attr in ("replace", "_replace")
    owner = called.value if isinstance(called, ast.Attribute) and is_copy else None
    return owner.id if isinstance(owner, ast.Name) else ""


def _reads(function: ast.AST, fields: set[str]) -> dict[str, ast.Attribute]:
    """Where a function reads a count, by the name of the state."""
    found: dict[str, ast.Attribute] = {}
    for node in walked(function):
        is_count = isinstance(node, ast.Attribute) and node.attr in fields
        if isinstance(node, ast.Attribute) and is_count and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, node)
    return found
