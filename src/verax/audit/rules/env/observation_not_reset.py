"""An observation of the episode that is over, with the state of the next one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.classes import all_fields
from ...source.queries.episodes.resets import resets, whole_of
from ...source.queries.names import named_parts
from ...source.values import Data, Instance, Sequence, nodes_of
from ...words import is_observation, words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.episodes.resets import Reset
    from ...source.values import Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Steps that return a state after a reset together with an observation from before it."""
    chosen = [it for it in resets(facts) if not it.is_reversed]
    yield from _in_replaced(facts, chosen)
    for it in chosen:
        for syntax, old in _observations(it, {other.result for other in chosen}):
            yield RULE.finding(
                it.frame.place(syntax),
                current=f"where `{it.flag}` is set, the state is that of a reset, but `{old}` is "
                "still what was seen before it",
                expected="the observation is of the state that comes with it",
                fix="choose the observation by the same flag, or observe the state that was chosen",
                evidence=(Evidence("the state is chosen here", it.result.place),),
                engine=Engine.SOURCE,
            )


def _observations(reset: Reset, results: set[Node]) -> Iterator[tuple[ast.AST, str]]:
    """What is returned by the name of an observation, and made from the state before."""
    for syntax, value in reset.frame.returns:
        returned = syntax.value if isinstance(syntax, ast.Return) else None
        names = returned.elts if isinstance(returned, ast.Tuple) else []
        if not isinstance(value, Sequence) or len(value.items or ()) != len(names):
            continue
        parts = list(zip(names, value.items or (), strict=True))
        others = [node for _, part in parts for node in nodes_of(part) if node not in results]
        # An observation may well be handed out beside, under another name.
        if reset.result not in nodes_of(value) or any(
            not results.isdisjoint(it.ancestors()) for it in others
        ):
            continue
        for name, node in _named(parts):
            is_old = node not in results and _is_of_kept(node, reset.kept)
            if is_old and is_observation(name) and _LAST.isdisjoint(words_of(name)):
                yield syntax, name


def _is_of_kept(node: Node, kept: Node) -> bool:
    """Whether something is made from a state that goes on, or by the call that gave this state."""
    step = whole_of(kept)
    is_call = step.operation == "call" or step.operation.startswith(".")
    return node.depends_on(kept) or (is_call and step is not kept and whole_of(node) is step)


def _named(parts: list[tuple[ast.expr, Value]]) -> Iterator[tuple[str, Node]]:
    """What is returned by a name of its own, or as a part of a record.

    What came next in a record is what was seen at the end, and not what is acted on.
    """
    for syntax, value in parts:
        if isinstance(value, Data) and isinstance(syntax, ast.Name):
            yield syntax.id, value.node
        elif isinstance(value, (Instance, Sequence)):
            yield from (it for it in named_parts(value) if "next" not in words_of(it[0]))


def _in_replaced(facts: SourceFacts, resets: list[Reset]) -> Iterator[Finding]:
    """Records of which a reset replaces a part, and whose observation stays what it was."""
    chosen = {it.result: it for it in resets}
    names = [it for it in facts.calls_by_name if it.rpartition(".")[2] in ("replace", "_replace")]
    for call in facts.calls(names) if chosen else ():
        if not call.args:
            continue
        parts = {name: it.node for name, it in call.keywords.items() if isinstance(it, Data)}
        reset = next((chosen[it] for it in parts.values() if it in chosen), None)
        if reset is None or call.frame.module is not facts.module:
            continue
        owner = call.args[0]
        classes = [owner.cls] if isinstance(owner, Instance) else facts.record.classes
        holders = [it for it in classes if parts.keys() <= all_fields(it).keys()]
        seen = [it for it in all_fields(holders[0]) if is_observation(it)] if holders else []
        # The owner is what was kept a part of, and nothing else was put into it since.
        kept = reset.kept.inputs[0] if reset.kept.inputs else None
        is_owner = isinstance(owner, Data) and owner.node is kept
        if len(holders) == 1 and len(seen) == 1 and seen[0] not in parts and is_owner:
            yield RULE.finding(
                call.place,
                current=f"where `{reset.flag}` is set, the state is that of a reset, but "
                f"`{seen[0]}` in the same record is still what was seen before it",
                expected="the observation is of the state that comes with it",
                fix=f"choose `{seen[0]}` by the same flag",
                evidence=(Evidence("the state is chosen here", reset.result.place),),
                engine=Engine.SOURCE,
            )


# They say themselves that they are of the episode that is over.
_LAST = frozenset("last final terminal end true".split())


RULE = Rule(
    code="EN009",
    name="observation-not-reset",
    title="The state is reset, and the observation is not",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
An environment that resets itself returns the state of the next episode where one has ended. If the
observation beside it is still that of the last state, the first action of every episode is chosen
for what is no longer there.

Reported where a function chooses between a state and that of a reset by a flag, and returns the
choice in a tuple with an observation (by its name) that is made from the state before, or came out
of one call with it, while nothing else that it returns is made from the choice.""",
    wrong="""\
import jax
import jax.numpy as jnp


def reset(key):
    state = jax.random.uniform(key, (2,))
    return jnp.sin(state), state


def step(key, state, action):
    state = state + action
    obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
    fresh_obs, fresh = reset(key)
    state = jnp.where(done, fresh, state)
    return obs, state, done


def entry(keys, states, actions):
    return jax.vmap(step)(keys, states, actions)


def inputs():
    return jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 2)), jnp.ones((4, 2))
""",
    right="""\
import jax
import jax.numpy as jnp


def reset(key):
    state = jax.random.uniform(key, (2,))
    return jnp.sin(state), state


def step(key, state, action):
    state = state + action
    obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
    fresh_obs, fresh = reset(key)
    state = jnp.where(done, fresh, state)
    obs = jnp.where(done, fresh_obs, obs)
    return obs, state, done


def entry(keys, states, actions):
    return jax.vmap(step)(keys, states, actions)


def inputs():
    return jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 2)), jnp.ones((4, 2))
""",
    source=check_source,
)
