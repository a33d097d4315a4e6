"""A network and its copy, which begin alike because both are made by one key.

`params = critic.init(key, x)` and `target = critic.init(key, x)` draw the same numbers on purpose:
the same method of the same object is called again with the same arguments.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..finding import Place

if TYPE_CHECKING:
    from .facts import Facts


def are_begun_alike(facts: Facts, one: Sequence[Place], other: Sequence[Place]) -> bool:
    """Whether equal calls lead to two draws, and it is `init` that draws.

    `one` and `other` are the frames around the draws, outermost first.
    """
    pairs = [*zip(one, other, strict=False)]
    parted = next((at for at, (here, there) in enumerate(pairs) if here != there), None)
    if parted is None or len(one) != len(other):
        return False
    calls = [[{*_calls(facts, place)} for place in pair] for pair in pairs[parted:]]
    if calls[0][0].isdisjoint(calls[0][1]):
        return False
    return any(_is_init(call) for here, there in calls for call in here & there)


def _calls(facts: Facts, place: Place) -> Iterator[str]:
    """The calls in the statement at a place, each as its text."""
    statement = facts.sources.statement(place)
    try:
        tree = ast.parse(textwrap.dedent(statement.text if statement else ""))
    except SyntaxError:
        return  # The head of a compound statement is none.
    yield from (ast.unparse(it) for it in ast.walk(tree) if isinstance(it, ast.Call))


def _is_init(call: str) -> bool:
    function = ast.parse(call, mode="eval").body.func  # pyright: ignore[reportAttributeAccessIssue]
    return isinstance(function, ast.Attribute) and function.attr == "init"
