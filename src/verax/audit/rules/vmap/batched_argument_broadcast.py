"""An argument that has the mapped axis, and is given whole to every element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.axes import names_of
from ...source.queries.arrays import array_in_words
from ...source.queries.given_whole import axes_to_mend, closed_over_at, summed_whole
from ...source.queries.loops.maps import applied_maps, shared_arguments
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.axes.axis import Axis
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Broadcast arguments whose mapped axis then lines up with nothing."""
    from ...trace.describe import name_of, tensor_of

    for step in facts.steps:
        if step.kind != "map" or not step.detail.mapped:
            continue
        over = facts.axes.over[step].root()
        mapped = {outer for outer, _, _ in step.detail.mapped}
        for argument in dict.fromkeys(step.detail.broadcast):
            if argument in mapped or not over.label or over not in facts.axes[argument]:
                continue
            meeting = _promoted_meeting(facts, step, argument, over)
            if meeting is None:
                continue
            name, axis = name_of(facts, argument), over.label
            yield RULE.finding(
                facts.place(step),
                current=f"{name} ({tensor_of(facts, argument)}) has axis {axis}, which this vmap "
                f"maps, but is broadcast: every element of {axis} gets all of it, and sums over it",
                expected=f"element i of {axis} gets row i of {name}",
                fix=f"give {name} the position of {axis} in `in_axes`: "
                f"{facts.axes[argument].index(over)} instead of None",
                evidence=(Evidence(f"all of {axis} meets one element here", meeting.place),),
            )


def _promoted_meeting(facts: Facts, step: Step, argument: Value, over: Axis) -> Step | None:
    """Where the argument meets an element that has no such axis, which then is summed away.

    Computing all pairs on purpose ends in one value a pair; a sum over the pairs together with the
    components of each is what a forgotten `in_axes` ends in. Where all are single numbers, so is a
    sum over them, unless something else is given both whole and one by one.
    """
    from ...trace.recurrence import reached_from

    mapped = {outer for outer, _, _ in step.detail.mapped}
    all_pairs = any(it in mapped and over in facts.axes[it] for it in step.detail.broadcast)
    least = 1 if len(argument.shape) == 1 and not all_pairs and _are_numbers(step) else 2
    inside = set(step.bodies[0].walk())
    reached = reached_from(facts.variation, step, argument)
    meeting: Step | None = None
    for inner in step.bodies[0].walk():
        if not any(value in reached for value in inner.inputs):
            continue
        if meeting is None and _meets_lane(facts, step, inner, over):
            meeting = inner
        count = len(inner.params.get("axes", ())) if inner.primitive.startswith("reduce_") else 0
        if meeting is not None and count >= least and inner in inside:
            axes = facts.axes[inner.inputs[0]]
            if any(axes[index] is over for index in inner.params["axes"]):
                return meeting
    return None


def _are_numbers(step: Step) -> bool:
    """Whether an element of all that is mapped is one number."""
    return all(len(outer.shape) == 1 for outer, _, _ in step.detail.mapped)


def _meets_lane(facts: Facts, step: Step, inner: Step, over: Axis) -> bool:
    """Whether an elementwise step stretches an element of the map along the mapped axis."""
    if inner.kind != "operation" or len(inner.inputs) < 2 or not inner.outputs:
        return False
    axes = facts.axes
    made = axes[inner.outputs[0]]
    if over not in made:
        return False
    index = made.index(over)
    rank = len(made)
    return any(
        (not value.shape or (len(value.shape) == rank and value.shape[index] == 1))
        and facts.variation.changes(value, step)
        for value in inner.inputs
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """What every lane gets whole, as an argument or otherwise, and sums over."""
    calls = {event.region: event for event in applied_maps(facts)}
    said: set[object] = set()
    for it in summed_whole(facts):
        event, leaf, over = calls.get(it.region), Data(it.node), it.axis
        if event is None or (event.syntax, it.node) in said:
            continue
        said.add((event.syntax, it.node))
        is_given = any(shared.node is it.node for shared in shared_arguments(event))
        name = facts.name_of(leaf)
        position = names_of(it.node.shape).index(over)
        yield RULE.finding(
            axes_to_mend(event, leaf) if is_given else closed_over_at(facts, event, it.node),
            current=f"{array_in_words(facts, leaf)} has axis {over}, which this vmap maps, but is "
            f"broadcast: every element of {over} gets all of it, and sums over it",
            expected=f"element i of {over} gets row i of {name}",
            fix=f"give {name} the position of {over} in `in_axes`: {position} instead of None"
            if is_given
            else f"give {name} to the mapped function as an argument, with {position} in `in_axes`",
            evidence=(
                Evidence(f"all of {over} is summed here", it.at.place),
                Evidence("the map", event.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="VM002",
    name="batched-argument-broadcast",
    title="An argument with the mapped axis is broadcast",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
An argument holds one row for each element of the mapped axis, but `in_axes` has `None` for it: each
element sees the whole table. Broadcasting makes the shapes fit, and a sum or mean hides that there
are too many values.

Computing all pairs by vmap is common and looks the same at first; reported is only an argument
other than the mapped ones whose mapped axis is broadcast against an element and then reduced
together with other axes, or where there are no others: of single numbers, also of differences
between the one that an element has made, a prediction, and all that the argument holds, or of what
an element picks by indices of which the argument holds one for each.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"states": "env dim", "actions": "env dim"}


def entry(states, actions):
    def reward(state, action):
        return -jnp.sum((state + 0.1 * action) ** 2)

    return jax.vmap(reward, in_axes=(0, None))(states, actions)


def inputs():
    return jnp.ones((5, 2)), jnp.ones((5, 2))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"states": "env dim", "actions": "env dim"}


def entry(states, actions):
    def reward(state, action):
        return -jnp.sum((state + 0.1 * action) ** 2)

    def distances(point, points):
        return jnp.sqrt(jnp.sum((point - points) ** 2, axis=-1) + 1e-9)

    rewards = jax.vmap(reward)(states, actions)
    return rewards, jax.vmap(distances, in_axes=(0, None))(states, actions)


def inputs():
    return jnp.ones((5, 2)), jnp.ones((5, 2))
""",
    trace=check,
    source=check_source,
)
