"""Straight-through estimators in what is read."""

from __future__ import annotations

from collections.abc import Iterator

from ....estimators import Estimators
from ...graph import Node
from ...values import Data
from .flatness import STOP, STOPPED, is_integer
from .flows import Flow

_SIGNS = {"+": (1, 1), "-": (1, -1)}
_TRUTHS = frozenset(("<", "<=", ">", ">=", "==", "!=", "~x", "&", "|"))


class ReadEstimators(Estimators[Node]):
    """Those of one differentiated function."""

    def __init__(self, flow: Flow):
        self.flow = flow

    def _wholes(self) -> Iterator[Node]:
        return (it for it in reversed(self.flow.order) if it.operation in _SIGNS)

    def _addends(self, term: Node) -> list[tuple[int, Node]]:
        nodes = [it.node for it in term.operands if isinstance(it, Data)]
        signs = _SIGNS.get(term.operation, ())
        is_sum = len(signs) == len(nodes) == len(term.operands)
        return list(zip(signs, nodes, strict=True)) if is_sum else []

    def _stopped(self, term: Node) -> Node | None:
        return term.inputs[0] if term.operation == STOP and len(term.inputs) == 1 else None

    def _plain(self, term: Node) -> Node:
        return term

    def _number(self, term: Node) -> int:
        return self.flow.same.number(term)

    def _has_gradient(self, term: Node) -> bool:
        return bool(self.flow.gets(term))

    def _is_cut(self, value: Node, term: Node) -> bool:
        # A return less the value that it was made from is to pull on that value alone.
        flow = self.flow
        if not flow.uses(value) & ~flow.gets(value) & flow.gets(term):
            return False
        links = ((source, it) for it in flow.slice([value]) for source in flow.sources(it))
        return all(flow.blocker(source, it) != STOPPED for source, it in links)

    def _made_on_the_way(self, hard: Node, soft: Node) -> list[Node]:
        within = self.flow.slice([hard]) - self.flow.slice([soft])
        return [it for it in within if it.operation not in _TRUTHS and not is_integer(it)]
