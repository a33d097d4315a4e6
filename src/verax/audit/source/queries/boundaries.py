"""On which side of a transformation's boundary things are."""

from __future__ import annotations

from ..events import Applied
from ..facts import SourceFacts
from ..frame import Frame, Region
from ..library.options import DERIVATIVES
from ..values import Bound, Value, leaves

# They hand a state from turn to turn.
SEQUENTIAL = frozenset(("scan", "while_loop", "fori_loop"))
# Python goes through these once, and what it has made of the code runs again and again.
LOOPS = SEQUENTIAL | {"map", "associative_scan"}
REPEATED = LOOPS | frozenset(("jit", "pmap", "shard_map"))
# One gradient for one loss, as training takes it.
GRADIENTS = frozenset(("grad", "value_and_grad"))
# Code inside of these is differentiated, in whatever form its slopes come out.
DIFFERENTIATED = DERIVATIVES | {"vjp", "jvp", "linearize"}
# Values inside of these are tracers that mean nothing outside.
TRACING = (
    REPEATED
    | DIFFERENTIATED
    | frozenset("vmap cond switch checkpoint custom_vjp custom_jvp".split())
)
# In these, Python runs for real, or is run for what it notes down on the way.
_ON_PURPOSE = frozenset(("callback", "eval_shape", "make_jaxpr"))


def crossed(inside: Frame, outside: Frame | None) -> list[Region]:
    """The transformations around one frame that are not around another, innermost first."""
    if inside.region is None:
        return []
    around = set(outside.region.chain()) if outside is not None and outside.region else set()
    found: list[Region] = []
    for region in inside.region.chain():
        if region in around:
            break
        if region.kind in _ON_PURPOSE:
            return []
        if region.kind in TRACING:
            found.append(region)
    return found


def repeated(frame: Frame) -> Region | None:
    """The innermost transformation around a frame that runs the code more often than Python."""
    return next((it for it in crossed(frame, None) if it.kind in REPEATED), None)


def passed_as_it_is(facts: SourceFacts, regions: list[Region], thing: Value) -> Region | None:
    """The one of these that takes a thing in as the same object: `self` of a jitted method.

    What crosses a boundary as a tree is a copy, but static arguments, and the object that a
    transformed method is bound to, are not.
    """
    for applied in facts.events(Applied):
        if applied.region not in regions:
            continue
        function = applied.transformed.function
        if isinstance(function, Bound) and function.owner is thing:
            return applied.region
        outer = (*applied.args, *applied.keywords.values())
        is_given = any(it is thing for it in outer)
        is_taken = any(it is thing for it in applied.inner.values())
        if is_given and is_taken and applied.transformed.kind == "jit":
            return applied.region
    return None


def holds_tracer(value: Value | None) -> bool:
    """Whether something that is traced is, or is in, a value."""
    return value is not None and any(leaf.traced for leaf in leaves(value))
