"""A target that looks at the first observation of the next episode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Place, Severity
from ...source.graph import sources
from ...source.operations import SELECTIONS
from ...source.queries.episodes.negation import without_negation
from ...source.queries.episodes.recurrence import reaching
from ...source.queries.episodes.resets import resets
from ...source.queries.episodes.rollouts import recorded
from ...source.queries.episodes.targets import factors, is_discounted, sums
from ...source.queries.episodes.updates import own_parts, records_in
from ...source.queries.names import names_of
from ...source.queries.nodes import of_lane, position_in, turned_flag
from ...source.queries.written import written_at
from ...source.values import Constant, Data, nodes_of
from ...source.work import spend
from ...words import is_episode_end, is_reward, words_of
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Rewards plus a discounted value of what a reset has replaced."""
    from ...trace.describe import assigned_name, name_of
    from ...trace.ranges.identity import unarranged
    from ...trace.recurrence import reached_from

    for choice in facts.steps:
        if choice.primitive != "select_n" or not facts.is_users(choice):
            continue
        done = unarranged(choice.inputs[0])
        if not is_episode_end(assigned_name(facts, done) or done.name):
            continue
        told = reached_from(facts.variation, choice, done)
        gates = partial(_gates, told, choice)
        for value in reached_from(facts.variation, choice, choice.outputs[0], gates):
            total = _bootstrap(facts, value, gates)
            if total is None or _is_masked(choice, value):
                continue
            yield RULE.finding(
                facts.place(total),
                current=f"the target adds a discounted value of {name_of(facts, value)}, which "
                "comes from an observation that a reset has replaced: at the end of an episode, "
                "the next one's start",
                expected="where an episode ends, nothing of the next one enters its target",
                fix="multiply the bootstrapped value by one minus the flag, or take the "
                "observation from before the reset",
                evidence=(Evidence("the observation is replaced here", choice.place),),
            )
            break


def _gates(told: set[Value], choice: Step, value: Value, step: Step) -> bool:
    """Whether a step lets a value through only where an episode goes on, or leaves the turn."""
    if step.detail is not None and step.kind in ("scan", "while"):
        return True
    if step is choice:
        return False
    if step.primitive == "select_n" or step.kind == "cond":
        return step.inputs[0] in told
    others = [it for it in step.inputs if it is not value]
    return step.primitive in ("mul", "div") and any(it in told for it in others)


def _bootstrap(facts: Facts, value: Value, gates: partial[bool]) -> Step | None:
    """The sum of a reward and a discounted value."""
    product = value.producer
    if product is None or product.primitive != "mul" or not _is_discount(product):
        return None
    for _, total in facts.variation.made_from(value):
        others = [it for it in total.inputs if it is not value]
        if total.primitive == "add" and any(_is_reward(facts, it) for it in others):
            return None if gates(value, total) else total
    return None


def _is_masked(choice: Step, product: Value) -> bool:
    """Whether what is discounted is the chosen value itself, which is zero at one of the two."""
    from ...trace.ranges.identity import unarranged

    assert product.producer is not None
    chosen = choice.outputs[0] in [unarranged(it) for it in product.producer.inputs]
    return chosen and any(_is_zero(it) for it in choice.inputs[1:])


def _is_zero(value: Value) -> bool:
    import numpy as np

    from ...trace.ranges.identity import unarranged

    source = unarranged(value)
    return source.is_constant and not np.any(source.constant)


def _is_discount(product: Step) -> bool:
    import numpy as np

    factors = [it.constant for it in product.inputs if it.is_constant]
    return len(factors) == 1 and np.size(factors[0]) == 1 and 0.5 < float(factors[0]) < 1.0


