"""Masks that say which elements of an array are there at all: of padding, of missing neighbours.

A mask is known by its name, `mask`, `valid` or `pad`, under which some function knows the value, or
by what it compares: `arange(n) < lengths`. What is drawn at random is no such mask.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....words import words_of
from ...graph import Node, sources
from ...operations import ARITHMETIC, BROADCASTS, MEANS, MODULES, RANGES, VIEWS, bare
from ...remember import remembered
from ...shapes.shape import rank
from ...text import text_of
from ...values import Constant, Data, Value, nodes_of
from ..arithmetic import is_far_below
from ..indices import index_parts, is_new_axis, is_whole
from ..nodes import names_axis, nodes_by, users_of
from .meaning import first_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts

_WORDS = frozenset("mask masks valid pad padding legal available".split())
# They are made by chance, or choose which position may look at which.
_OTHER_MASKS = frozenset("dropout drop causal random noise bernoulli keep tri".split())
_SAME = bare(VIEWS | BROADCASTS) | {"stop_gradient"}
_ELEMENTWISE = ARITHMETIC | {"item", "stack"}


@dataclass(frozen=True, eq=False)
class Masked:
    """Elements that a mask sets to zero: `values * mask`, `where(mask, values, 0)`."""

    node: Node
    values: Node
    mask: Node
    name: str


def averaged_with_padding(facts: SourceFacts) -> Iterator[tuple[Node, Masked]]:
    """Means over masked values that count what is masked, too."""
    for masked in _all_masked(facts):
        users = users_of(facts)
        for mean in users.get(masked.node, ()):
            if mean.operation not in MEANS or _is_counted(mean, masked, users):
                continue
            # Along which axis something was masked elsewhere is not known.
            if names_axis(mean) is False or mean.frame is masked.node.frame:
                yield mean, masked


def masked_after_softmax(facts: SourceFacts) -> Iterator[tuple[Node, Masked]]:
    """Chances that are masked without having been told before, nor brought to a sum of one."""
    zeroed = [it for it in _all_masked(facts) if not _is_of_rows(it)]
    for masked in (*zeroed, *_filled_as_logits(facts)):
        softmax = first_behind(masked.values, lambda it: it.operation == "jax.nn.softmax")
        if softmax is None:
            continue
        sources = {it for it in masked.mask.ancestors() if it.operation != "join"}
        if any(it in sources for it in softmax.ancestors()):
            continue  # The logits know the mask, or it was made from them.
        if not _is_divided(masked.node, masked.node, users_of(facts)):
            yield softmax, masked


def _filled_as_logits(facts: SourceFacts) -> Iterator[Masked]:
    """What gets a number far below zero where a mask leaves it out, as logits do."""
    for node in nodes_by(facts, ("jax.numpy.where",)):
        found = _filled(facts, node, is_far_below)
        if found is not None:
            yield found


def centred_with_padding(facts: SourceFacts) -> Iterator[tuple[Node, Masked]]:
    """Means over all elements that are taken from values which are masked later on."""
    for masked in _all_masked(facts):
        for node in _element_by_element(masked.values):
            if node.operation != "-" or len(node.inputs) != 2:
                continue
            of, mean = node.inputs
            is_of_all = mean.operation in MEANS and names_axis(mean) is False
            is_it = is_of_all and mean.inputs[:1] == (of,) and not _knows(mean, masked)
            if is_it and not _has_more_axes(masked.mask, of):
                yield mean, masked


def _has_more_axes(mask: Node, values: Node) -> bool:
    """Whether a mask tells of parts of each of some values, all of which are there."""
    most, count = rank(mask.shape), rank(values.shape)
    return most is not None and count is not None and most > count


def _knows(mean: Node, masked: Masked) -> bool:
    """Whether a mean is told what is there: `x.mean(where=mask)`."""
    return any(it.depends_on(masked.mask) for it in mean.inputs[1:])


@remembered
def _all_masked(facts: SourceFacts) -> list[Masked]:
    """What masks set to zero."""
    known = (_masked(facts, node) for node in nodes_by(facts, ("*", "jax.numpy.where")))
    return [it for it in known if it is not None]


def _masked(facts: SourceFacts, node: Node) -> Masked | None:
    operands = node.operands
    if node.operation == "*" and len(operands) == 2:
        one, other = operands
        return _chosen(facts, node, one, other) or _chosen(facts, node, other, one)
    return _filled(facts, node, _is_zero) if node.operation == "jax.numpy.where" else None


def _filled(facts: SourceFacts, node: Node, fills: Callable[[Value], bool]) -> Masked | None:
    """What a choice by a mask leaves of values, on whichever side it has something else."""
    if len(node.operands) != 3:
        return None
    mask, one, other = node.operands
    for values, filling in ((one, other), (other, one)):
        if fills(filling):
            return _chosen(facts, node, mask, values)
    return None


def _chosen(facts: SourceFacts, node: Node, mask: Value, values: Value) -> Masked | None:
    """What an operation makes of a mask and values."""
    name = mask_name(facts, mask.node) if isinstance(mask, Data) else ""
    if not isinstance(mask, Data) or not isinstance(values, Data) or not name:
        return None
    is_region = _may_be_a_region(mask.node)
    return None if is_region else Masked(node, values.node, without_view(mask.node), name)


_MAKERS = frozenset("zeros ones full empty eye arange linspace meshgrid tri tril triu".split())


def _may_be_a_region(mask: Node) -> bool:
    """Whether a mask may be the same for all data: made of sizes, by the host, or nobody knows."""
    if without_view(mask).operation == "call":
        return True
    made = {it for it in mask.ancestors() if it.operation.rpartition(".")[2] in _MAKERS}
    behind = sources([mask], through=lambda it: it not in made)
    if any(it.operation.startswith("numpy.") for it in behind):
        return not any(it.operation.startswith("jax.") for it in behind)
    return bool(made) and all(it in made for it in behind if not it.inputs or it in made)


def _is_zero(value: Value) -> bool:
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, (int, float)) and number == 0


def without_view(node: Node) -> Node:
    """A mask without changes of its shape and type."""
    for _ in range(12):
        module, _, name = node.operation.rpartition(".")
        is_view = _adds_axis(node) or _is_cut(node) or (module in MODULES and name in _SAME)
        if not node.inputs or not (is_view or node.operation == "~x"):
            return node
        node = node.inputs[0]
    return node


def _is_cut(node: Node) -> bool:
    """Whether an index takes a stretch along some axes: `mask[:, 1:]`."""
    parts = index_parts(node.syntax) if node.operation == "item" else []
    return bool(parts) and all(isinstance(it, ast.Slice) or is_whole(it) for it in parts)


def _adds_axis(node: Node) -> bool:
    return node.operation == "item" and any(map(is_new_axis, index_parts(node.syntax)))


def mask_name(facts: SourceFacts, node: Node) -> str:
    """The name that says what a mask is for, if one does, whatever its shape and type became."""
    return _name(facts, node) or _name(facts, without_view(node))


def _name(facts: SourceFacts, node: Node) -> str:
    if node.operation in ("<", ">", "<=", ">=") and any(
        without_view(it).operation in RANGES for it in node.inputs
    ):
        return text_of(node.syntax) if node.syntax is not None else "the mask"
    name = _names(facts).get(node, "") or (
        node.label if node.operation in ("parameter", "field", "item", "slice", "lane") else ""
    )
    words = frozenset(words_of(name))
    if words.isdisjoint(_WORDS) or not words.isdisjoint(_OTHER_MASKS):
        return ""
    is_drawn = any(it.operation.startswith("jax.random.") for it in node.ancestors())
    return "" if is_drawn else name.strip("'\"")


@remembered
def _names(facts: SourceFacts) -> dict[Node, str]:
    """The names of values that functions know as masks."""
    found: dict[Node, str] = {}
    for frame in facts.frames:
        for name, value in (*frame.environment.items(), *frame.given.items()):
            if isinstance(value, Data) and not _WORDS.isdisjoint(words_of(name)):
                found.setdefault(value.node, name)
    return found


def _is_counted(mean: Node, masked: Masked, users: dict[Node, list[Node]]) -> bool:
    """Whether the share of what is there comes into a mean, before or after it is taken."""
    if _knows(mean, masked) or _is_divided(mean, masked.mask, users):
        return True
    return any(
        it.operation == "/" and len(it.inputs) > 1 and it.inputs[1].depends_on(masked.mask)
        for it in _element_by_element(masked.node)
    )


def _is_divided(node: Node, by: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether a value is divided by something that is made from a mask or from itself."""
    pending, seen = [node], {node}
    while pending and len(seen) < 40:
        for user in users.get(pending.pop(), ()):
            if user in seen:
                continue
            seen.add(user)
            if user.operation == "/" and any(it.depends_on(by) for it in user.inputs[1:]):
                return True
            if user.operation in _ELEMENTWISE or user.operation.endswith((".sum", ".mean")):
                pending.append(user)
    return False


def _element_by_element(node: Node) -> Iterator[Node]:
    """A value and what it is made from element by element, with nothing repeated."""
    pending, seen = [node], {node}
    while pending and len(seen) < 40:
        current = pending.pop()
        yield current
        if current.operation in _ELEMENTWISE and not _adds_axis(current):
            for it in current.inputs:
                if it not in seen:
                    seen.add(it)
                    pending.append(it)


def _is_of_rows(masked: Masked) -> bool:
    """Whether a mask has one entry for all chances of a row, which are left out together."""
    mask = masked.node.operands[0] if masked.node.operation.endswith("where") else None
    nodes = [masked.mask]
    for value in (mask,) if mask is not None else masked.node.operands:
        nodes += nodes_of(value)
    for node in nodes:
        while node is not masked.mask and node.inputs:
            if _ends_with_axis(node):
                return True
            node = node.inputs[0]
    return False


def _ends_with_axis(node: Node) -> bool:
    if node.operation.endswith("expand_dims"):
        return True
    return _adds_axis(node) and is_new_axis(index_parts(node.syntax)[-1])
