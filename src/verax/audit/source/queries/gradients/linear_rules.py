"""Derivatives written by hand that are not linear in the tangent, or in the cotangent.

A tangent is a sum of products, each with a tangent of an argument; what a backward rule returns, a
sum of products with the cotangent. A part without one of these is no derivative of anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...binding import positional_names
from ...classes import innermost_function
from ...events import Fact
from ...graph import Node, sources
from ...operations import FILLED
from ...remember import walked
from ...values import Data, Sequence, Transformed, Value, leaves, nodes_of
from .custom_derivatives import misfitting, return_place

if TYPE_CHECKING:
    from ...facts import SourceFacts

_SUMS = frozenset(("+", "-", "-x"))
_CONSTANTS = FILLED | frozenset("jax.numpy.eye numpy.eye jax.numpy.asarray numpy.asarray".split())


@dataclass(frozen=True, eq=False)
class Unscaled:
    """A part of what a rule returns that knows nothing of the tangent or the cotangent."""

    function: str
    place: Place | None
    given: str


def unscaled(facts: SourceFacts) -> Iterator[Unscaled]:
    """All such parts of rules."""
    for fact in facts.events(Fact):
        if fact.kind != "derivative run":
            continue
        transformed: Transformed = fact.data["transformed"]
        function = innermost_function(transformed.function)
        name = function.name if function is not None else "the function"
        if name in misfitting(facts):
            continue
        for given, results in _returned(fact):
            rule = transformed.rules["jvp" if given == "tangents" else "bwd"]
            moving = {node for it in fact.data[given] for node in nodes_of(it)}
            for result in _not_linear(rule, results, moving) if moving else ():
                place = result.place if result.operation in _SUMS else return_place(facts, rule)
                yield Unscaled(name, place, given[:-1])


def _returned(fact: Fact) -> Iterator[tuple[str, list[Data]]]:
    """What rules return that has to be linear, each with the name of what it is linear in."""
    pair: Value | None = fact.data.get("tangent")
    if isinstance(pair, Sequence) and pair.items is not None and len(pair.items) == 2:
        tangents = {node for it in fact.data["tangents"] for node in nodes_of(it)}
        # A pair the other way round is another mistake.
        if tangents.isdisjoint(sources(nodes_of(pair.items[0]))):
            yield "tangents", leaves(pair.items[1])
    backward: Value | None = fact.data.get("backward")
    if isinstance(backward, Sequence):
        yield "cotangents", leaves(backward)


def _not_linear(rule: Value, results: list[Data], moving: set[Node]) -> Iterator[Node]:
    """Sums of which only some parts are products; and results, if nothing is a product at all.

    Beside one that is, a result without may be what a rule passes out on purpose.
    """
    fixed: list[Node] = []
    is_read = _ignores_on_purpose(rule)
    for result in results:
        wanted = [it for it in _parts(result.node) if it in moving or not _is_constant(it)]
        parts = [sources([it]) for it in wanted]
        still = [it for it in parts if moving.isdisjoint(it) and _is_known(it)]
        is_read = is_read or len(still) < len(parts)
        if still and len(still) < len(parts):
            yield result.node
        elif still:
            fixed.append(result.node)
    if not is_read:
        yield from fixed[:1]


def _ignores_on_purpose(rule: Value) -> bool:
    """Whether a rule says that it does not want its last argument."""
    function = innermost_function(rule)
    names = positional_names(function) if function is not None else []
    if function is None or not names or names[-1].startswith("_"):
        return True
    return any(isinstance(it, ast.Delete) for it in walked(function.syntax))


def _parts(node: Node) -> list[Node]:
    """The parts of a sum."""
    found: list[Node] = []
    pending = [node]
    while pending and len(found) < 20:
        current = pending.pop()
        if current.operation in _SUMS and current.inputs:
            pending.extend(current.inputs)
        else:
            found.append(current)
    return found


def _is_constant(node: Node) -> bool:
    return node.operation in _CONSTANTS or not node.inputs


def _is_known(behind: set[Node]) -> bool:
    """Whether nothing on the way could know a tangent without saying so.

    A closure could, and so could whatever fills an array of NumPy in place.
    """
    return not any(
        it.operation == "call" or it.operation.startswith((".", "numpy.")) for it in behind
    )
