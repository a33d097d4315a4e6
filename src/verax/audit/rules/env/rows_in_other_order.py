"""Arrays whose rows belong together, and are put into different orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.episodes.rows import EXCHANGES, FLATTENS, SHUFFLE, belong_together, together
from ...source.queries.sameness import Sameness
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.queries.episodes.rows import Rows


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Arrays of one batch that were shuffled by several orders, or flattened in several ways."""
    sameness = Sameness()
    told: set[object] = set()
    exchanged = (
        value
        for call in facts.calls(FLATTENS)
        for value in call.args[:1]
        if isinstance(value, Data) and value.node.operation in EXCHANGES
    )
    if len(facts.calls_by_name.get(SHUFFLE, ())) < 2 and next(exchanged, None) is None:
        return
    for frame, statement, parts in together(facts):
        pair = _differing(parts, sameness)
        if pair is None:
            continue
        one, other, how = pair
        made = one.exchanged or other.exchanged if how == "flattened" else one.shuffled
        assert made is not None
        is_own = how == "flattened" and made.frame is not None and made.place is not None
        place = made.place if is_own and made.place is not None else frame.place(statement)
        if made.syntax in told:
            continue
        told.add(made.syntax)
        name = facts.name_of(_data(one))
        yield RULE.finding(
            place,
            current=f"the rows of `{name}` and of what lies beside it come from the same steps, "
            f"and are {how} differently: row i of one does not belong to row i of the other",
            expected="what belongs together stays together",
            fix="index all of them with one permutation"
            if how == "shuffled"
            else "flatten all of them with their axes in the same order",
            evidence=(Evidence("the other one", other.leaf.place),),
            engine=Engine.SOURCE,
        )


def _data(rows: Rows) -> Data:
    return Data(rows.leaf)


def _differing(parts: list[Rows], sameness: Sameness) -> tuple[Rows, Rows, str] | None:
    """Two arrays from the same place whose rows were put into different orders."""
    shuffled = [it for it in parts if it.shuffled is not None]
    for one in shuffled:
        for other in shuffled:
            assert one.shuffled is not None
            assert other.shuffled is not None
            is_same = sameness.are(one.shuffled, other.shuffled)
            if is_same or one.origins.isdisjoint(other.origins):
                continue
            if belong_together(one, other, sameness):
                return other, one, "shuffled"
    flattened = [it for it in parts if it.flattened is not None]
    exchanged = [it for it in flattened if it.exchanged is not None]
    straight = [it for it in flattened if it.exchanged is None and it.is_followed]
    if not exchanged or not straight or len(flattened) < 3:
        return None
    odd, others = (exchanged, straight) if len(exchanged) == 1 else (straight, exchanged)
    if len(odd) != 1 or odd[0].wider_origins.isdisjoint(others[0].wider_origins):
        return None
    return odd[0], others[0], "flattened"


RULE = Rule(
    code="EN020",
    name="rows-in-other-order",
    title="Rows that belong together are put into different orders",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Observations, actions and advantages of a rollout belong together row by row. Shuffled by two
orders, or flattened with time and environments exchanged in one of them, every action is credited
with what another one has led to; all shapes are right.

Reported for arrays in one tuple, record or dict that are taken from one record or loop, when they
are indexed by different random permutations of the same length, or when one of at least three was
flattened after two of its axes changed places. Parts with names are told of if one of these is for
what a learner is given: bodies and joints of a state each have an order of their own.""",
    wrong="""\
import jax
import jax.numpy as jnp


def shuffled(key, batch):
    obs, action = batch
    one, other = jax.random.split(key)
    obs = obs[jax.random.permutation(one, 8)]
    action = action[jax.random.permutation(other, 8)]
    batch = (obs, action)
    return batch


def entry(key, obs, action):
    return shuffled(key, (obs, action))


def inputs():
    return jax.random.key(0), jnp.ones((8, 3)), jnp.ones(8)
""",
    right="""\
import jax
import jax.numpy as jnp


def shuffled(key, batch):
    obs, action = batch
    order = jax.random.permutation(key, 8)
    batch = (obs[order], action[order])
    return batch


def entry(key, obs, action):
    return shuffled(key, (obs, action))


def inputs():
    return jax.random.key(0), jnp.ones((8, 3)), jnp.ones(8)
""",
    source=check_source,
)
