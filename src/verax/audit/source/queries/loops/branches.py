"""Which branch of a condition returns something else than it should."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...classes import innermost_function
from ...events import Fact
from ...frame import Frame
from ...values import Mapping, Sequence, Value, nodes_of
from ..structures.trees import difference, types_differ
from ..syntax import statement_around

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts


def odd_branch_at(facts: SourceFacts, fact: Fact) -> Place | None:
    """Where the one branch returns that differs from what is wanted, if it is clear which."""
    results: list[Value] = fact.data["results"]
    frames = [_run(facts, fact, branch) for branch in fact.data["branches"]]
    odd = _minority(results)
    for tells in (_is_as_unpacked, _is_as_given, _is_shared):
        if odd is None and len(results) == 2:
            right = [tells(fact, *it) for it in zip(results, frames, strict=True)]
            odd = right.index(False) if sorted(right) == [False, True] else None
    frame = frames[odd] if odd is not None else None
    return frame.place(frame.returns[-1][0]) if frame is not None and frame.returns else None


def _run(facts: SourceFacts, fact: Fact, branch: Value) -> Frame | None:
    function = innermost_function(branch)
    runs = facts.record.runs.get(function.syntax, []) if function is not None else []
    return next((it for it in runs if it.region is fact.data["region"]), None)


def _minority(results: list[Value]) -> int | None:
    """The one of three or more that differs from all others, which agree."""
    if len(results) < 3:
        return None
    for number, own in enumerate(results):
        others = [it for it in results if it is not own]
        differs = all(difference(own, it, types_differ) for it in others)
        if differs and not any(difference(others[0], it, types_differ) for it in others[1:]):
            return number
    return None


def _is_as_unpacked(fact: Fact, result: Value, frame: Frame | None) -> bool:
    """Whether a branch returns as many values as the statement takes."""
    statement = statement_around(fact.frame, fact.syntax)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or getattr(statement, "value", None) is not fact.syntax:
        return False
    items = result.items if isinstance(result, Sequence) else None
    return items is not None and len(items) == len(target.elts)


def _is_as_given(fact: Fact, result: Value, frame: Frame | None) -> bool:
    """Whether a branch hands on what it was given: the other is to give the same."""
    given = [nodes_of(it) for it in frame.given.values()] if frame is not None else []
    nodes = nodes_of(result)
    return bool(nodes) and (nodes in given or nodes == [it for part in given for it in part])


def _is_shared(fact: Fact, result: Value, frame: Frame | None) -> bool:
    """Whether a branch returns what a function makes that has other callers to please."""
    made_in = result.made_in if isinstance(result, (Sequence, Mapping)) else None
    return made_in is not None and made_in is not frame
