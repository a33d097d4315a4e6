"""An error that compares a value with itself, a step too early."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.graph import sources
from ...source.operations import DEVIATIONS, JOINS, MEANS
from ...source.queries.episodes.recurrence import reaching
from ...source.queries.episodes.targets import estimates, factors, observations_beside, targets
from ...source.queries.names import names_of
from ...source.queries.nodes import is_flag, position_in, users_of
from ...source.queries.positions import position
from ...source.values import Data, nodes_of
from ...words import words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...source.queries.episodes.targets import Target
    from ...source.values import Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Differences `reward + discount * value - value` of one and the same value."""
    found = list(targets(facts))
    users = users_of(facts) if found else {}
    for it in found:
        yield from _of_this_observation(facts, it)
        for error in users.get(it.total, ()):
            value = _compared(error, it.total)
            place = error.place
            if value is None or place is None or not _bootstraps_from(it, value):
                continue
            yield RULE.finding(
                place,
                current="the value that is subtracted is the one that is bootstrapped from: both "
                "are of the same step",
                expected="the estimate of what comes after is that of the next step",
                fix="bootstrap from the value of the next step: the values shifted by one with "
                "the last value appended, or the value that the scan carries",
                evidence=(Evidence("the target is here", it.total.place),),
                engine=Engine.SOURCE,
            )


def _of_this_observation(facts: SourceFacts, target: Target) -> Iterator[Finding]:
    """Estimates from the observation of a transition that holds the next one as well."""
    present, following = observations_beside(facts, target.frame, target.reward)
    if present is None or following is None:
        return
    for estimate in estimates(facts, target):
        if isinstance(estimate, Data) and is_flag(estimate.node):
            continue  # It says whether anything comes after.
        behind = set(estimate.node.ancestors()) if isinstance(estimate, Data) else set[Node]()
        is_next = following.node in behind or any("next" in node.label for node in behind)
        if present.node not in behind or following.node is present.node:
            continue
        mixed = _mixed(facts, target, estimate, present.node, following.node) if is_next else None
        if is_next and mixed is None:
            continue
        made = position_in(target.frame, mixed) if mixed is not None else None
        place = target.frame.place(made) if made else _assigned_at(target.frame, estimate)
        place = place or target.total.place
        if place is None:
            continue
        yield RULE.finding(
            place,
            current=f"what is added to the reward is an estimate for `{present.name}`, the "
            f"observation of the same step; the transition also holds `{following.name}`",
            expected="the estimate of what comes after is that of the next step",
            fix=f"estimate it for `{following.name}`",
            evidence=(Evidence("the target is here", target.total.place),),
            engine=Engine.SOURCE,
        )


# What is known of the past goes on into an estimate of the future.
_MEMORY = frozenset(
    "hidden hstate memory carry state states rnn core h c mean std var stats norm scale".split()
)
_TOGETHER = JOINS | MEANS | DEVIATIONS | {"jax.numpy.append"}


_LEARNING = ("init", "update", "apply_gradients", "apply_updates")


def _is_of_data(node: Node) -> bool:
    """Whether numbers come through an operation that are of the data, and not parameters."""
    made_by = node.syntax.func if isinstance(node.syntax, ast.Call) else None
    name = made_by.attr if isinstance(made_by, ast.Attribute) else node.operation
    return node.operation not in ("gradient", "static") and not name.endswith(_LEARNING)


def _mixed(
    facts: SourceFacts, target: Target, estimate: Value, present: Node, following: Node | None
) -> Node | None:
    """What is made for the observation of this step alone, and meets one for the next."""
    if following is None:
        return None
    nodes = {it for it in sources(nodes_of(estimate), _is_of_data) if _is_of_data(it)}
    first, second = reaching(nodes, {present}), reaching(nodes, {following})
    of_this, of_next = first - second - {present}, second - first
    if any(it.operation in ("carry", "last") for it in (*of_this, *of_next)):
        return None
    for node in first & second:
        mine = [it for it in node.inputs if it in of_this]
        if not mine or of_next.isdisjoint(node.inputs):
            continue
        if node.operation in _TOGETHER:
            return None
        for it in mine:
            names = names_of(facts, it, target.frame)
            words = {word for name in names for word in words_of(name)}
            made_by = {part.operation for part in it.ancestors() if part in of_this}
            if words & _MEMORY or made_by & _TOGETHER:
                return None
        return mine[0]
    return None


def _assigned_at(frame: Frame, value: Value) -> Place | None:
    """Where a function gives a value a name."""
    for statement, assigned in frame.steps:
        if isinstance(assigned, Data) and isinstance(value, Data) and assigned.node is value.node:
            return frame.place(statement)
    return None


def _compared(error: Node, total: Node) -> Node | None:
    """What a target is compared with."""
    if error.operation != "-" or len(error.operands) != 2:
        return None
    one, other = error.operands
    if not isinstance(one, Data) or not isinstance(other, Data):
        return None
    return other.node if one.node is total else one.node if other.node is total else None


def _bootstraps_from(target: Target, value: Node) -> bool:
    nodes = [it.node for it in factors(target.product) if isinstance(it, Data)]
    return any(position(it) == position(value) for it in nodes)


RULE = Rule(
    code="EN007",
    name="same-step-bootstrapped",
    title="A value is bootstrapped from itself",
    family="env",
    severity=Severity.CRITICAL,
    explanation="""\
The error of a value is `reward + gamma * next_value - value`. With the value of the same step in
the place of the next one it is `reward - (1 - gamma) * value`: the recursion runs, its numbers look
plausible, and every advantage is wrong. It happens where arrays are shifted by slices, and where a
scan carries the next value but the body uses its own.

Reported for the difference of a target (the sum of a reward and a discounted estimate) and the very
value that it is made from, also where that was extended by a last element and cut again.""",
    wrong="""\
import jax.numpy as jnp


def entry(rewards, values, last, dones):
    extended = jnp.concatenate([values, last[None]])
    return rewards + 0.99 * (1.0 - dones) * extended[:-1] - values


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones(3), jnp.zeros((6, 3))
""",
    right="""\
import jax.numpy as jnp


def entry(rewards, values, last, dones):
    extended = jnp.concatenate([values, last[None]])
    return rewards + 0.99 * (1.0 - dones) * extended[1:] - values


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones(3), jnp.zeros((6, 3))
""",
    source=check_source,
)
