"""An observation that is stored as what an action was chosen for, and came after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.graph import sources
from ...source.queries.episodes.updates import records_in
from ...source.queries.structures.structure import parts_of
from ...source.values import Data, nodes_of
from ...words import is_observation, words_of
from .._rule import Rule

if TYPE_CHECKING:
    import ast

    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...source.values import Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Records of a transition whose observation is made from their action."""
    for frame in facts.own_frames:
        for statement, value in _records(frame):
            fields = _fields(value)
            if fields is None or _is_given(frame, fields["obs"]):
                continue  # Who calls this function gives the observation.
            if _is_made_from(fields["obs"], fields["action"]):
                yield RULE.finding(
                    frame.place(statement),
                    current="the observation of this record is made from its action, so it is "
                    "what came after; the record has another field for that",
                    expected="the observation for which the action was chosen",
                    fix="store the observation from before the step",
                    engine=Engine.SOURCE,
                )


def _records(frame: Frame) -> Iterator[tuple[ast.stmt, Value]]:
    """What statements make, and the records in it that the function itself has put together."""
    seen: set[int] = set()
    for statement, value in frame.steps:
        for it in records_in(value):
            is_own = it is value or getattr(it, "made_in", None) is frame
            if is_own and id(it) not in seen:
                seen.add(id(it))
                yield statement, it


def _is_given(frame: Frame, node: Node) -> bool:
    return any(it is node for value in frame.given.values() for it in nodes_of(value))


def _is_made_from(node: Node, other: Node) -> bool:
    """Whether a value is certainly made from another one.

    A field of a record that was replaced in part may be one that is still as it was.
    """

    def is_clear(it: Node) -> bool:
        return it.operation != "field" or not _is_replaced(it.inputs[0])

    return other in sources([node], is_clear)


def _is_replaced(record: Node, depth: int = 0) -> bool:
    if record.operation == "join" and depth < 8:
        return any(_is_replaced(it, depth + 1) for it in record.inputs)
    return record.operation.endswith("replace")


def _fields(value: Value) -> dict[str, Node] | None:
    """What a transition observes, does and observes next, if a value is one."""
    found: dict[str, Node] = {}
    # Its own fields: a state may hold a transition next to the observation that it is at.
    for name, part in parts_of(value).items():
        if not isinstance(name, str) or not isinstance(part, Data):
            continue
        node, words = part.node, set(words_of(name))
        if node.operation == "at.set" and len(node.inputs) == 3:
            node = node.inputs[2]  # What is written into a row of a buffer.
        if words <= _ACTIONS:
            found["action"] = node
        elif is_observation(name) and len(words - {"next"}) == 1:
            found["next" if "next" in words else "obs"] = node
    return found if len(found) == 3 else None


_ACTIONS = frozenset("action actions act".split())


RULE = Rule(
    code="EN010",
    name="observation-after-action",
    title="A transition stores the observation of the wrong step",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A transition is what was seen, what was done, and what was seen next. Where a loop stores the new
observation as the old one, values and policies learn from actions that were chosen for something
else; the shapes are the same.

Reported for a record with fields for an action, an observation and the next one (by their names),
whose observation is computed from the action.""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    next_obs: jax.Array


def entry(w, obs):
    def step(obs, _):
        action = jnp.tanh(obs @ w)
        seen = obs + 0.1 * action
        transition = Transition(seen, action, seen)
        return seen, transition

    return jax.lax.scan(step, obs, None, length=4)


def inputs():
    return jnp.ones((3, 3)), jnp.ones(3)
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    next_obs: jax.Array


def entry(w, obs):
    def step(obs, _):
        action = jnp.tanh(obs @ w)
        seen = obs + 0.1 * action
        transition = Transition(obs, action, seen)
        return seen, transition

    return jax.lax.scan(step, obs, None, length=4)


def inputs():
    return jnp.ones((3, 3)), jnp.ones(3)
""",
    source=check_source,
)
