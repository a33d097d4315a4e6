"""Keys that stand in where any will do: what is drawn from them only tells shapes.

`env.reset(jax.random.key(0))` for an example of an observation, from which a buffer or a network is
made, may use one key for everything. Nobody reads the numbers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...events import KeyUse, Mutation
from ...graph import Node
from ...operations import LIKES, bare
from ...remember import remembered
from ...values import nodes_of
from ..nodes import all_nodes, users_of
from .reuse import made_from, made_from_constant

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What asks an example for its shape alone, by the last word of its name.
_BY_SHAPE = bare(LIKES) | {"init", "eval_shape", "static"}


def is_for_shapes(facts: SourceFacts, use: KeyUse) -> bool:
    """Whether a constant key is used for what tells shapes, and numbers that nobody reads."""
    if use.is_certain or not any(map(made_from_constant, made_from(use.key.node))):
        return False  # Who draws by himself wants the numbers.
    made = _made_at(facts).get(use.syntax, ())
    return bool(made) and not _matters(facts, made)


def _matters(facts: SourceFacts, made: list[Node]) -> bool:
    """Whether something that is returned or stored has values that depend on some nodes."""
    kept, users = _kept(facts), users_of(facts)
    pending, seen = list(made), set(made)
    for node in pending:
        if node in kept:
            return True
        for user in users.get(node, ()):
            if user not in seen and user.operation.rpartition(".")[2] not in _BY_SHAPE:
                seen.add(user)
                pending.append(user)
    return False


@remembered
def _made_at(facts: SourceFacts) -> dict[ast.AST, list[Node]]:
    """What the calls that consume a key give."""
    found: dict[ast.AST, list[Node]] = {use.syntax: [] for use in facts.events(KeyUse)}
    for node in all_nodes(facts):
        if node.syntax in found:
            found[node.syntax].append(node)
    return found


@remembered
def _kept(facts: SourceFacts) -> set[Node]:
    """What functions return, and what is put into things that outlive them."""
    returned = [value for frame in facts.frames for _, value in frame.returns]
    stored = [it.value for it in facts.events(Mutation) if it.value is not None]
    return {node for value in (*returned, *stored) for node in nodes_of(value)}
