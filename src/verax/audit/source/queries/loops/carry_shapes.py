"""How the shape of a carry changes in one turn, and who changes it."""

from __future__ import annotations

from itertools import combinations

from ...events import Loop
from ...graph import sources
from ...shapes import Shape
from ...shapes.dims import differ
from ...shapes.shape import Partial, outer_product
from ...values import Data

_JOINS = frozenset(
    (
        "concatenate append stack vstack hstack column_stack dstack pad repeat tile insert delete"
    ).split()
)


def reshapes(before: Data, after: Data) -> bool:
    """Whether a body takes an axis from its own carry, or puts the carry into one more.

    Only the body can then be wrong: of broadcasts, that is so of one that makes a table of pairs.
    """
    if not after.node.depends_on(before.node):
        return False
    fewer = len(after.node.shape) < len(before.node.shape)
    name = after.node.operation.rpartition(".")[2]
    is_put_into_one = name in ("stack", "outer") and before.node in after.node.inputs
    return fewer or is_put_into_one or _is_table_of_pairs(after)


def _is_table_of_pairs(value: Data) -> bool:
    """Whether something comes of `(n,)` that meets `(n, 1)`."""
    shapes = [it.node.shape for it in value.node.operands if isinstance(it, Data)]
    return any(outer_product(one, other) for one, other in combinations(shapes, 2))


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
