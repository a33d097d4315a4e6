"""A mask that keeps what it should drop at the end of an episode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Edit, Engine, Finding, Severity
from ...source.edits import swapped
from ...source.queries.episodes.targets import factors, is_discounted, is_end, targets
from ...source.values import Constant, Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Targets whose estimate is multiplied by the flag, or chosen where it is set."""
    for it in targets(facts):
        flag, product = _keeps(facts, it.product, it.frame)
        place = product.place
        if flag and place is not None:
            yield RULE.finding(
                place,
                current="the estimate of what comes after is kept where "
                f"`{flag}` is set, and dropped everywhere else",
                expected="it is dropped where an episode ends, and kept everywhere else",
                fix=f"use `1 - {flag}`, or exchange what is chosen",
                engine=Engine.SOURCE,
                edit=_exchanged(product),
            )


def _keeps(facts: SourceFacts, product: Node, frame: Frame) -> tuple[str, Node]:
    """The flag that an estimate is kept by, and where; empty if there is none."""
    for factor in factors(product):
        if not isinstance(factor, Data):
            continue
        node = factor.node
        if is_end(facts, node, frame):
            return facts.name_of(factor), product
        flag = _chosen_by(node)
        if flag is not None and is_end(facts, flag.node, frame):
            return facts.name_of(flag), product
        # A discount for each step, which another function makes.
        maker = node.frame
        if maker is not None and maker is not frame and is_discounted(facts, node, maker):
            found = _keeps(facts, node, maker)
            if found[0]:
                return found
    return "", product


def _exchanged(product: Node) -> Edit | None:
    """The edit of a choice in which the two values change places."""
    for node in (product, *product.inputs):
        match node.syntax:
            case ast.Call(args=[_, kept, dropped], keywords=[]) if _chosen_by(node) and node.frame:
                return swapped(node.frame, kept, dropped)
            case _:
                pass
    return None


def _chosen_by(node: Node) -> Data | None:
    """The condition of `where(condition, value, 0)`."""
    if node.operation != "jax.numpy.where" or len(node.operands) != 3:
        return None
    flag, kept, other = node.operands
    is_dropped = isinstance(other, Constant) and other.value == 0
    return flag if is_dropped and isinstance(kept, Data) and isinstance(flag, Data) else None


RULE = Rule(
    code="EN006",
    name="mask-reversed",
    title="What comes after the end of an episode is kept, and the rest dropped",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A target adds what is still to come, except where an episode ends: `reward + gamma * (1 - done) *
value`. With `done` itself as the factor, or with the branches of `jnp.where(done, 0.0, value)`
exchanged, every step but the last learns its reward alone, and the last one what it must not know.

Reported for the sum of a reward and a discounted estimate, by the name of the flag.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(rewards, dones, last):
    def step(total, inp):
        reward, done = inp
        total = reward + 0.99 * jnp.where(done, total, 0.0)
        return total, total

    return jax.lax.scan(step, last, (rewards, dones), reverse=True)[1]


def inputs():
    return jnp.ones((6, 3)), jnp.zeros((6, 3), bool), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(rewards, dones, last):
    def step(total, inp):
        reward, done = inp
        total = reward + 0.99 * jnp.where(done, 0.0, total)
        return total, total

    return jax.lax.scan(step, last, (rewards, dones), reverse=True)[1]


def inputs():
    return jnp.ones((6, 3)), jnp.zeros((6, 3), bool), jnp.ones(3)
""",
    source=check_source,
)
