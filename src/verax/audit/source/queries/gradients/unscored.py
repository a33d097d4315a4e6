"""Draws of classes that a loss depends on, and whose chances it never asks for."""

from __future__ import annotations

from collections.abc import Set

from ...graph import Node
from .flows import Flow


def is_draw(blocker: tuple[Node, str]) -> bool:
    """Whether a gradient is lost by something drawn."""
    node, reason = blocker
    return reason.startswith("a draw") or node.operation.startswith("jax.random.")


def is_unscored_draw(flow: Flow, blocker: tuple[Node, str], within: Set[Node]) -> bool:
    """Whether a class is drawn by its logits, and what comes of it never meets anything trained.

    A draw has a gradient of its own kind: what it brings about, times the logarithm of its chance.
    For that it has to be put together with what is trained, in the turn in which it is drawn or
    after the loop. What the next turn makes of it has chances of another draw. `within` are all
    values behind the terms of the loss, so that the sums of these are no such place.
    """
    drawn, reason = blocker
    if not reason.startswith("a draw"):
        return False
    made = {drawn}
    for node in flow.order:
        if node not in within or made.isdisjoint(node.inputs):
            continue
        if any(flow.gets(it) for it in node.inputs if it not in made):
            return False
        made.add(node)
    return True
