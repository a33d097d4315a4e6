"""Sums over the lanes of a map of what each lane has divided by a length of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....words import is_feature, is_sequence
from ...frame import Frame
from ...graph import Node
from ...remember import walked
from ...shapes import Dim
from ...shapes.dims import same
from ...shapes.names import name_of
from ...values import Data
from ..nodes import names_axis, nodes_by, stacked_over, users_of, without_scale
from .lanes import Lane, lanes_in, measured

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What is summed up is still the same quotient, perhaps with something beside it.
_KEPT = frozenset("+ - -x * / stack item field element primal join".split())
_MOST_STEPS = 200


@dataclass(frozen=True)
class Divided:
    """A quotient by the length of what one lane has: where that is taken, and where all summed."""

    frame: Frame
    at: ast.expr | ast.stmt
    array: ast.expr
    lane: Lane
    total: Node


def divided_in_lanes(facts: SourceFacts) -> Iterator[Divided]:
    """Totals over lanes that were divided in each lane by a number that is not of their summands.

    A mean inside of a lane divides a sum by how many there are. A sum over other things, divided
    by that length and then summed over all lanes, is the mean over the lanes, by a wrong number. So
    is a logarithm, less that of the length, of which `logsumexp` is taken.
    """
    users = users_of(facts)
    for node in nodes_by(facts, ("/", "-")):
        frame, written = node.frame, node.syntax
        if frame is None or frame.region is None or node.shape != ():
            continue
        in_logs = node.operation == "-"
        divisor = written.right if isinstance(written, ast.BinOp) else None
        divisor = _in_logarithm(divisor) if in_logs else divisor
        found = length_written(frame, divisor) if divisor is not None else None
        if found is None:
            continue
        at, array = found
        lane = lanes_in(frame)(array)
        above = node.operands[0] if node.operands else None
        if lane is None or not isinstance(above, Data):
            continue
        shape = lane.array.node.shape
        is_other = in_logs or (
            isinstance(shape, tuple) and bool(shape) and any(sums_of_other(above.node, shape[0]))
        )
        total = _total(node, lane, users, "logsumexp" if in_logs else "sum") if is_other else None
        if total is not None:
            yield Divided(frame, at, array, lane, total)


def _in_logarithm(written: ast.expr | None) -> ast.expr | None:
    """`n` in `jnp.log(n)`: to take it from a logarithm is to divide by `n`."""
    match written:
        case ast.Call(func=ast.Attribute(attr="log"), args=[inner]):
            return inner
        case _:
            return None


def length_written(frame: Frame, divisor: ast.expr) -> tuple[ast.expr | ast.stmt, ast.expr] | None:
    """Where a length is taken and of which array, unless its name says what of a lane it counts."""
    array = measured(divisor)
    if array is not None:
        return divisor, array
    if not isinstance(divisor, ast.Name) or frame.function is None:
        return None
    if is_feature(divisor.id) or is_sequence(divisor.id):
        return None
    stored = stored_once(frame, divisor)
    array = measured(stored.value) if stored is not None else None
    return (stored, array) if stored is not None and array is not None else None


def stored_once(frame: Frame, name: ast.Name) -> ast.Assign | None:
    """The statement of a run that gives a name its value, if there is but one."""
    stores = [
        it
        for it in (walked(frame.function) if frame.function is not None else ())
        if isinstance(it, ast.Assign) and any(_is(target, name) for target in it.targets)
    ]
    return stores[0] if len(stores) == 1 else None


def _is(target: ast.expr, name: ast.Name) -> bool:
    return isinstance(target, ast.Name) and target.id == name.id


def sums_of_other(above: Node, length: Dim) -> Iterator[Node]:
    """The sums in a numerator over axes of which none has a certain length."""
    pending, seen = [above], {above}
    while pending and len(seen) < _MOST_STEPS:
        node = without_scale(pending.pop())
        if node.operation in ("+", "-", "-x", "*"):
            new = [it for it in node.inputs if it not in seen]
            seen.update(new)
            pending.extend(new)
        elif node.operation.rpartition(".")[2] == "sum" and len(node.inputs) == 1:
            shape = node.inputs[0].shape
            known = isinstance(shape, tuple) and shape and names_axis(node) is False
            if known and isinstance(shape, tuple) and all(_is_other(it, length) for it in shape):
                yield node


def _is_other(one: Dim, other: Dim) -> bool:
    names = name_of(one), name_of(other)
    return names[0] != names[1] if all(names) else same(one, other) is False


def _total(node: Node, lane: Lane, users: dict[Node, list[Node]], kind: str) -> Node | None:
    """The sum over all lanes that a quotient ends in."""
    pending, seen = [node], {node}
    while pending and len(seen) < _MOST_STEPS:
        current = pending.pop()
        for user in users.get(current, ()):
            name = user.operation.rpartition(".")[2]
            if name == kind and stacked_over(current) is lane.region:
                return user
            if user.operation in _KEPT and user not in seen:
                seen.add(user)
                pending.append(user)
    return None
