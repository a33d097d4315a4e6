"""How the shape of a carry changes in one turn, and who changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import Fact, Loop
from ...graph import Node, sources
from ...operations import JOINS, bare
from ...shapes import Shape
from ...shapes.dims import differ
from ...shapes.shape import Partial, rank
from ...values import Data
from ..nodes import users_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_JOINS = bare(JOINS) | frozenset("append pad repeat tile insert delete".split())

_MOST = 64


def reshapes(before: Data, after: Data) -> bool:
    """Whether a body takes an axis from its own carry, or puts the carry into one more.

    A broadcast can do neither: only the body can then be wrong.
    """
    if not after.node.depends_on(before.node):
        return False
    fewer = len(after.node.shape) < len(before.node.shape)
    name = after.node.operation.rpartition(".")[2]
    return fewer or (name in ("stack", "outer") and before.node in after.node.inputs)


def is_paired(facts: SourceFacts, before: Data, after: Data) -> bool:
    """Whether a body meets its carry with a column, so that each is repeated along the other.

    A start that is a column would do as well, unless the body also meets the carry with a vector.
    """
    made = {it.data["result"].node for it in facts.events(Fact) if it.kind == "outer product"}
    around = set(after.node.ancestors()) if made else set[Node]()
    paired = [it for it in made & around if it.depends_on(before.node)]
    return bool(paired) and _meets_vector(facts, before.node, made)


def _meets_vector(facts: SourceFacts, carry: Node, paired: set[Node]) -> bool:
    """Whether a vector, or what is made of it that would be a column if it were, meets another."""
    pending, users = [carry], users_of(facts)
    for node in pending:
        for user in users.get(node, ()):
            others = [it for it in user.inputs if it is not node and rank(it.shape) != 0]
            is_mapped = user.operation == "@" and user.inputs[-1] is node
            if user in paired or user in pending or len(pending) > _MOST:
                continue
            if not others or (is_mapped and rank(others[0].shape) == 2):
                pending.append(user)
            elif any(rank(it.shape) == 1 for it in others):
                return True
    return False


def has_other_size(loop: Loop, before: Data, after: Data) -> bool:
    """Whether a carry gets its size from something else: weights, or what is scanned.

    Then it is the start that has another one, and not the body that makes it grow.
    """
    made_from = sources([after.node], lambda node: node is not before.node)
    made_inside = [it for it in made_from if it.is_made_in(loop.region)]
    if any(it.operation.rpartition(".")[2] in _JOINS for it in made_inside):
        return False
    pairs = zip(before.node.shape, after.node.shape, strict=True)
    new = [size for old, size in pairs if differ(old, size)]
    given = [it.shape for it in made_from if not it.is_made_in(loop.region) and it.shape]
    return all(any(size in shape for shape in given if type(shape) is tuple) for size in new)


def ends_otherwise(one: Shape, other: Shape) -> bool:
    """Whether two shapes, of which not all axes are known, differ in their last ones."""
    ends = [it.trail if isinstance(it, Partial) else it or () for it in (one, other)]
    pairs = zip(*map(reversed, ends), strict=False)
    return any(differ(first, second) for first, second in pairs)
