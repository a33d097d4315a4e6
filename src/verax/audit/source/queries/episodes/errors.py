"""Errors of single steps that know where episodes end, before a recursion adds them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import is_episode_end
from ...events import Loop
from ...frame import Frame
from ...graph import Node
from ...operations import (
    AND,
    BROADCASTS,
    FULLS,
    ONES,
    OR,
    REVERSALS,
    SELECTIONS,
    TRANSPOSES,
    VIEWS,
    WRITTEN,
)
from ...values import Constant, Value, leaves
from ..loops.bodies import behind, made_from, paired_leaves
from ..loops.direction import runs_backwards
from ..names import names_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_SUMS = frozenset("+ -".split())
_PRODUCTS = SELECTIONS | {"*"}
# Numbers stay what they are, in another order, shape or type.
_MOVED = VIEWS | TRANSPOSES | REVERSALS | {"item", "lane", "primal", "jax.lax.stop_gradient"}
# What turns flags into flags or into factors.
_AS_FACTORS = _MOVED | SELECTIONS | OR | AND | {"-", "~x"}
# Rows that were put in leave the others as they are.
_PLACED = _MOVED | WRITTEN
_DEPTH = 12


def masked_errors(facts: SourceFacts, loop: Loop) -> bool:
    """Whether a loop that runs backwards gets sums of which flags mask one term, and not another.

    `reward + gamma * (1 - done) * following - value` is such a sum; rewards that are masked as a
    whole may well stand for the end by themselves.
    """
    return runs_backwards(loop) and any(
        has_masked_term(facts, loop.frame, whole) for whole, _ in shares(loop)
    )


def decays_past_ends(facts: SourceFacts) -> Iterator[tuple[Node, Place]]:
    """Factors of a backward associative scan over such sums that know nothing of ends."""
    for call in facts.calls(("jax.lax.associative_scan",)):
        parts = leaves(call.args[1]) if len(call.args) > 1 else []
        if len(parts) != 2 or not _is_true(call.keywords.get("reverse")):
            continue
        masked = [it for it in parts if has_masked_term(facts, call.frame, it.node)]
        for factor in parts if len(masked) == 1 else ():
            known = made_from([factor.node])
            if factor not in masked and not any(_is_end(facts, call.frame, it) for it in known):
                yield factor.node, call.place


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Constant) and bool(value.value)


def made_of_ends(facts: SourceFacts, loop: Loop) -> set[Node]:
    """What a turn gets of arrays that have anything to do with the ends of episodes."""
    return {
        share
        for whole, share in shares(loop)
        if any(_is_end(facts, loop.frame, it) for it in made_from([whole]))
    }


def factor_outside(loop: Loop, path: list[Node]) -> Node | None:
    """The discounts of all turns, made beside the loop, that a recursion takes its factor from.

    A turn that multiplies by its share has done what it can: who makes the array knows of ends.
    """
    given = {share: whole for whole, share in shares(loop)}
    for node in path:
        for factor in factors_of(node):
            whole = given.get(factor)
            if whole is None or whole.place is None:
                continue
            is_alone = all(it is factor or it in path for it in node.inputs)
            is_beside = is_alone or whole.frame is loop.frame
            if _is_filled(whole) or (is_beside and whole.operation == "*"):
                return whole
    return None


def factors_of(node: Node, depth: int = _DEPTH) -> Iterator[Node]:
    """The factors of a product, and of the products among them."""
    if node.operation == "*" and depth:
        for it in node.inputs:
            yield it
            yield from factors_of(it, depth - 1)


# They repeat a number, whatever they take their shape from.
_FILLING = ONES | FULLS | BROADCASTS


def _is_filled(node: Node, depth: int = _DEPTH) -> bool:
    """Whether an array is one number several times, or a product of such an array with a number."""
    if node.operation == "*" and depth:
        others = [it for it in node.inputs if not _is_filled(it, depth - 1)]
        is_number = all(it.shape == () or it.operation == "parameter" for it in others)
        return is_number and len(others) < len(node.inputs)
    return node.operation in _FILLING


def shares(loop: Loop) -> Iterator[tuple[Node, Node]]:
    """What a turn takes of arrays outside, as its slice or at its number, with these."""
    for whole, share in paired_leaves(loop.xs, loop.slices):
        yield whole.node, share.node
    for node in behind(loop.returned):
        base = node.inputs[0] if node.operation == "item" and node.inputs else None
        if base is not None and loop.region in node.varies and loop.region not in base.varies:
            yield base, node


def has_masked_term(facts: SourceFacts, frame: Frame, node: Node, depth: int = _DEPTH) -> bool:
    """Whether something is a sum of which flags mask one term, and not another."""
    if not depth:
        return False
    if node.operation in _PLACED and node.inputs:
        return has_masked_term(facts, frame, node.inputs[0], depth - 1)
    if node.operation in _SUMS:
        terms = list(_terms(node))
        masked = [it for it in terms if _is_masked(facts, frame, it)]
        return 0 < len(masked) < len(terms)
    if node.operation in _PRODUCTS:
        return any(has_masked_term(facts, frame, it, depth - 1) for it in node.inputs)
    return False


def _terms(node: Node, depth: int = _DEPTH) -> Iterator[Node]:
    if node.operation in _SUMS and depth:
        for it in node.inputs:
            yield from _terms(it, depth - 1)
    else:
        yield node


def _is_masked(facts: SourceFacts, frame: Frame, term: Node) -> bool:
    """Whether a term is a product with a factor made of flags, and of nothing else but numbers."""
    if term.operation not in _PRODUCTS or len(term.inputs) < 2:
        return False
    return any(
        is_made_of_ends(facts, frame, it) or _is_masked(facts, frame, it) for it in term.inputs
    )


def is_made_of_ends(facts: SourceFacts, frame: Frame, node: Node) -> bool:
    """Whether something is flags, or factors made of flags: `gamma * (1 - done)`."""
    return next(_flags_behind(facts, frame, node, is_episode_end), None) is not None


def flags_behind(
    facts: SourceFacts,
    frame: Frame,
    node: Node,
    is_called: Callable[[str], bool] = is_episode_end,
) -> list[Node]:
    """The flags of such names that a factor is made of, and of no others; the first ones last."""
    return list(_flags_behind(facts, frame, node, is_called))


def _flags_behind(
    facts: SourceFacts, frame: Frame, node: Node, is_called: Callable[[str], bool]
) -> Iterator[Node]:
    for _ in range(_DEPTH):
        if any(map(is_called, names_of(facts, node, frame))):
            yield node
        if node.operation not in _AS_FACTORS or len(node.inputs) != 1:
            return
        node = node.inputs[0]


def _is_end(facts: SourceFacts, frame: Frame, node: Node) -> bool:
    return any(map(is_episode_end, names_of(facts, node, frame)))
