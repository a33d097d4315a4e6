"""A network that learns from other values than it acted on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.events import Event
from ...source.queries.episodes.replays import replays
from ...source.queries.handing import handed_in_at, is_key
from ...source.queries.loops.bodies import body_frame, returned_at
from ...source.queries.nodes import of_all_lanes
from ...source.text import text_of
from ...source.values import nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.queries.episodes.replays import Replay


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls with records of a loop that are of other steps than what was given in the loop."""
    found = list(replays(facts))
    # What is also called for the same step is called for the next one on purpose.
    aligned = {(it.loop, it.acting.syntax) for it in found if 0 in it.shifts}
    for it in found:
        shifted = [number for number, shift in enumerate(it.shifts) if shift]
        if not shifted:
            continue
        if 0 in it.shifts:
            yield _mixed(it, shifted[0])
        elif (it.loop, it.acting.syntax) not in aligned and _is_learned_from(it):
            before = it.acting.given[shifted[0]]
            if it.shifts[shifted[0]] == 1 and not _is_recorded(it, before):
                yield _later(facts, it)


def _mixed(replay: Replay, number: int) -> Finding:
    given, shift = replay.learning.given[number], replay.shifts[number] or 0
    if shift == "end":
        event = Event(replay.learning.syntax, replay.learning.frame)
        place = handed_in_at(event, is_key(given))
        what = "with them it is given what was left when the loop was through"
    else:
        place, when = None, "after" if shift > 0 else "before"
        if given.operation == "slice":
            place = given.place
        what = f"one of them is of the step {when} that of the others"
    return RULE.finding(
        place or replay.learning.place,
        current=f"`{_called(replay)}` is given records of a loop that are not of one step, unlike "
        f"in the loop itself: {what}",
        expected="what is given together in the loop is given together again",
        fix="record what the loop gives to it, and give it these records",
        evidence=(Evidence("in the loop it is called here", replay.acting.place),),
        engine=Engine.SOURCE,
    )


def _later(facts: SourceFacts, replay: Replay) -> Finding:
    return RULE.finding(
        _recorded_at(facts, replay),
        current="what the loop records here is of the next step: it acts on what comes into the "
        f"turn, while `{_called(replay)}` learns from what goes out of it",
        expected="what an action was chosen for is recorded together with the action",
        fix="record what comes into the iteration",
        evidence=(
            Evidence("it acts here", replay.acting.place),
            Evidence("it learns here", replay.learning.place),
        ),
        engine=Engine.SOURCE,
    )


def _called(replay: Replay) -> str:
    syntax = replay.learning.syntax
    return text_of(syntax.func) if isinstance(syntax, ast.Call) else text_of(syntax)


def _is_learned_from(replay: Replay) -> bool:
    """Whether gradients are taken of what a function makes of the records."""
    region = replay.learning.region
    return region is not None and any("grad" in it.kind for it in region.chain())


def _is_recorded(replay: Replay, node: object) -> bool:
    kept = nodes_of(replay.loop.stacked) if replay.loop.stacked is not None else []
    return any(of_all_lanes(it) is node or it is node for it in kept)


def _recorded_at(facts: SourceFacts, replay: Replay) -> Place:
    """Where the body of a loop puts together what it records."""
    loop = replay.loop
    frame = body_frame(facts, loop)
    kept = set(nodes_of(loop.stacked)) if loop.stacked is not None else set[object]()
    for statement, value in frame.steps if frame is not None else ():
        if frame is not None and set(nodes_of(value)) == kept:
            return frame.place(statement)
    return returned_at(facts, loop) or loop.place


RULE = Rule(
    code="EN021",
    name="replayed-otherwise",
    title="A network learns from other steps than it acted on",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A policy chooses an action for what it sees, and learns from records of what it saw and did. If the
loop records what was seen after the action, or the flag that resets a memory is that of another
step than the observation beside it, then the policy that learns is not the one that acted. Shapes
and types are the same.

Reported where a function is called in the body of a scan, and again with what this scan has
recorded: when the records that it is given are of different steps, though in the loop all were of
one, as with the memory from the end of the loop in the place of that from its beginning; and when
it learns only from what goes out of a turn, which acted on what came in, and that is not recorded.
Nothing of it depends on names.""",
    wrong="""\
import jax
import jax.numpy as jnp


def policy(w, seen):
    return jnp.tanh(seen @ w)


def act(w, start, noise):
    def turn(seen, disturbance):
        action = policy(w, seen) + disturbance
        after = 0.9 * seen + action
        return after, (after, action)

    return jax.lax.scan(turn, start, noise)[1]


def loss(w, seen, actions):
    return jnp.square(policy(w, seen) - actions).mean()


def entry(w, start, noise):
    seen, actions = act(w, start, noise)
    return jax.grad(loss)(w, seen, actions)


def inputs():
    return jnp.eye(3), jnp.ones(3), jnp.ones((5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def policy(w, seen):
    return jnp.tanh(seen @ w)


def act(w, start, noise):
    def turn(seen, disturbance):
        action = policy(w, seen) + disturbance
        after = 0.9 * seen + action
        return after, (seen, action)

    return jax.lax.scan(turn, start, noise)[1]


def loss(w, seen, actions):
    return jnp.square(policy(w, seen) - actions).mean()


def entry(w, start, noise):
    seen, actions = act(w, start, noise)
    return jax.grad(loss)(w, seen, actions)


def inputs():
    return jnp.eye(3), jnp.ones(3), jnp.ones((5, 3))
""",
    source=check_source,
)
