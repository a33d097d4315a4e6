"""A loop that knows which episodes are over, and does not use it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Loop
from ...source.graph import sources
from ...source.queries.episodes.latches import unmasked_sums
from ...source.queries.loops.bodies import body_frame, paired_leaves
from ...source.queries.loops.outcomes import is_used_after
from ...source.queries.names import local_name, names_of
from ...source.values import Data, nodes_of
from ...words import is_episode_end, words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Carried flags that decide about nothing but themselves."""
    for loop in facts.events(Loop):
        frame = body_frame(facts, loop) if loop.kind in ("scan", "fori_loop") else None
        if frame is None or frame.module is not facts.module:
            continue
        pairs = list(paired_leaves(loop.carry_in, loop.carry_out))
        for before, after in pairs if len(pairs) > 1 else ():
            name = local_name(facts, frame, before, after)
            place = after.node.place
            if place is None or not _is_mask(facts, after, frame, name):
                continue
            is_own = after.node is not before.node and after.node.depends_on(before.node)
            if is_own and not _is_used(facts, loop, before, after):
                yield RULE.finding(
                    place,
                    current=f"`{name}` is carried from turn to turn and has no part in anything "
                    "else: what happens after the end of an episode counts as much as before",
                    expected="a mask that is kept up is used",
                    fix=f"multiply what is added up by `{name}`",
                    evidence=(Evidence("the loop is here", loop.place),),
                    engine=Engine.SOURCE,
                )
    yield from _unmasked(facts)


def _unmasked(facts: SourceFacts) -> Iterator[Finding]:
    """Sums that lanes add to when they are through, in a loop that keeps a flag for that."""
    for it in unmasked_sums(facts):
        if it.total.place is None or it.total.place.file != facts.module.path:
            continue
        name = facts.name_of(Data(it.latch))
        yield RULE.finding(
            it.total.place,
            current=f"the loop goes on until all are through, and `{name}` says which ones are; "
            "what these add after their end counts as well",
            expected="what is added up is left out where an episode is over",
            fix=f"add nothing where `{name}` is set",
            evidence=(
                Evidence("the loop is here", it.loop.place),
                Evidence("here the flags are used", it.masked.place),
            ),
            engine=Engine.SOURCE,
        )


_MASKS = frozenset("alive active mask valid finished ended".split())


def _is_mask(facts: SourceFacts, after: Data, frame: Frame, name: str) -> bool:
    """Whether a part of a carry is called a mask, or an end, and is made from flags."""
    words = set(words_of(name))
    if not name.isidentifier():
        return False
    if not is_episode_end(name) and words.isdisjoint(_MASKS):
        return False
    return any(
        is_episode_end(other)
        for node in islice(after.node.ancestors(), 1, 40)
        if node.operation != "carry"
        for other in names_of(facts, node, frame)
    )


def _is_used(facts: SourceFacts, loop: Loop, before: Data, after: Data) -> bool:
    """Whether anything is made from a part of a carry but its own next value."""
    own = {before.node, after.node}
    returned = nodes_of(loop.returned) if loop.returned is not None else []
    others = [node for node in returned if node is not after.node]
    is_stacked = loop.stacked is not None and after.node in nodes_of(loop.stacked)
    if is_stacked or not own.isdisjoint(sources(others)):
        return True
    if loop.options.get("condition") is not None:
        return True
    return is_used_after(facts, loop, before.node)


RULE = Rule(
    code="EN016",
    name="mask-unused",
    title="A mask for episodes that are over is kept up and not used",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A loop of a fixed number of steps goes on after an episode has ended, so it carries a mask that says
which ones are still running. If nothing is made from that mask but the mask itself, rewards and
steps from after the end are counted too.

Reported for a part of a carry that is called so and made from flags, when no other part, no output
and nothing after the loop is made from it. Also for a sum in a carry, whatever its name, when the
loop keeps a flag that stays set, and asks it whether all are through, or for another sum.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(rewards, dones):
    def step(carry, x):
        total, active = carry
        reward, done = x
        total = total + reward
        active = active * (1.0 - done)
        return (total, active), None

    (total, _), _ = jax.lax.scan(step, (jnp.zeros(3), jnp.ones(3)), (rewards, dones))
    return total


def inputs():
    return jnp.ones((6, 3)), jnp.zeros((6, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(rewards, dones):
    def step(carry, x):
        total, active = carry
        reward, done = x
        total = total + active * reward
        active = active * (1.0 - done)
        return (total, active), None

    (total, _), _ = jax.lax.scan(step, (jnp.zeros(3), jnp.ones(3)), (rewards, dones))
    return total


def inputs():
    return jnp.ones((6, 3)), jnp.zeros((6, 3))
""",
    source=check_source,
)
