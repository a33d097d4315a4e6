"""Terms of a loss that train less than they seem to, because of where gradients are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ..arithmetic import difference_of
from .flatness import STOPPED
from .flows import Flow
from .loss_terms import Error, Term, errors, squared, stopped, terms


@dataclass(frozen=True, eq=False)
class OneSided:
    """Two terms that compare the same two values and stop the gradient of the same one."""

    first: Node
    second: Node
    stopped: Node


def one_sided(flow: Flow) -> Iterator[OneSided]:
    """Pairs of terms that both train one side of a comparison, and neither the other."""
    found: dict[tuple[int, int], Node] = {}
    pairs: list[tuple[tuple[int, int], OneSided]] = []
    for error in errors(flow):
        for side, other in _sides(flow, error):
            source = stopped(side)
            if source is None or not flow.uses(source) or not flow.gets(other):
                continue
            # A softmax takes its largest logit off, stopped: one value, and no comparison.
            if other in flow.slice([source]):
                continue
            sides = flow.same.number(source), flow.same.number(other)
            earlier = found.setdefault(sides, error.made)
            if earlier is not error.made:
                pairs.append((sides, OneSided(earlier, error.made, source)))
    for (one, other), pair in pairs:
        if (other, one) not in found:
            yield pair


def _sides(flow: Flow, error: Error) -> Iterator[tuple[Node, Node]]:
    parts = error.parts
    if len(parts) == 1:
        found = difference_of(parts[0].node)
        if found is None:
            return
        one, other = found
    else:
        one, other = parts[0].node, parts[1].node
    yield one, other
    yield other, one


def terms_without_gradient(flow: Flow) -> Iterator[Node]:
    """Squared errors, and comparisons, in terms that depend on parameters and train none."""
    yield from _errors_stopped(flow)
    parts = terms(flow, [Term(node, 1) for node in flow.results])
    for term in parts if len(parts) > 1 else []:
        if flow.uses(term.node) and not flow.gets(term.node):
            both = (_both_stopped(flow, it) for it in flow.slice([term.node], stopped=True))
            yield from [it for it in both if it is not None][:1]


def _both_stopped(flow: Flow, node: Node) -> Node | None:
    """A difference of two trained values, or the stop of a side of it, that has no gradient left.

    Nobody stops both on purpose, in what is added to a loss: one of them was to learn.
    """
    sides = difference_of(node) if not flow.gets(node) else None
    if sides is None or not all(map(flow.uses, sides)) or flow.same.are(*sides):
        return None
    inner = [stopped(it) for it in sides]
    if all(it is not None and flow.gets(it) for it in inner):
        return sides[1] if inner[0] is not inner[1] else None
    reasons = [flow.blockers(flow.uses(it), [it]) for it in sides]
    has_stop = all(any(reason == STOPPED for _, reason in found) for found in reasons)
    return node if has_stop else None


def _errors_stopped(flow: Flow) -> Iterator[Node]:
    """Squared errors in terms that depend on parameters and train none."""
    parts = terms(flow, [Term(node, 1) for node in flow.results], into_reductions=False)
    for term in parts if len(parts) > 1 else []:
        if not flow.uses(term.node) or flow.gets(term.node):
            continue
        for node in flow.slice([term.node], stopped=True):
            inside = squared(node)
            error = stopped(inside) if inside is not None else None
            # The square of anything else may be a constant on purpose, by Danskin's theorem.
            if error is not None and error.operation == "-" and flow.uses(error):
                yield node
                break
