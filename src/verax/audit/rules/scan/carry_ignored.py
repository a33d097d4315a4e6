"""A loop whose body reads the initial value instead of its carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.events import Event, Loop
from ...source.graph import sources
from ...source.queries.gradients.stale_gradients import stale_gradients
from ...source.queries.handing import handed_in_at
from ...source.queries.loops.bodies import behind, paired_leaves
from ...source.values import nodes_of
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Parts of a carry that nothing reads, while the body reads what they started from."""
    for loop in facts.events(Loop):
        if loop.carry_in is None or loop.returned is None:
            continue
        used = _computed_from(loop) | behind(loop.options.get("condition"))
        scanned = behind(loop.xs)
        pairs = list(paired_leaves(loop.initial, loop.carry_in))
        starts = Counter(initial.node for initial, _ in pairs)
        for initial, carry in pairs:
            if carry.node in used or carry.node.is_key or initial.node in scanned:
                continue
            if starts[initial.node] > 1:
                continue  # It is read for itself, by one of its names.
            reader = _reader(loop, carry.node, initial.node)
            if reader is None or reader.syntax is None or reader.frame is None:
                continue
            if _is_only_result(loop, carry.node, initial.node):
                continue
            name, node = facts.name_of(initial), initial.node
            reading = Event(reader.syntax, reader.frame)
            yield RULE.finding(
                handed_in_at(reading, lambda it, node=node: node in nodes_of(it), loop.region),
                current=f"the body ignores its carry and reads `{name}`, from which the carry "
                "starts: every iteration begins there again",
                expected="an iteration goes on from the carry that it gets",
                fix="use the body's own parameter",
                evidence=(Evidence("the loop is here", loop.place),),
                engine=Engine.SOURCE,
            )
    yield from _gradients(facts)


def _gradients(facts: SourceFacts) -> Iterator[Verdict]:
    """Gradients that move the carry, taken each time at the value that it starts from."""
    for event, loop, initial in stale_gradients(facts):
        yield RULE.finding(
            event.place,
            current=f"`{event.text}` takes the gradient at `{facts.name_of(initial)}`, from which "
            "the carry starts, in every iteration",
            expected="the gradient that moves the carry is taken at the carry",
            fix="use the body's own parameter",
            evidence=(Evidence("the loop is here", loop.place),),
            engine=Engine.SOURCE,
        )


def _computed_from(loop: Loop) -> set[Node]:
    """What the results of a turn are made from; what it only records is not used for that."""
    carried = set(nodes_of(loop.carry_out)) if loop.carry_out is not None else set[Node]()
    returned = nodes_of(loop.returned) if loop.returned is not None else []
    return sources([it for it in returned if it.operation != "carry" or it in carried])


def _is_only_result(loop: Loop, carry: Node, initial: Node) -> bool:
    """Whether it is not made from the initial value, or the result of a search.

    A line search begins at one point in each iteration; its step size is what changes.
    """
    pairs = list(paired_leaves(loop.carry_in, loop.carry_out))
    new = next((after for before, after in pairs if before.node is carry), None)
    if new is None or initial not in behind(new):
        return True  # It is made of something else.
    others = {before.node for before, after in pairs if before.node in behind(after)}
    return loop.kind == "while_loop" and not others.isdisjoint(behind(new))


def _reader(loop: Loop, carry: Node, initial: Node) -> Node | None:
    """What in the body is made from the initial value, next to what the carry becomes."""
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        for node in after.node.ancestors() if before.node is carry else ():
            if initial in node.inputs and node.is_made_in(loop.region):
                return node
    return None


RULE = Rule(
    code="SC005",
    name="carry-ignored",
    title="A loop ignores its carry and reads the initial value",
    family="scan",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    preview=True,
    by_absence=True,
    explanation="""\
The body of a loop does not use its carry, and reads the value that the loop starts from, which it
closes over: `state` of the function around instead of its own parameter. Every iteration begins
anew at the start, and nothing is carried on. The same holds for a gradient that is taken there
each time, while the carry moves away.
""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(state, forces):
    def step(s, force):
        moved = 0.9 * state + force
        return moved, moved

    return jax.lax.scan(step, state, forces)


def inputs():
    return jnp.zeros(3), jnp.ones((7, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(state, forces):
    def step(s, force):
        moved = 0.9 * s + force
        return moved, moved - state

    return jax.lax.scan(step, state, forces)


def inputs():
    return jnp.zeros(3), jnp.ones((7, 3))
""",
    source=check_source,
)
