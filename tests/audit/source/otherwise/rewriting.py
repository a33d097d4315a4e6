"""The same program in other words.

A rewriting changes how a program is written and not what it computes: what was a bug before it is
one afterwards, and what was none is none. So whatever the auditor says of a program, it has to say
of every rewriting of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Rewriting = Callable[[ast.Module], ast.Module]


class NotRewrittenError(Exception):
    """The program has nothing that a rewriting would change."""


@dataclass(frozen=True)
class Rewritten:
    """A program in other words, and the lines at which each of its former lines stands now."""

    text: str
    lines: Mapping[int, frozenset[int]]


def rewrite(text: str, rewriting: Rewriting) -> Rewritten:
    """Write a program otherwise. Raises `NotRewrittenError` if it stays what it was."""
    before = ast.parse(text)
    plain = ast.unparse(_with_jax(ast.parse(text)))
    tree = ast.fix_missing_locations(_with_jax(rewriting(before)))
    result = ast.unparse(tree)
    if result == plain:
        raise NotRewrittenError(rewriting.__name__)
    return Rewritten(result, _places(tree, ast.parse(result)))


def _with_jax(tree: ast.Module) -> ast.Module:
    """What a rewriting puts in needs the name `jax`, which many programs do without."""
    named = {
        alias.asname or alias.name
        for it in tree.body
        if isinstance(it, ast.Import)
        for alias in it.names
    }
    if "jax" not in named:
        at = 1 if ast.get_docstring(tree) is not None else 0
        tree.body.insert(at, ast.Import([ast.alias("jax")]))
    return tree


def _places(tree: ast.Module, read_again: ast.Module) -> dict[int, frozenset[int]]:
    """Nodes stand in the same order in both trees; those of the first know where they came from."""
    places: dict[int, set[int]] = {}
    for node, again in zip(ast.walk(tree), ast.walk(read_again), strict=True):
        if type(node) is not type(again):
            raise AssertionError(f"{ast.unparse(node)} is read as {ast.unparse(again)}")
        if isinstance(node, ast.expr | ast.stmt) and isinstance(again, ast.expr | ast.stmt):
            places.setdefault(node.lineno, set()).add(again.lineno)
    return {line: frozenset(places[line]) for line in sorted(places)}
