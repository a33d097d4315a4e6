"""A reward for the state in which the next episode starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.graph import sources
from ...source.queries.episodes.resets import resets
from ...source.queries.names import named_parts, names_of
from ...source.queries.nodes import position_in
from ...words import is_reward
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.episodes.resets import Reset


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Steps that return a reward made from the state that a reset may have put in its place."""
    told: set[Node] = set()
    chosen = [it for it in resets(facts) if not it.is_reversed]
    results = {it.result for it in chosen}
    for reset in chosen:
        # A flag of the step before resets what this step starts from, which is then paid for.
        if not any(reset.judged.depends_on(it.kept) for it in chosen if it.judged is reset.judged):
            continue
        for name, reward in _rewards(facts, reset):
            # A reward that is itself set back is the start's, as the state beside it is.
            is_made = reward not in told and reward not in results
            if not is_made or reset.result not in sources([reward], _is_of_this_step):
                continue
            told.add(reward)
            syntax = position_in(reset.frame, reward)
            if syntax is None:
                continue
            yield RULE.finding(
                reset.frame.place(syntax),
                current=f"`{name}` is made from the state that `{reset.flag}` chooses: where an "
                "episode ends, it is paid for the start of the next one",
                expected="the reward of a step is of the state that the step has led to",
                fix="compute it from the state before the reset",
                evidence=(Evidence("the state is chosen here", reset.result.place),),
                engine=Engine.SOURCE,
            )


def _rewards(facts: SourceFacts, reset: Reset) -> Iterator[tuple[str, Node]]:
    """What a function returns by the name of a reward, be it that of a field or of a helper."""
    for _, value in reset.frame.returns:
        for field, node in named_parts(value):
            makers = [it for it in (reset.frame, node.frame) if it is not None]
            names = {name for it in makers for name in names_of(facts, node, it)}
            found = next((it for it in (field, *sorted(names)) if is_reward(it)), None)
            if found is not None:
                yield found, node


def _is_of_this_step(node: Node) -> bool:
    """Whether a value is made in one step: what a loop leaves is of all of its turns."""
    return node.operation not in ("carry", "last", "stack", "turn")


RULE = Rule(
    code="EN023",
    name="reward-after-reset",
    title="A reward is that of the state after a reset",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
An environment that resets itself replaces its state where an episode has ended. A reward that is
computed from the state after that pays the last action of every episode for where the next one
happens to start: falling over is rewarded like standing upright.

Reported where a function chooses between a state and that of a reset, by a flag that looks at this
state, and returns what is called a reward and made from the choice.""",
    wrong="""\
import jax
import jax.numpy as jnp


def reset(key):
    return jax.random.uniform(key, (2,))


def step(key, state, action):
    state = state + action
    done = jnp.abs(state).max() > 2.0
    state = jnp.where(done, reset(key), state)
    reward = -jnp.sum(state**2)
    return state, reward, done


def entry(keys, states, actions):
    return jax.vmap(step)(keys, states, actions)


def inputs():
    return jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 2)), jnp.ones((4, 2))
""",
    right="""\
import jax
import jax.numpy as jnp


def reset(key):
    return jax.random.uniform(key, (2,))


def step(key, state, action):
    state = state + action
    done = jnp.abs(state).max() > 2.0
    reward = -jnp.sum(state**2)
    state = jnp.where(done, reset(key), state)
    return state, reward, done


def entry(keys, states, actions):
    return jax.vmap(step)(keys, states, actions)


def inputs():
    return jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 2)), jnp.ones((4, 2))
""",
    source=check_source,
)
