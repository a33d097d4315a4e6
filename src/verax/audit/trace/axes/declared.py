"""Axis names of the inputs, as the user declared them.

A declaration is a tree like the arguments with names at the leaves: `{"x": "batch time feat"}`. An
array may be described by a string for its whole subtree where all leaves agree; "" and "_" mean
that an axis (or all of them) has no name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ..entry import Input
from ..facts import Facts
from .analysis import AxisAnalysis


class AxesError(ValueError):
    """A declaration does not fit the arguments: the text says which and why."""


def axes_of(facts: Facts) -> AxisAnalysis:
    """Follow the axes of a program from the declarations of its inputs."""
    analysis = AxisAnalysis(facts.program)
    analysis.run([names_of(leaf, facts.declared_axes) for leaf in facts.traced.inputs])
    return analysis


def names_of(leaf: Input, declared: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The declared names of one input leaf."""
    rank = len(leaf.type.shape)
    text = _described(leaf, declared)
    names = [None if name == "_" else name for name in text.split()]
    if not names:
        return (None,) * rank
    if len(names) != rank:
        raise AxesError(
            f"axes of `{leaf.name}` are declared as {text!r}, which names {len(names)}, but it has "
            f"{rank}: shape {leaf.type.shape}"
        )
    return tuple(names)


def _described(leaf: Input, declared: Mapping[str, Any]) -> str:
    entry = declared.get(leaf.parameter)
    if entry is None:
        return ""
    found = _paths(leaf.parameter, entry)
    # The longest path that leads to the leaf: a string may stand for a whole subtree.
    best = max((path for path in found if leaf.name.startswith(path)), key=len, default="")
    text = found.get(best, "")
    return text if isinstance(text, str) else ""


def _paths(parameter: str, entry: Any) -> dict[str, Any]:
    if isinstance(entry, str):
        return {parameter: entry}
    if isinstance(entry, Sequence) and all(isinstance(it, str) for it in entry):  # pyright: ignore[reportUnknownVariableType]
        pass  # A tuple of strings is a tree, one string a leaf.
    leaves = jax.tree.leaves_with_path(entry, is_leaf=lambda it: isinstance(it, str))
    return {parameter + jax.tree_util.keystr(path): leaf for path, leaf in leaves}
