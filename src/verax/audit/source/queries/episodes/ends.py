"""What a function calls the end of an episode."""

from __future__ import annotations

from collections.abc import Iterator

from ....words import is_episode_end, is_reward, may_be_episode_end
from ...frame import Frame
from ...graph import Node
from ...operations import OR
from ...values import Data
from ..nodes import is_flag
from .resets import whole_of


def named_ends(frame: Frame) -> Iterator[tuple[str, Node]]:
    """The flags that a function has by a name for an end, or for what holds where there is none.

    Words that may be about anything else (`finished`, `over`) count where a reward comes along.
    """
    held = [(name, it.node) for name, it in frame.environment.items() if isinstance(it, Data)]
    paid = [node for name, node in held if is_reward(name)]
    for name, node in held:
        if is_episode_end(name) or (may_be_episode_end(name) and _comes_with(paid, node)):
            yield name, node


def _comes_with(paid: list[Node], node: Node) -> bool:
    """Whether a value is a flag beside rewards, and not one that stays set ever after."""
    if node in paid or (
        node.operation in OR and any(it.operation == "carry" for it in node.inputs)
    ):
        return False
    return bool(paid) and (is_flag(node) or whole_of(node) in map(whole_of, paid))
