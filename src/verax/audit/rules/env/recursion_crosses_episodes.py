"""State that is carried across the end of an episode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Place, Severity
from ...phrases import quoted_name
from ...source.queries.episodes.crossings import crossings
from ...source.queries.episodes.tables import sums_past_ends
from ...source.queries.episodes.time_limits import Limit, recursions_past_limits
from ...source.queries.episodes.windows import (
    kept_windows,
    windows_carried,
    windows_past_flags,
)
from ...words import is_episode_end, may_be_episode_boundary, tells_beginning
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.partial_resets import PartialReset
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops that know where episodes end, and let a part of their carry go on."""
    from ...trace.describe import tensor_of
    from ...trace.partial_resets import partial_resets
    from ...trace.recurrence import (
        Feedback,
        feedback,
        is_learned,
        products_with_weights,
        reached_from,
        trains,
    )

    beside = list(partial_resets(facts))
    yield from (_beside(facts, it) for it in beside)
    for step in facts.steps:
        certain = _episode_ends(facts, step) if step.kind in ("scan", "while") else []
        ends = certain or (_marks(step) if step.kind == "scan" else [])
        if not ends or trains(step) or not facts.is_users(step):
            continue
        told: set[Value] = set()
        for end in (*ends, *_handed_on(step, ends)):
            told |= reached_from(facts.variation, step, end)
        loop = step.detail
        for index, carry in enumerate(loop.carry):
            if not _is_state(facts, carry, ends) or is_learned(step, index):
                continue
            if any(it.kept is carry for it in beside):
                continue  # Told already.
            if feedback(facts.variation, step, index) is not Feedback.RECURRENT:
                continue
            products = products_with_weights(facts.variation, step, index)
            if not certain and reached_from(facts.variation, step, carry).isdisjoint(products):
                continue
            gates = partial(_gates, told)
            open_way = reached_from(facts.variation, step, carry, gates)
            if loop.carried[index] not in open_way:
                continue
            yield RULE.finding(
                _kept_at(facts, step, index, bool(products)) or facts.place(step),
                current=f"{tensor_of(facts, carry)} is carried on past the end of an episode: the "
                "flags enter the loop, but no factor or choice that depends on them stands "
                "between its last value and its next",
                expected="where an episode ends, what is carried starts anew",
                fix="multiply the carried part by one minus the flag, or choose its initial "
                "value there with `jnp.where`",
                evidence=tuple(
                    Evidence("the flags are used here", user.place)
                    for end in ends
                    for user in end.consumers[:2]
                ),
            )


def _handed_on(step: Step, ends: list[Value]) -> Iterator[Value]:
    """Parts of the carry that are the flag of the turn before, as in a backward recursion."""
    for carry, value in zip(step.detail.carry, step.detail.carried, strict=True):
        while value.producer is not None and value.producer.primitive == "convert_element_type":
            value = value.producer.inputs[0]
        if value in ends:
            yield carry


def _beside(facts: Facts, it: PartialReset) -> Verdict:
    """A part of a memory that goes on, while flags make the other start anew."""
    from ...trace.describe import tensor_of

    return RULE.finding(
        facts.place(it.gate),
        current=f"flags make {tensor_of(facts, it.reset)} of the carry start anew here, and not "
        f"{tensor_of(facts, it.kept)} beside it, although each turn makes the next from both",
        expected="where an episode ends, what is carried starts anew",
        fix="treat all parts of the carry alike, with `jax.tree.map`",
    )


def _episode_ends(facts: Facts, step: Step) -> list[Value]:
    """Values of an iteration that say whether an episode ends there, and are used."""
    loop = step.detail
    found = [
        part
        for whole, part in zip(loop.scanned, loop.slices, strict=True)
        if (part.consumers or part in loop.stacks)
        and (is_episode_end(part.name) or _comes_from_ends(whole))
    ]
    for inner in step.bodies[-1].steps:
        if inner.primitive in ("dynamic_slice", "gather") and _comes_from_ends(inner.inputs[0]):
            made = inner.outputs[0]
            if made.consumers and facts.variation.changes(made, step):
                found.append(made)
    return found


