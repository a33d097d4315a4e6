"""Rows that are drawn from all of a buffer, be it filled or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.episodes.rings import rings
from ...source.queries.nodes import users_of
from ...source.values import Data, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.episodes.rings import Ring

_DRAWS = ("jax.random.randint", "jax.random.choice", "jax.random.permutation")


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Draws of rows of a circular buffer that do not look at how much of it is filled."""
    known = rings(facts)
    users = users_of(facts) if known else {}
    for call in facts.calls(_DRAWS) if known else ():
        if call.frame.module is not facts.module or not isinstance(call.result, Data):
            continue
        for ring in known:
            taken = [it for it in users.get(call.result.node, ()) if _is_row_of(it, ring)]
            # One array alone may be drawn from for another reason, if the buffer has several.
            if len(taken) >= min(2, len(ring.written)) and not _asks(call, ring):
                yield RULE.finding(
                    call.place,
                    current=f"rows are drawn from all of the buffer; `{ring.filled}`, which says "
                    "how many of them were written, has no part in it",
                    expected="only rows that hold something are drawn",
                    fix=f"draw below `{ring.filled}`",
                    evidence=(Evidence("rows are counted here", ring.parts[ring.filled].place),),
                    engine=Engine.SOURCE,
                )
                break


def _is_row_of(node: Node, ring: Ring) -> bool:
    """Whether a value is a row of one of a buffer's arrays."""
    whole = node.inputs[0] if node.operation == "item" and node.inputs else None
    if whole is None:
        return False
    is_part = whole.operation == "field" and whole.label in ring.written
    return is_part or whole in ring.written.values()


def _asks(call: Call, ring: Ring) -> bool:
    """Whether a draw depends on how much is filled."""
    given = [it for value in (*call.args, *call.keywords.values()) for it in nodes_of(value)]
    filled = ring.parts[ring.filled]
    behind = (it for node in given for it in node.ancestors())
    return any(it.label == ring.filled or it is filled for it in behind)


RULE = Rule(
    code="EN014",
    name="sampled-beyond-filled",
    title="Rows are drawn that were never written",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
Until a replay buffer is full, the rest of its rows are the zeros that it was made with. Rows drawn
from its whole size are mostly such zeros at first: transitions that never happened.

Reported where a record counts how many of its rows are filled, and one draw gives the rows of
several of its arrays without that number.""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Buffer(NamedTuple):
    obs: jax.Array
    act: jax.Array
    head: jax.Array
    filled: jax.Array


def add(buffer, obs, act):
    size = buffer.obs.shape[0]
    return Buffer(
        buffer.obs.at[buffer.head].set(obs),
        buffer.act.at[buffer.head].set(act),
        (buffer.head + 1) % size,
        jnp.minimum(buffer.filled + 1, size),
    )


def draw(buffer, key):
    rows = jax.random.randint(key, (2,), 0, buffer.obs.shape[0])
    return buffer.obs[rows], buffer.act[rows]


def entry(buffer, obs, act, key):
    return draw(add(buffer, obs, act), key)


def inputs():
    buffer = Buffer(jnp.zeros((4, 2)), jnp.zeros(4), jnp.array(0), jnp.array(0))
    return buffer, jnp.ones(2), jnp.ones(()), jax.random.key(0)
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Buffer(NamedTuple):
    obs: jax.Array
    act: jax.Array
    head: jax.Array
    filled: jax.Array


def add(buffer, obs, act):
    size = buffer.obs.shape[0]
    return Buffer(
        buffer.obs.at[buffer.head].set(obs),
        buffer.act.at[buffer.head].set(act),
        (buffer.head + 1) % size,
        jnp.minimum(buffer.filled + 1, size),
    )


def draw(buffer, key):
    rows = jax.random.randint(key, (2,), 0, buffer.filled)
    return buffer.obs[rows], buffer.act[rows]


def entry(buffer, obs, act, key):
    return draw(add(buffer, obs, act), key)


def inputs():
    buffer = Buffer(jnp.zeros((4, 2)), jnp.zeros(4), jnp.array(0), jnp.array(0))
    return buffer, jnp.ones(2), jnp.ones(()), jax.random.key(0)
""",
    source=check_source,
)