def _is_reward(facts: Facts, value: Value) -> bool:
    from ...trace.describe import assigned_name

    return is_reward(value.name) or is_reward(assigned_name(facts, value))


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Rewards plus a discounted value of what a choice by flags has replaced."""
    replaced = _replaced(facts)
    beside: dict[Node, set[Node]] = {}
    for choice, flags in replaced.items():
        beside.setdefault(flags, set()).add(choice)
    for frame, total in sums(facts) if replaced else ():
        if not any(is_reward(name) for it in total.inputs for name in names_of(facts, it, frame)):
            continue
        discounted = [it for it in total.inputs if is_discounted(facts, it, frame)]
        behind = sources(discounted)
        for choice in [it for it in replaced if it in behind]:
            flags = replaced[choice]
            if any(_reaches(it, choice, flags, beside[flags]) for it in discounted):
                place = _stored_at(facts, total, choice, flags) or _estimated_at(discounted, choice)
                place = place or total.place or choice.place
                if place is None:
                    break
                yield RULE.finding(
                    place,
                    current="the target adds a discounted value that comes from an observation "
                    "which a reset has replaced: at the end of an episode, the next one's start",
                    expected="where an episode ends, nothing of the next one enters its target",
                    fix="multiply the bootstrapped value by one minus the flag, or take the "
                    "observation from before the reset",
                    evidence=(Evidence("the observation is replaced here", choice.place),),
                    engine=Engine.SOURCE,
                )
                break


def _estimated_at(discounted: list[Node], choice: Node) -> Place | None:
    """Where a loop asks for the value of what a reset has replaced, to record it for the target."""
    given = [it.node for product in discounted for it in factors(product) if isinstance(it, Data)]
    kept = [it for it in map(recorded, given) if it is not None]
    for node in kept if choice not in kept else ():
        for frame in node.frame.callers() if node.frame is not None else ():
            is_named = any(node in nodes_of(it) for it in frame.environment.values())
            made = position_in(frame, node) if is_named else None
            if made is not None and node.depends_on(choice):
                return frame.place(made)
    return None


def _stored_at(facts: SourceFacts, total: Node, choice: Node, flags: Node) -> Place | None:
    """Where a record takes what a reset has replaced for what came next.

    A target that stops at some of the ends only, and not where time was up, needs what was there
    before the reset; one that stops at none of them has to stop.
    """
    parts = set(flags.ancestors()) - {flags}
    if not any(of_lane(turned_flag(it)) in parts for it in total.ancestors()):
        return None
    for frame in facts.own_frames:
        for statement, value in frame.steps:
            for record in records_in(value):
                for name, part in own_parts(record).items():
                    is_next = "next" in words_of(name)
                    if is_next and isinstance(part, Data) and of_lane(part.node) is choice:
                        whole = statement.value if isinstance(statement, ast.Assign) else statement
                        return frame.place(written_at(frame, whole, value, part.node))
    return None


def _replaced(facts: SourceFacts) -> dict[Node, Node]:
    """Results of `where(done, …, …)`, with the flags that chose."""
    found = {it.result: it.judged for it in resets(facts) if not it.is_reversed}
    for call in facts.calls(SELECTIONS):
        if len(call.args) != 3:
            continue
        flags, result = call.args[0], call.result
        if any(isinstance(it, Constant) for it in call.args[1:]):
            continue  # A number in the place of a value is a mask, and no reset.
        if any(isinstance(it, Data) and it.node.operation == "carry" for it in call.args[1:]):
            continue  # What has come in from the last step is memory that starts anew.
        if isinstance(flags, Data) and isinstance(result, Data):
            node, _ = without_negation(flags.node)
            if any(map(is_episode_end, names_of(facts, node, call.frame))):
                found[result.node] = node
    return found


def _reaches(node: Node, choice: Node, flags: Node, choices: set[Node]) -> bool:
    """Whether a value is made from a choice, on a way on which the flags do not come in again.

    Other parts of the state that the same flags have replaced do not tell of these either.
    """
    told = _telling(node, flags, choices)
    pending, seen = [node], set[object]()
    while pending:
        current = pending.pop()
        if current is choice:
            return True
        if current in seen:
            continue
        seen.add(current)
        for source in current.inputs:
            others = [it for it in current.inputs if it is not source]
            if current.operation == "+" or not any(it in told for it in others):
                pending.append(source)
    spend(len(seen))
    return False


def _telling(node: Node, flags: Node, choices: set[Node]) -> set[Node]:
    """What a value is made from that depends on flags by another way than through the choices."""
    behind = sources([node], lambda it: it not in choices)
    return reaching(behind - choices, {flags}) if flags in behind else set()


RULE = Rule(
    code="EN004",
    name="reset-in-target",
    title="The next episode's observation enters the last one's target",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
An environment that resets itself returns, where an episode ends, the first observation of the next
one. A target `reward + gamma * value(obs)` that uses it there credits the last step of an episode
with the value of another one's start.

Reported when a reward (by its name) is added to a discounted number that depends on what a
`where(done, …)` has chosen, and nothing between them depends on `done`.""",
    wrong="""\
import jax.numpy as jnp


def entry(w, obs, fresh, reward):
    done = jnp.abs(obs).max(axis=-1) > 2.0
    next_obs = jnp.where(done[:, None], fresh, obs)
    return reward + 0.99 * (next_obs @ w)


def inputs():
    return jnp.ones(3), jnp.ones((4, 3)), jnp.zeros((4, 3)), jnp.ones(4)
""",
    right="""\
import jax.numpy as jnp


def entry(w, obs, fresh, reward):
    done = jnp.abs(obs).max(axis=-1) > 2.0
    next_obs = jnp.where(done[:, None], fresh, obs)
    target = reward + 0.99 * (1.0 - done) * (next_obs @ w)
    return target, next_obs


def inputs():
    return jnp.ones(3), jnp.ones((4, 3)), jnp.zeros((4, 3)), jnp.ones(4)
""",
    trace=check,
    source=check_source,
)