def _marks(step: Step) -> list[Value]:
    """Scanned flags of which only their type and name tell that episodes begin or end there."""
    return [
        part
        for whole, part in zip(step.detail.scanned, step.detail.slices, strict=True)
        if part.consumers
        and part.dtype == bool
        and (may_be_episode_boundary(part.name) or may_be_episode_boundary(whole.name))
    ]


def _kept_at(facts: Facts, step: Step, index: int, by_weights: bool) -> Place | None:
    """Where a part of a carry goes on that should have started anew.

    A recursion is wrong where it is written. Of a memory it depends: a turn that is the first of
    an episode, by its flags, must not begin with it; one that is the last must not hand it on.
    """
    update, body = step.detail.carried[index].producer, step.bodies[-1].place
    if update is None or update is step:
        return body
    if not by_weights and _is_recursion(facts, step, index):
        return update.place or body
    called = _called_at(update, body) or update.place
    names = [it.name for it in (*step.detail.scanned, *step.detail.slices)]
    if called is None or any(map(tells_beginning, names)):
        return called or body
    return facts.sources.returned(called) or called


def _is_recursion(facts: Facts, step: Step, index: int) -> bool:
    """Whether one iteration scales a part of the carry and adds to it, and no more."""
    from ...trace.liveness import needed_for
    from ...trace.recurrence import reached_from

    carry, carried = step.detail.carry[index], step.detail.carried[index]
    way = reached_from(facts.variation, step, carry) & set(needed_for([carried]))
    made = (it.producer for it in way if it is not carry)
    return all(it is None or it.kind != "operation" or it.primitive in _PLAIN for it in made)


_PLAIN = {"add", "sub", "mul", "neg", "convert_element_type", "broadcast_in_dim", "reshape", "copy"}


def _called_at(step: Step, body: Place | None) -> Place | None:
    """Where the body of a loop has a step made: what is further inside knows of no episodes."""
    if body is None:
        return None
    # A program knows its functions by name alone, a line by all that is around it.
    own = (it for it in step.frames if it.function.rpartition(".")[2] == body.function)
    return next((it for it in own if it.file == body.file), None)


# What turns flags into flags.
_FLAG_OPERATIONS = {
    *("sub", "not", "or", "and", "convert_element_type", "transpose", "reshape", "squeeze"),
    *("slice", "broadcast_in_dim", "concatenate", "ne", "eq", "rev", "select_n", "copy", "mul"),
}


def _comes_from_ends(value: Value) -> bool:
    """Whether a scanned array is made from an input that says where episodes end."""
    for _ in range(12):
        if is_episode_end(value.name):
            return True
        step = value.producer
        if step is not None and step.kind == "map":
            value = next((whole for whole, lane, _ in step.detail.mapped if lane is value), value)
            continue
        if step is None or step.primitive not in _FLAG_OPERATIONS:
            return False
        varying = [it for it in step.inputs if not it.is_constant]
        if step.primitive == "mul" and len(varying) > 1:
            return False
        value = varying[-1] if varying else value
    return False


def _is_state(facts: Facts, carry: Value, ends: list[Value]) -> bool:
    """Whether a part of the carry has a row for each of the flags."""
    import jax.numpy as jnp

    if not jnp.issubdtype(carry.dtype, jnp.floating):
        return False
    own = set(facts.axes[carry])
    return any(
        all(
            axis in own or carry.shape[: len(end.shape)] == end.shape
            for axis, size in zip(facts.axes[end], end.shape, strict=True)
            if size > 1
        )
        for end in ends
    )


