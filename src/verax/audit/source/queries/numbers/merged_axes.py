"""Axes that einops takes apart and puts together again, in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node, sources
from ...library.layers import is_linear
from ...library.naming import sides
from ...operations import CONTRACTIONS
from ...values import Constant, Data

if TYPE_CHECKING:
    from ...events import Call
    from ...facts import SourceFacts

_PRODUCTS = CONTRACTIONS | {"jax.nn.dot_product_attention"}


@dataclass(frozen=True, eq=False)
class Reordered:
    """An axis that is merged as `names`, where what goes into it was taken apart as `before`.

    Or one that is taken apart, where it was merged before: `is_split`.
    """

    call: Call
    names: tuple[str, ...]
    before: tuple[str, ...]
    at: Node
    is_split: bool


def reordered(facts: SourceFacts) -> Iterator[Reordered]:
    """Merged axes whose parts come back in another order, with a product or layer in between.

    Without one, to change the order may be what it is for: channels are shuffled so.
    """
    for call in facts.calls(("einops.rearrange",)):
        given, pattern = (*call.args, None, None)[:2]
        found = sides(pattern.value) if isinstance(pattern, Constant) else None
        if found is None or not isinstance(given, Data):
            continue
        for own, other in ((1, 0), (0, 1)):
            for group in found[own]:
                if len(group) > 1 and not any(set(it) == set(group) for it in found[other]):
                    yield from _before(call, given.node, group, other)


def _before(call: Call, node: Node, group: tuple[str, ...], side: int) -> Iterator[Reordered]:
    """Earlier patterns with the same names in another order, on one of their sides."""
    products = [it for it in sources([node]) if _is_product(it)]
    earlier = [
        (it, other)
        for it in sources(products)
        if it.operation == "einops.rearrange"
        for other in _groups(it, side)
        if set(other) == set(group)
    ]
    orders = {other for _, other in earlier}
    if len(orders) == 1 and group not in orders:
        at, other = earlier[0]
        yield Reordered(call, group, other, at, side == 1)


def _is_product(node: Node) -> bool:
    return node.operation in _PRODUCTS or is_linear(node.operation)


def _groups(node: Node, side: int) -> list[tuple[str, ...]]:
    pattern = node.operands[1] if len(node.operands) > 1 else None
    found = sides(pattern.value) if isinstance(pattern, Constant) else None
    return [it for it in found[side] if len(it) > 1] if found is not None else []
