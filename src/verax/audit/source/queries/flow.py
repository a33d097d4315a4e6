"""What happens to a name after a statement, on the ways that the program can go from there."""

from __future__ import annotations

import ast

from ..attributes import STATIC_ATTRIBUTES
from ..remember import walked
from ..text import text_of

_BODIES = ("body", "orelse", "finalbody")


def next_use(function: ast.AST, statement: ast.stmt, text: str) -> ast.AST | None:
    """Where `text`, a name or a dotted one, is read after a statement before it is set again."""
    way = _way_to(function, statement)
    for block, position in reversed(way):
        for later in block[position + 1 :]:
            found, ends = _first_use(later, text)
            if found is not None or ends:
                return found
        owner = _loop_of(function, block)
        if owner is not None:
            # The next turn comes by again, up to the statement itself.
            for again in block[: position + 1]:
                found, ends = _first_use(again, text)
                if found is not None or ends:
                    return found
    return None


def sets(statement: ast.stmt, text: str) -> bool:
    """Whether a statement gives a name, or what it is a part of, a new value."""
    for node in walked(statement):
        is_target = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        if is_target and isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            target = text_of(node)
            if text == target or text.startswith((f"{target}.", f"{target}[")):
                return True
    return False


def _first_use(statement: ast.stmt, text: str) -> tuple[ast.AST | None, bool]:
    """The first read of a name in a statement, and whether the way ends or the name is set."""
    static: set[ast.AST] = set()
    for node in walked(statement):
        if isinstance(node, ast.Attribute) and node.attr in STATIC_ATTRIBUTES:
            static.add(node.value)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            static.add(node.left)
    reads = [
        node
        for node in walked(statement)
        if isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and node not in static
        and text_of(node) == text
    ]
    if reads:
        first = min(reads, key=lambda node: (node.lineno, node.col_offset))
        return first, False
    ends = isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue))
    return None, ends or sets(statement, text)


def _way_to(owner: ast.AST, statement: ast.stmt) -> list[tuple[list[ast.stmt], int]]:
    """The blocks around a statement, outermost first, each with the position in it."""
    for block in _blocks(owner):
        for position, inner in enumerate(block):
            if inner is statement:
                return [(block, position)]
            below = _way_to(inner, statement)
            if below:
                return [(block, position), *below]
    return []


def _blocks(owner: ast.AST) -> list[list[ast.stmt]]:
    if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [owner.body]
    found = [getattr(owner, name, None) for name in _BODIES]
    found += [it.body for it in getattr(owner, "handlers", ())]
    found += [it.body for it in getattr(owner, "cases", ())]
    return [it for it in found if isinstance(it, list)]


def _loop_of(function: ast.AST, block: list[ast.stmt]) -> ast.AST | None:
    """The loop whose body a block is."""
    for node in walked(function):
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)) and node.body is block:
            return node
    return None
