"""Axis names of the inputs, as the user declared them.

A declaration is a tree like the arguments with names at the leaves: `{"x": "batch time feat"}`. An
array may be described by a string for its whole subtree where all leaves agree; "" and "_" mean
that an axis (or all of them) has no name. A named tuple or a dataclass may be described by a dict
from its fields, of which some may be left out, or by a tuple or a list of them all, in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ...close import did_you_mean
from ...words import without_twins
from ..entry import Input
from ..facts import Facts
from .analysis import AxisAnalysis


class AxesError(ValueError):
    """A declaration does not fit the arguments: the text says which and why."""


def axes_of(facts: Facts) -> AxisAnalysis:
    """Follow the axes of a program from the declarations of its inputs."""
    analysis = AxisAnalysis(facts.program)
    check_declared(facts.traced.inputs, facts.declared_axes)
    inputs = facts.traced.inputs
    analysis.run([names_of(leaf, inputs, facts.declared_axes) for leaf in inputs])
    return analysis


def check_declared(leaves: Sequence[Input], declared: Mapping[str, Any]) -> None:
    """Complain of names for parts that an argument does not have.

    Raises:
        AxesError: There are such names.
    """
    for parameter, entry in declared.items():
        own = [_dotted(leaf.name) for leaf in leaves if leaf.parameter == parameter]
        for path, text in _paths(parameter, entry, own).items():
            if not own or not text or any(_leads_to(path, name) for name in own):
                continue
            hint = did_you_mean(path, dict.fromkeys((*own, *map(_parent, own))))
            raise AxesError(f"axes are declared for `{path}`, which is not there{hint}")


def _parent(name: str) -> str:
    return re.sub(r"(\.\w+|\[[^\[]*\])$", "", name)


def names_of(
    leaf: Input, leaves: Sequence[Input], declared: Mapping[str, Any]
) -> tuple[str | None, ...]:
    """The declared names of one of the input leaves."""
    rank = len(leaf.type.shape)
    text = _described(leaf, leaves, declared)
    names = [None if name == "_" else name for name in text.split()]
    if not names:
        return (None,) * rank
    if len(names) != rank:
        raise AxesError(
            f"axes of `{leaf.name}` are declared as {text!r}, which names {len(names)}, but it has "
            f"{rank}: shape {leaf.type.shape}"
        )
    told = without_twins(tuple(name or "" for name in names), leaf.type.shape)
    return tuple(name or None for name in told)


def _described(leaf: Input, leaves: Sequence[Input], declared: Mapping[str, Any]) -> str:
    entry = declared.get(leaf.parameter)
    if entry is None:
        return ""
    own = [_dotted(it.name) for it in leaves if it.parameter == leaf.parameter]
    found = _paths(leaf.parameter, entry, own)
    # The longest path that leads to the leaf: a string may stand for a whole subtree.
    name = _dotted(leaf.name)
    best = max((path for path in found if _leads_to(path, name)), key=len, default="")
    text = found.get(best, "")
    return text if isinstance(text, str) else ""


def _paths(prefix: str, entry: Any, own: Sequence[str]) -> dict[str, Any]:
    if isinstance(entry, str):
        return {_dotted(prefix): entry}
    below = jax.tree.leaves_with_path(entry, is_leaf=lambda it: it is not entry)
    steps = [jax.tree_util.keystr(path) for path, _ in below]
    fields = _fields(_dotted(prefix), own)
    if type(entry) in (tuple, list) and len(fields) == len(entry):
        steps = fields
    found: dict[str, Any] = {}
    for step, (_, part) in zip(steps, below, strict=True):
        found |= _paths(prefix + step, part, own) if step else {_dotted(prefix): part}
    return found


def _fields(prefix: str, own: Sequence[str]) -> list[str]:
    """The fields that a named tuple or a dataclass has, of which the leaves are given."""
    parts = (re.match(r"\.\w+", name.removeprefix(prefix)) for name in own)
    return list(dict.fromkeys(part[0] for part in parts if part is not None))


def _dotted(name: str) -> str:
    """A path in which `['w']` and `.w` are the same: a dict may describe a named tuple."""
    return re.sub(r"\['([A-Za-z_]\w*)'\]", r".\1", name)


def _leads_to(path: str, name: str) -> bool:
    """Whether a path is a leaf, or something that holds it."""
    return name == path or name.startswith((f"{path}.", f"{path}["))