def _gates(told: set[Value], value: Value, step: Step) -> bool:
    """Whether a step lets a value through only where the flags allow."""
    if step.primitive == "select_n" or step.kind == "cond":
        return step.inputs[0] in told
    if step.primitive in ("mul", "div", "dot_general", "pow"):
        return any(other in told for other in step.inputs if other is not value)
    return False


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Loops that could know of ends, and let a part of their carry go on regardless."""
    for place, name, loop in crossings(facts):
        yield RULE.finding(
            place,
            current=f"the carry `{name}` goes on past the end of an episode: the flags are known "
            "in the loop, but no factor or choice that depends on them stands between its last "
            "value and its next",
            expected="where an episode ends, what is carried starts anew",
            fix="multiply the carried part by one minus the flag, or choose its initial value "
            "there with `jnp.where`",
            evidence=(Evidence("the loop is here", loop),),
            engine=Engine.SOURCE,
        )
    for limit in recursions_past_limits(facts):
        yield RULE.finding(
            limit.place,
            current="the recursion stops where an episode terminates, and runs on where its time "
            f"was up: `{limit.cut}` is {_known_by(limit)}, and has no part in the factor",
            expected="what is added up stops at all ends of episodes, whatever a target looks at",
            fix=f"multiply the factor by one minus {quoted_name(limit.cut, 'that flag')}",
            evidence=(Evidence("the loop is here", limit.loop),),
            engine=Engine.SOURCE,
        )
    windows = (*kept_windows(facts), *windows_carried(facts), *windows_past_flags(facts))
    for name, place in dict.fromkeys(windows):
        yield RULE.finding(
            place,
            current=f"`{name}` keeps what was seen last past the end of an episode: the flags are "
            "known here, and have no part in it",
            expected="where an episode ends, nothing that was seen in it is left",
            fix=f"fill `{name}` anew there, with `jnp.where` by the flags",
            engine=Engine.SOURCE,
        )
    for product in sums_past_ends(facts):
        place = product.place
        if place is not None:
            yield RULE.finding(
                place,
                current="the product adds up what comes in all later steps, also past the end of "
                "an episode: the flags are known here, and have no part in its table",
                expected="a step's sum ends where its episode does",
                fix="make the table zero between steps of different episodes",
                engine=Engine.SOURCE,
            )


def _known_by(limit: Limit) -> str:
    return "handed to the loop" if limit.is_handed else "in the same record"


RULE = Rule(
    code="EN002",
    name="recursion-crosses-episodes",
    title="State is carried across the end of an episode",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A scan over a rollout gets flags that say where an episode ends, and uses them, but a part of its
carry that is fed back goes on regardless: an advantage recursion that takes the next episode's
advantages into the last one's, or a recurrent state that remembers the episode before.

Reported for floating-point parts of a carry that are fed back (not plain sums) when the flags
enter the loop as scanned values and no multiplication or choice by them lies on the way from the
last value to the next; and, whatever the flags are called, where they gate one part of a memory
before anything else is done with it, and not another of the same type that is made from it, as the
hidden and the cell state of an LSTM. So too if a function over rewards has a parameter for the
flags that nothing in it reads, and where errors stop at the flags but the factors that they are
added up with, one number for all steps, do not; and where they stop at terminations, and not at
truncations, which the record or the loop has as well. Also for a product of rewards with a table
of `gamma ** (j - i)` about which no flag decides.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(deltas, values, done):
    def step(gae, inp):
        delta, value, d = inp
        gae = delta - (1.0 - d) * value + 0.9 * gae
        return gae, gae

    return jax.lax.scan(step, jnp.zeros(3), (deltas, values, done), reverse=True)[1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.zeros((6, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(deltas, values, done):
    def step(gae, inp):
        delta, value, d = inp
        gae = delta - (1.0 - d) * value + 0.9 * (1.0 - d) * gae
        return gae, gae

    return jax.lax.scan(step, jnp.zeros(3), (deltas, values, done), reverse=True)[1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.zeros((6, 3))
""",
    trace=check,
    source=check_source,
)
