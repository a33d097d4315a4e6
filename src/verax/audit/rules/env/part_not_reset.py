"""A part of a state that goes on where the rest of it starts anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.operations import ACROSS, FILLED, GIVEN, PARTS, SELECTIONS
from ...source.queries.episodes.clocks import held_at, running_on
from ...source.queries.episodes.resets import is_zero
from ...source.queries.episodes.updates import class_of, own_parts, records_in, updates
from ...source.queries.names import names_of
from ...source.values import Data
from ...words import is_episode_end, is_reward, words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...source.queries.episodes.updates import Part, Update


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """New states of which flags gate most parts, and let one go on."""
    for update in updates(facts):
        gated = [it for it in update.parts if it.is_gated]
        if not gated:
            continue
        going_on = [it for it in update.parts if _goes_on(facts, update, it)]
        if not going_on or len(going_on) > len(gated):
            continue
        for part in going_on:
            place = _written_at(update, part)
            yield RULE.finding(
                place,
                current=f"`{part.name}` goes on from the last episode, while flags decide "
                f"about `{gated[0].name}` beside it",
                expected="where an episode ends, all parts of its state start anew",
                fix=f"treat `{part.name}` as `{gated[0].name}` is treated",
                evidence=(Evidence(f"`{gated[0].name}` is made here", gated[0].node.place),),
                engine=Engine.SOURCE,
            )
    yield from _clocks(facts)


def _clocks(facts: SourceFacts) -> Iterator[Finding]:
    """Counters that make a state start anew, and do not start anew with it."""
    for clock in running_on(facts):
        place = held_at(clock)
        if place is None:
            continue
        name = facts.name_of(Data(clock.before))
        yield RULE.finding(
            place,
            current=f"`{name}` is counted on where the rest of the state starts anew: once it is "
            "beyond its limit, the rest starts anew in every step",
            expected="where an episode ends, all parts of its state start anew",
            fix="reset the counter with `jnp.where` by the same flag as the rest",
            evidence=(
                Evidence("it is counted here", clock.after.place),
                Evidence("the rest starts anew here", clock.choice.place),
            ),
            engine=Engine.SOURCE,
        )


# They are meant to outlive an episode, or are of one step only.
_LASTING = frozenset(
    "key keys rng rngs seed total global lifetime cumulative mean var std count counts stats "
    "metrics info infos log logs params config prev previous last finished returned completed "
    "best max min num level levels task goal episode episodes timestep timesteps".split()
)
_LENGTHS = frozenset("length lengths len".split())


def _goes_on(facts: SourceFacts, update: Update, part: Part) -> bool:
    """Whether a part is certainly of the episode that is over."""
    words = set(words_of(part.name))
    if not part.path or part.node.is_key or is_reward(part.name) or is_episode_end(part.name):
        return False
    if part.before is part.node:
        return words.isdisjoint(_LASTING) and _is_of_an_episode(facts, update, part)
    if len(part.path) != 2 or part.node.operation != "+" or words & {"total", "global", "lifetime"}:
        return False
    others = [it for it in part.node.inputs if it is not part.before]
    if not others:
        return bool(words & _LENGTHS)  # It counts.
    return any(is_reward(name) for it in others for name in names_of(facts, it, update.frame))


def _is_of_an_episode(facts: SourceFacts, update: Update, part: Part) -> bool:
    """Whether a part that is taken over as it was changes in the course of an episode.

    It does if this function has made it just before, or if others make such states with another
    one in its place.
    """
    if part.node.operation not in GIVEN and _is_made_in(part.node, update.frame):
        return True
    cls = class_of(update.state)
    if cls is None or not _start_at_zero(update):
        return False
    for frame in facts.frames:
        for value in (it for _, returned in frame.returns for it in records_in(returned)):
            made = own_parts(value).get(part.name) if class_of(value) is cls else None
            if isinstance(made, Data) and _is_computed(made.node, frame):
                return True
    return False


def _is_made_in(node: Node, run: Frame) -> bool:
    """Whether a run of a function, or one around it, makes a value, and no example gives it one."""
    around = {it for it in run.callers() if it.function is not None}
    return node.frame is not None and not around.isdisjoint(node.frame.callers())


def _is_computed(node: Node, run: Frame) -> bool:
    """Whether a value, or what it is taken out of, is made there: `Memory(*cell(x, memory))`."""
    while node.operation in PARTS and node.inputs:
        node = node.inputs[0]
    return node.operation not in _NOT_COMPUTED and _is_made_in(node, run)


# What comes out of a loop may be what went in.
_NOT_COMPUTED = GIVEN | ACROSS | FILLED


def _start_at_zero(update: Update) -> bool:
    """Whether the parts that start anew are masked, or zeros take their place: they are memory."""
    return all(_is_masked(it.node) for it in update.parts if it.is_gated)


def _is_masked(node: Node) -> bool:
    is_choice = node.operation in SELECTIONS
    return node.operation == "*" or (is_choice and any(map(is_zero, node.operands[1:])))


def _written_at(update: Update, part: Part) -> Place:
    """Where a part is written into the new state: at its own expression, if that is in there."""
    number = list(own_parts(update.state)).index(part.name)
    for node in ast.walk(update.syntax):
        if isinstance(node, ast.Call):
            named = {it.arg: it.value for it in node.keywords}
            given = dict(enumerate(node.args))
            found = named.get(part.name) or given.get(number)
            is_whole = len(node.args) + len(named) == len(own_parts(update.state))
            if found is not None and (is_whole or part.name in named):
                return update.frame.place(found)
        elif isinstance(node, ast.Dict):
            for key, item in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == part.name:
                    return update.frame.place(item)
    return update.frame.place(update.syntax)


RULE = Rule(
    code="EN012",
    name="part-not-reset",
    title="A part of a state is not reset with the others",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
Where an episode ends, all of its state starts anew: what moves, what a network remembers, the clock
that tells when time is up, and the return and the length up to now. A part that is forgotten takes
the last episode into the next one.

Reported where a function makes a new state and flags for the end of an episode gate some of its
parts (by a choice or a factor), and at most as many others go on without: as they were, or with a
reward added. Also where a loop counts up to a limit, whatever that is called, and replaces other
parts of its carry from there on, but not the counter.""",
    wrong="""\
import jax
import jax.numpy as jnp


def step(state, action):
    moved = {"pos": state["pos"] + action, "clock": state["clock"] + 1}
    done = (jnp.abs(moved["pos"]) > 2.0) | (moved["clock"] >= 20)
    return {"pos": jnp.where(done, 0.0, moved["pos"]), "clock": moved["clock"]}, done


def entry(positions, actions):
    state = {"pos": positions, "clock": jnp.zeros(4, int)}
    return jax.vmap(step)(state, actions)


def inputs():
    return jnp.zeros(4), jnp.ones(4)
""",
    right="""\
import jax
import jax.numpy as jnp


def step(state, action):
    moved = {"pos": state["pos"] + action, "clock": state["clock"] + 1}
    done = (jnp.abs(moved["pos"]) > 2.0) | (moved["clock"] >= 20)
    clock = jnp.where(done, 0, moved["clock"])
    return {"pos": jnp.where(done, 0.0, moved["pos"]), "clock": clock}, done


def entry(positions, actions):
    state = {"pos": positions, "clock": jnp.zeros(4, int)}
    return jax.vmap(step)(state, actions)


def inputs():
    return jnp.zeros(4), jnp.ones(4)
""",
    source=check_source,
)
