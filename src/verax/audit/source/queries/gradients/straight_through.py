"""Straight-through estimators in what is read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ....estimators import Estimators, Exchanged
from ...events import Event
from ...frame import Frame
from ...graph import Node
from ...operations import FLAGS
from ...values import Data, Instance, Sequence
from ..blame import given_together_at
from ..nodes import position_in
from .flatness import STOP, STOPPED, is_integer
from .flows import Flow

if TYPE_CHECKING:
    from ....finding import Place

_SIGNS = {"+": (1, 1), "-": (1, -1), "-x": (-1,)}


class ReadEstimators(Estimators[Node]):
    """Those of one differentiated function."""

    def __init__(self, flow: Flow):
        self.flow = flow

    def _wholes(self) -> Iterator[Node]:
        return (it for it in reversed(self.flow.order) if it.operation in ("+", "-"))

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

    def _is_made_with(self, value: Node, term: Node) -> bool:
        return bool(self.flow.uses(value) & self.flow.gets(term))

    def _is_shared(self, term: Node) -> bool:
        return self._users[term] > 1

    @cached_property
    def _users(self) -> Counter[Node]:
        return Counter(it for node in self.flow.order for it in self.flow.sources(node))

    def _made_on_the_way(self, hard: Node, soft: Node) -> list[Node]:
        within = self.flow.slice([hard]) - self.flow.slice([soft])
        return [it for it in within if it.operation not in FLAGS and not is_integer(it)]


def exchanged_at(it: Exchanged[Node]) -> Place | None:
    """Where value and gradient are exchanged: in the sum, or by who gives them to what adds up.

    A function of two values, or of two functions, gives the value of the one with the gradient of
    the other. Which is which only who calls it can know, unless both call them the same.
    """
    frame, syntax = it.whole.frame, it.whole.syntax
    if frame is None or syntax is None or _are_called_the_same(frame):
        return it.whole.place
    functions = {_function_given_at(frame, term) for term in (it.hard, it.soft)}
    if len(functions) == 1 and None not in functions:
        return functions.pop()
    return given_together_at(Event(syntax, frame), [Data(it.hard), Data(it.soft)])


def _are_called_the_same(frame: Frame) -> bool:
    """Whether the arguments of a call are variables with the names of the parameters."""
    called_at, arguments = frame.called_at, getattr(frame.function, "args", None)
    if not isinstance(called_at, ast.Call) or not isinstance(arguments, ast.arguments):
        return False
    names = [it.arg for it in arguments.args if it.arg not in ("self", "cls")]
    pairs = list(zip(names, called_at.args, strict=False))
    return len(pairs) > 1 and all(
        isinstance(given, ast.Name) and (given.id.startswith(name) or name.startswith(given.id))
        for name, given in pairs
    )


def _function_given_at(frame: Frame, term: Node) -> Place | None:
    """Where the function that makes a term was given: to the call, the one around it, an object."""
    made = position_in(frame, term)
    called = made.func if isinstance(made, ast.Call) else None
    scope: Frame | None = frame
    while isinstance(called, ast.Name) and scope is not None:
        if called.id in scope.given and scope.caller is not None and scope.called_at is not None:
            return scope.caller.place(scope.called_at)
        scope = scope.outer
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return None
    owner = frame.given.get(called.value.id)
    if isinstance(owner, Sequence) and owner.made_in is not None and owner.syntax is not None:
        return owner.made_in.place(owner.syntax)
    if isinstance(owner, Instance) and called.attr in owner.attributes:
        return owner.node.place
    return None
