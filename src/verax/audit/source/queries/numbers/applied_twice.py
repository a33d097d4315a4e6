"""Functions that compress or scale each number, and get what they gave for the same parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...frame import Frame
from ...graph import Node
from ...operations import ARITHMETIC, MODULES
from ...values import Constant, Data, Value, nodes_of
from .meaning import first_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts

_ELEMENTWISE = frozenset(
    "sign abs absolute log log1p sqrt rsqrt maximum minimum clip where exp expm1 square multiply "
    "divide add subtract arcsinh astype asarray float32".split()
)
# What is done twice by these is not done in two steps.
_COMPRESSING = frozenset("log log1p arcsinh sqrt rsqrt divide".split())


def applied_twice(facts: SourceFacts) -> Iterator[tuple[Frame, Frame]]:
    """Runs of one function, of which the second gets what the first has given."""
    for _, runs in facts.functions():
        given = {node: run for run in runs if (node := _returned(run)) is not None}
        for run in runs if len(given) > 1 else ():
            found = _before(run, given)
            if found is not None:
                yield found, run


def _returned(run: Frame) -> Node | None:
    values = [value for _, value in run.returns]
    only = values[0] if len(values) == 1 else None
    return only.node if isinstance(only, Data) else None


def _before(run: Frame, given: dict[Node, Frame]) -> Frame | None:
    """The run whose result this one gets, with the same parameters besides."""
    result = _returned(run)
    for name, value in run.given.items():
        if not isinstance(value, Data) or result is None or result is value.node:
            continue
        found = first_behind(value.node, lambda it: it in given and it is not result)
        first = given[found] if found is not None else None
        if first is None or not _have_same(run, first, name):
            continue
        if _compresses(result, value.node):
            return first
    return None


def _have_same(one: Frame, other: Frame, besides: str) -> bool:
    """Whether two runs get the same, but for one parameter."""
    names = one.given.keys() - {besides}
    return one.given.keys() == other.given.keys() and all(
        _are_same(one.given[it], other.given[it]) for it in names
    )


def _are_same(one: Value, other: Value) -> bool:
    if isinstance(one, Constant) and isinstance(other, Constant):
        return bool(one.value == other.value)
    first, second = nodes_of(one), nodes_of(other)
    pairs = zip(first, second, strict=False)
    return bool(first) and len(first) == len(second) and all(a is b for a, b in pairs)


def _compresses(result: Node, of: Node) -> bool:
    """Whether each number of a result is made from one of an array, by a root or a quotient."""
    pending, seen, is_found = [result], {result, of}, False
    while pending:
        node = pending.pop()
        if node is of or not node.depends_on(of):
            continue
        module, _, name = node.operation.rpartition(".")
        if node.operation not in ARITHMETIC and not (module in MODULES and name in _ELEMENTWISE):
            return False
        is_found = is_found or name in _COMPRESSING or _is_scaled(node)
        new = [it for it in node.inputs if it not in seen]
        seen.update(new)
        pending.extend(new)
        if len(seen) > 40:
            return False
    return is_found


def _is_scaled(node: Node) -> bool:
    """Whether something is divided by what is computed, and is not a number."""
    return node.operation == "/" and len(node.operands) == 2 and len(node.inputs) == 2
