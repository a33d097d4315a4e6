"""Which inputs a declared range is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from ..program import Program, Value
from .interval import Number


def declared_ranges(
    program: Program, ranges: Mapping[str, Any]
) -> dict[Value, tuple[Number, Number]]:
    """The range of each input that has one.

    A range (low, high) counts for all leaves below the place in the tree where it stands.
    """
    found: dict[Value, tuple[Number, Number]] = {}
    for parameter, tree in ranges.items():
        for path, pair in jax.tree.leaves_with_path(tree, is_leaf=_is_range):
            if not _is_range(pair):
                continue
            prefix = parameter + jax.tree_util.keystr(path)
            for value in program.body.inputs:
                rest = value.name.removeprefix(prefix)
                if value.name.startswith(prefix) and (not rest or rest[0] in "[."):
                    found[value] = pair
    return found


def _is_range(tree: Any) -> bool:
    return (
        isinstance(tree, (tuple, list))
        and len(tree) == 2
        and all(isinstance(end, (int, float)) for end in tree)
    )
