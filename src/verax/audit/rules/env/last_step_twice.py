"""A rollout whose end is estimated from its own last observation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Loop
from ...source.queries.episodes.targets import factors, targets
from ...source.queries.loops.bodies import paired_leaves
from ...source.queries.names import names_of
from ...source.queries.positions import index_text, is_last, is_one_row, position
from ...source.values import Constant, Data
from ...words import is_observation, words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Values of a rollout that go on with a value for an observation they have had already."""
    for values, last in _continued(facts):
        seen = _seen_already(facts, values, last)
        if seen is None or seen.place is None:
            continue
        yield RULE.finding(
            seen.place,
            current="the value after the last step is that of the last observation in the "
            "rollout, for which there is a value already",
            expected="the estimate of what comes after the last step is that of the observation "
            "which this step has led to",
            fix="estimate it for the observation that the loop carries at its end",
            evidence=(Evidence("the values go on with it", last.place),),
            engine=Engine.SOURCE,
        )


def _continued(facts: SourceFacts) -> Iterator[tuple[Node, Node]]:
    """The values of all steps, each with the one that comes after the last of them."""
    for call in facts.calls(("jax.numpy.concatenate", "jax.numpy.append")):
        node = call.result.node if isinstance(call.result, Data) else None
        if node is not None and len(node.inputs) == 2 and is_one_row(node.inputs[1]):
            yield position(node.inputs[0]).whole, node.inputs[1]
    for target in targets(facts):
        for factor in factors(target.product):
            node = factor.node if isinstance(factor, Data) else None
            if node is not None and node.operation in ("turn", "carry") and node.inputs:
                yield position(target.reward).whole, node.inputs[0]
    for loop in facts.events(Loop):
        reverse = loop.options.get("reverse")
        if loop.kind != "scan" or not isinstance(reverse, Constant) or not reverse.value:
            continue
        scanned = {part.node: whole.node for whole, part in paired_leaves(loop.xs, loop.slices)}
        for before, after in paired_leaves(loop.carry_in, loop.carry_out):
            if after.node in scanned and before.node.inputs:
                yield scanned[after.node], before.node.inputs[0]


def _seen_already(facts: SourceFacts, values: Node, last: Node) -> Node | None:
    """The last observation of a rollout, if one value is made from it and the others from all."""
    inside = values.inputs[0] if values.operation == "stack" and values.inputs else values
    known: set[Node] | None = None
    for node in last.ancestors():
        whole = node.inputs[0] if is_last(node) and node.inputs else None
        if whole is None or whole is values:
            continue
        names = {name for it in (node, whole) for name in names_of(facts, it, node.frame)}
        is_share = whole.operation == "stack" and bool(whole.inputs)
        if not (is_share or any(map(is_observation, names))) or _is_later(names):
            continue
        if known is None:
            known = set(inside.ancestors())
        if is_share:
            # One turn's share of a rollout: what came into the turn.
            if whole.inputs[0].operation == "carry" and whole.inputs[0] in known:
                return node
        elif whole in known and not any(
            whole in it.inputs and ":" in index_text(it) for it in known
        ):
            return node
    return None


def _is_later(names: set[str]) -> bool:
    """Whether some names tell that something is what a step has led to."""
    words = {word for name in names for word in words_of(name)}
    return not words.isdisjoint(("next", "following", "final", "last", "new", "tp1"))


RULE = Rule(
    code="EN015",
    name="last-step-twice",
    title="A rollout goes on with the value of its own last observation",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A rollout of n steps has n observations, and one more that the last step has led to. The value of
that one stands for all that comes after. With the value of the last of the n observations in its
place, the last step is bootstrapped from itself.

Reported where values of all steps are extended by one more value, or a reversed scan starts with
it, and it is made from the last observation (`obs[-1]`) of those that the other values are made
from.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(w, obs, final, rewards):
    values = jnp.tanh(obs @ w)
    last = jnp.tanh(obs[-1] @ w)
    following = jnp.concatenate([values[1:], last[None]])
    return rewards + 0.99 * following - values


def inputs():
    return jnp.ones(3), jnp.ones((5, 3)), jnp.ones(3), jnp.ones(5)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(w, obs, final, rewards):
    values = jnp.tanh(obs @ w)
    last = jnp.tanh(final @ w)
    following = jnp.concatenate([values[1:], last[None]])
    return rewards + 0.99 * following - values


def inputs():
    return jnp.ones(3), jnp.ones((5, 3)), jnp.ones(3), jnp.ones(5)
""",
    source=check_source,
)
