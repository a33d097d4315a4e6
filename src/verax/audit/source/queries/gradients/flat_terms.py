"""Terms of a loss that depend on parameters only by what has no derivative."""

from __future__ import annotations

from collections.abc import Iterator

from ...graph import Node
from ...operations import INFINITY
from ...values import Constant, Data, External, Value
from ..boundaries import GRADIENTS
from .flatness import STOPPED
from .flows import Flow
from .loss_terms import SAME, Term, terms
from .unscored import is_draw, is_unscored_draw

# What is this large stands for what must not be, and says nothing of where to go instead.
_FORBIDDING = 1e6
_NEGLIGIBLE = 1e-6


def flat_terms(flow: Flow) -> Iterator[tuple[Node, str]]:
    """Where such terms lose their gradient, and why, in losses of which other terms train."""
    if flow.event.transformed.kind not in GRADIENTS or not flow.is_certain:
        return
    start = [Term(node, 1) for node in flow.results]
    parts = terms(flow, start, into_reductions=False, is_whole=lambda it: _is_whole(flow, it))
    trained = 0
    for term in parts:
        trained |= flow.gets(term.node)
    beside = flow.slice([it.node for it in parts if flow.gets(it.node)], blocked=True)
    for term in parts:
        used = flow.uses(term.node)
        # A parameter that no term trains is told of as such.
        if flow.gets(term.node) or not used & trained:
            continue
        blockers = flow.blockers(used, [term.node])
        is_stopped = any(reason == STOPPED for _, reason in blockers)
        if not blockers or is_stopped or _is_no_aim(flow, term.node):
            continue
        if any(map(is_draw, blockers)):
            within = flow.slice([it.node for it in parts], blocked=True)
            if not all(is_unscored_draw(flow, it, within) for it in blockers):
                continue
        # Pieces of one function: a value at a corner, and the way from there to the point.
        elif any(node in beside for node, _ in blockers):
            continue
        yield blockers[-1]


def _is_whole(flow: Flow, node: Node) -> bool:
    """Whether parts of a value are no terms: factors on parameters, or one turn's or branch's."""
    used = [it for it in node.operands if isinstance(it, Data) and flow.uses(it.node)]
    is_product = node.operation in ("*", "/") and len(used) == 2
    return is_product or (node.operation in SAME and len(flow.sources(node)) > 1)


def _is_no_aim(flow: Flow, term: Node) -> bool:
    """Whether a term makes some values impossible, or only moves a value away from zero."""
    made = flow.slice([term], blocked=True)
    return any(
        _is_forbidding(it) or (node.operation == "*" and _is_negligible(it))
        for node in made
        for it in node.operands
    )


def _is_negligible(value: Value) -> bool:
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, float) and 0.0 < abs(number) <= _NEGLIGIBLE


def _is_forbidding(value: Value) -> bool:
    if isinstance(value, External):
        return value.name in INFINITY
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, (int, float)) and abs(number) >= _FORBIDDING
