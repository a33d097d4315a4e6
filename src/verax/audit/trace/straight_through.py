"""Straight-through estimators in what is traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from ..estimators import Estimators
from .gradients import Flow, is_inexact, plain, steps_of
from .program import Value

_SIGNS = {"add": (1, 1), "add_any": (1, 1), "sub": (1, -1), "neg": (-1,)}


class TracedEstimators(Estimators[Value]):
    """Those of one differentiated function."""

    def __init__(self, flow: Flow):
        self.flow = flow

    def _wholes(self) -> Iterator[Value]:
        for step in reversed(list(steps_of(self.flow.body))):
            if len(_SIGNS.get(step.primitive, ())) == 2 and step.outputs[0] in self.flow.needed:
                yield step.outputs[0]

    def _addends(self, term: Value) -> list[tuple[int, Value]]:
        step = term.producer
        signs = _SIGNS.get(step.primitive) if step is not None else None
        if step is None or signs is None:
            return []
        return list(zip(signs, step.inputs, strict=True))

    def _stopped(self, term: Value) -> Value | None:
        step = term.producer
        return step.inputs[0] if step is not None and step.primitive == "stop_gradient" else None

    def _plain(self, term: Value) -> Value:
        # Rows less columns are all differences, though both are one array: shapes have to stay.
        found = plain(term)
        return found if found.shape == term.shape else term

    def _number(self, term: Value) -> int:
        return self.flow.same.number(term)

    def _has_gradient(self, term: Value) -> bool:
        return bool(self.flow.gets(term))

    def _is_cut(self, value: Value, term: Value) -> bool:
        flow = self.flow
        if not flow.uses(value) & ~flow.gets(value) & flow.gets(term):
            return False
        links = (link for it in flow.slice([value]) for link in flow.back.get(it, ()))
        return all(link.blocker != "stop_gradient" for link in links)

    def _is_made_with(self, value: Value, term: Value) -> bool:
        return bool(self.flow.uses(value) & self.flow.gets(term))

    def _is_shared(self, term: Value) -> bool:
        return self._users[term] > 1

    @cached_property
    def _users(self) -> Counter[Value]:
        return Counter(link.source for link in self.flow.links)

    def _made_on_the_way(self, hard: Value, soft: Value) -> list[Value]:
        within = self.flow.slice([hard]) - self.flow.slice([soft])
        return [it for it in within if is_inexact(it)]
