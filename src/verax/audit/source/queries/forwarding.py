"""Functions that only call another one and return what it gives.

What such a function does is done for whoever calls it, and what comes of it is seen there.
"""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from ..frame import Frame
from .loops.bodies import frames_by_call
from .syntax import statements_in

if TYPE_CHECKING:
    from ..facts import SourceFacts

# How many of them are gone through.
_STEPS = 6


def taken_at(frame: Frame, call: ast.AST) -> tuple[Frame, ast.AST]:
    """Where the result of a call is taken: here, or where a function is called that returns it."""
    for _ in range(_STEPS):
        caller = frame.caller
        if caller is None or forwarded(frame) is not call:
            break
        if caller.function is None or not isinstance(frame.called_at, ast.Call):
            break  # A transformation, which may make something else of it.
        frame, call = caller, frame.called_at
    return frame, call


def forwarded(frame: Frame) -> ast.Call | None:
    """The call whose result is all that a function gives, in whatever way it is left."""
    function = frame.function
    if isinstance(function, ast.Lambda):
        return function.body if isinstance(function.body, ast.Call) else None
    returns = [it for it, _ in frame.returns if isinstance(it, ast.Return)]
    if len(returns) != 1 or len(frame.returns) != 1 or function is None:
        return None
    value = returns[0].value
    is_last = statements_in(function)[-1] is returns[0]
    return value if is_last and isinstance(value, ast.Call) else None


def makers(facts: SourceFacts, frame: Frame, call: ast.Call) -> list[Frame]:
    """The runs in which what a call of a frame's gives is put together."""
    found = [it for it in frames_by_call(facts).get(call, ()) if _gives_to(it, frame)]
    for _ in range(_STEPS):
        inner = forwarded(found[0]) if len(found) == 1 else None
        below = frames_by_call(facts).get(inner, ()) if inner is not None else ()
        deeper = [it for it in below if _gives_to(it, found[0])]
        if not deeper:
            break
        found = deeper
    return found


# They give what their function gives, part by part.
_KEEPING = frozenset(("jit", "checkpoint", "vmap", "pmap", "shard_map"))


def _gives_to(run: Frame, frame: Frame) -> bool:
    """Whether what a run gives is what the code of a frame gets, with its parts in their order."""
    if run.called_in is not frame:
        return False
    regions = run.region.chain() if run.region is not None else ()
    return all(it.kind in _KEEPING for it in takewhile(lambda it: it is not frame.region, regions))
