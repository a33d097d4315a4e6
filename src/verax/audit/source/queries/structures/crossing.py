"""What crosses the boundaries of transformations as a tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....finding import Place
from ...classes import innermost_function
from ...events import Applied, Event, Fact, Loop
from ...facts import SourceFacts
from ...frame import Frame, Region
from ...library.options import DERIVATIVES, argument_numbers
from ...remember import remembered
from ...values import Value
from ..arguments import mapped_arguments, ordinary_arguments
from ..loops.bodies import instead_of_pair


def crossing(facts: SourceFacts) -> Iterator[tuple[Event, str, Value, Place]]:
    """Each tree that enters or leaves a transformation, with how it does, in words, and where."""
    for applied in facts.events(Applied):
        transformed = applied.transformed
        if transformed.is_filtered:
            continue
        kind = transformed.kind
        for name, value in _entering(applied):
            yield applied, f"passed to the `{kind}` as `{name}`", value, applied.place
        if kind in ("jit", "vmap", "pmap"):
            for place, value in _returned(facts, applied):
                yield applied, f"returned from the `{kind}`", value, place
    for loop in facts.events(Loop):
        trees = [(loop.initial, "the carry"), (loop.xs, "scanned over")]
        if loop.kind == "scan" and instead_of_pair(loop.returned) is None:
            trees.append((loop.stacked, "one of the results"))
        for value, what in trees:
            if value is not None:
                yield loop, f"{what} of the `{loop.kind}`", value, loop.place
    for fact in facts.events(Fact):
        if fact.kind in ("cond", "switch"):
            for value in fact.data["operands"][0] if fact.data["operands"] else ():
                yield fact, f"passed to the `{fact.kind}`", value, fact.place
            for value in fact.data["results"]:
                yield fact, f"returned from a branch of the `{fact.kind}`", value, fact.place


def _returned(facts: SourceFacts, applied: Applied) -> Iterator[tuple[Place, Value]]:
    """What a transformed function gives, where it says so."""
    function = innermost_function(applied.transformed.function)
    own = (
        _runs_by_region(facts).get((function.syntax, applied.region), ())
        if function is not None
        else ()
    )
    for frame in own:
        for syntax, value in frame.returns:
            yield frame.place(syntax), value
    if not own:
        yield applied.place, applied.result


@remembered
def _runs_by_region(facts: SourceFacts) -> dict[tuple[ast.AST, Region | None], list[Frame]]:
    """The runs of each function in each region."""
    found: dict[tuple[ast.AST, Region | None], list[Frame]] = {}
    for function, runs in facts.record.runs.items():
        for frame in runs:
            found.setdefault((function, frame.region), []).append(frame)
    return found


def _entering(applied: Applied) -> Iterator[tuple[str, Value]]:
    transformed = applied.transformed
    if transformed.kind in ("jit", "pmap"):
        yield from ordinary_arguments(applied)
    elif transformed.kind == "vmap":
        for value in mapped_arguments(applied):
            yield str(applied.args.index(value)), value
    elif transformed.kind in DERIVATIVES:
        for number in argument_numbers(transformed) or ():
            if -len(applied.args) <= number < len(applied.args):
                yield str(number), applied.args[number]
