"""Axes that einops takes apart and puts together again, in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..graph import Node, sources
from ..library.naming import sides
from ..values import Constant, Data

if TYPE_CHECKING:
    from ..events import Call
    from ..facts import SourceFacts

_PRODUCTS = frozenset(("@", "jax.numpy.einsum", "jax.numpy.matmul", "jax.nn.dot_product_attention"))


@dataclass(frozen=True, eq=False)
class Reordered:
    """An axis that is merged as `merged`, where what goes into it was taken apart as `split`."""

    call: Call
    merged: tuple[str, ...]
    split: tuple[str, ...]
    at: Node


def reordered(facts: SourceFacts) -> Iterator[Reordered]:
    """Merged axes whose parts come back in another order, with a product in between.

    Without one, to change the order may be what it is for: channels are shuffled so.
    """
    for call in facts.calls(("einops.rearrange",)):
        given, pattern = (*call.args, None, None)[:2]
        found = sides(pattern.value) if isinstance(pattern, Constant) else None
        if found is None or not isinstance(given, Data):
            continue
        for merged in found[1]:
            if len(merged) > 1 and not any(set(it) == set(merged) for it in found[0]):
                yield from _taken_apart(call, given.node, merged)


def _taken_apart(call: Call, node: Node, merged: tuple[str, ...]) -> Iterator[Reordered]:
    products = [it for it in sources([node]) if it.operation in _PRODUCTS]
    splits = [
        (it, group)
        for it in sources(products)
        if it.operation == "einops.rearrange"
        for group in _split_axes(it)
        if set(group) == set(merged)
    ]
    orders = {group for _, group in splits}
    if len(orders) == 1 and merged not in orders:
        at, group = splits[0]
        yield Reordered(call, merged, group, at)


def _split_axes(node: Node) -> list[tuple[str, ...]]:
    pattern = node.operands[1] if len(node.operands) > 1 else None
    found = sides(pattern.value) if isinstance(pattern, Constant) else None
    return [it for it in found[0] if len(it) > 1] if found is not None else []
