"""Straight-through estimators: the value of one thing with the gradient of another.

`x + stop_gradient(q - x)` is taken apart into its terms: how often the value has each of them, and
how often the gradient has. So it does not matter how the sum is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ...values import Data, Value
from .flatness import STOP, STOPPED, is_integer
from .flows import Flow

_DEEPEST = 6
_TRUTHS = frozenset(("<", "<=", ">", ">=", "==", "!=", "~x", "&", "|"))


@dataclass(eq=False)
class Part:
    """A term of a sum: how often the value has it, and how often the gradient has."""

    node: Node
    value: int = 0
    slope: int = 0


@dataclass(frozen=True, eq=False)
class Sum:
    """What is added up, with `stop_gradient` around some of it or not."""

    node: Node
    parts: list[Part]
    has_stop: bool


@dataclass(frozen=True, eq=False)
class Exchanged:
    """A sum with the value of what has a gradient, and nothing of the value of what has none."""

    node: Node
    hard: Node
    soft: Node


def exchanged(flow: Flow) -> Iterator[Exchanged]:
    """Straight-through estimators the wrong way round.

    What was rounded has no gradient. Where its value cancels too, it is there for nothing.
    """
    for it in _sums(flow):
        gone = [part for part in it.parts if not part.value] if it.has_stop else []
        kept = [part for part in it.parts if part.value and flow.gets(part.node)]
        for hard in gone:
            soft = next((part for part in kept if _replaces(flow, it, part, hard)), None)
            if soft is not None:
                yield Exchanged(it.node, hard.node, soft.node)
                break


def _replaces(flow: Flow, whole: Sum, soft: Part, hard: Part) -> bool:
    """Whether a sum has the value of one term where it should have that of a rounded one."""
    if _is_cut(flow, hard.node, soft.node):
        return True
    if soft.slope or not hard.slope:
        return False
    if any(it.value and _is_cut(flow, it.node, soft.node) for it in whole.parts):
        return False  # A rounded value is there.
    # The gradient is that of the one, which is rounded in part, and the value that of the other.
    within = flow.slice([hard.node]) - flow.slice([soft.node])
    return any(
        it.operation not in _TRUTHS and not is_integer(it) and _is_cut(flow, it, soft.node)
        for it in within
    )


def opposed(flow: Flow) -> Iterator[tuple[Node, Node, bool]]:
    """Sums whose value has nothing of a term, and whose gradient has that term's with a minus.

    `stop_gradient(hard + soft) - soft` is `hard`, and goes down where `soft` goes up. Where all is
    stopped, or nothing, the gradient has nothing of the term either: the last of the three tells.
    """
    for it in _sums(flow):
        forward = [part.node for part in it.parts if part.value]
        for part in it.parts:
            if part.value or part.slope > 0 or not flow.gets(part.node):
                continue
            if any(_is_cut(flow, node, part.node) for node in forward):
                yield it.node, part.node, part.slope == 0


def _is_cut(flow: Flow, node: Node, term: Node) -> bool:
    """Whether a value is one with its gradient cut off: by rounding, not on purpose.

    A return less the value that it was made from is to pull on that value alone.
    """
    if not flow.uses(node) & ~flow.gets(node) & flow.gets(term):
        return False
    reached = flow.slice([node])
    return all(flow.blocker(source, it) != STOPPED for it in reached for source in flow.sources(it))


def _sums(flow: Flow) -> Iterator[Sum]:
    """All sums in which a term cancels, in value or in gradient."""
    inner: set[Node] = set()
    for node in reversed(flow.order):
        if node.operation not in ("+", "-") or node in inner:
            continue
        parts: dict[int, Part] = {}
        has_stop = _add(flow, node, 1, 1, parts, inner, 0)
        if any(not part.value for part in parts.values()):
            yield Sum(node, list(parts.values()), has_stop)


def _add(
    flow: Flow,
    node: Node,
    value: int,
    slope: int,
    parts: dict[int, Part],
    inner: set[Node],
    depth: int,
) -> bool:
    """Add to the parts what a sum is made of, and say whether anything of it is stopped."""
    if node.operation == STOP and len(node.inputs) == 1:
        _add(flow, node.inputs[0], value, 0, parts, inner, depth + 1)
        return True
    operands = [_single(it) for it in node.operands]
    is_sum = node.operation in ("+", "-") and len(operands) == 2
    if depth < _DEEPEST and is_sum and None not in operands:
        inner.add(node)
        sign = 1 if node.operation == "+" else -1
        first, second = (it for it in operands if it is not None)
        stops = _add(flow, first, value, slope, parts, inner, depth + 1)
        return _add(flow, second, sign * value, sign * slope, parts, inner, depth + 1) or stops
    part = parts.setdefault(flow.same.number(node), Part(node))
    part.value += value
    part.slope += slope
    return False


def _single(value: Value) -> Node | None:
    return value.node if isinstance(value, Data) else None
