"""Whether differentiated inputs certainly get the gradient of all that is made of them.

That some path leads from an input to a loss is not enough: where the term of a policy goes through
`argmax`, that of its entropy may still have a gradient. So every number between them that depends
on an input has to give a gradient back to it. A comparison or an index may decide beside such
numbers; what `stop_gradient` cuts is left out, as its author wants; and a rule that the user wrote
counts if it was run and agrees with its function. What is one number, whatever an input is
(`fixed.py`), gives none back, though each operation on the way has a derivative.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ..._jax import closed, source_of
from .fixed import is_fixed, is_taken, may_be_replaced
from .gradients import CUSTOM_CALLS, Flow, Link, is_inexact
from .places import is_jax

if TYPE_CHECKING:
    from .facts import Facts
    from .program import Step, Value


def is_whole(facts: Facts, flow: Flow) -> bool:
    """Whether no input loses any of its gradient, and each has one."""
    followed = [it for it in flow.links if it.blocker != "stop_gradient" and is_taken(facts, it)]
    uses = _uses(flow, followed)
    needed = _needed(flow, followed)
    trained = _needed(flow, [it for it in followed if not (it.blocker or may_be_replaced(it))])
    moving = [it for it in needed if is_inexact(it) and uses[it]]
    return (
        bool(flow.parameters)
        and all(it.value in trained for it in flow.parameters)
        and all(uses[it] & ~flow.gets(it) == 0 and not is_fixed(facts, it) for it in moving)
        and all(
            _is_differentiable(facts, it.step) and not _is_constant(facts, it.step)
            for it in followed
            if it.target in needed and uses[it.source]
        )
    )


def _uses(flow: Flow, followed: list[Link]) -> dict[Value, int]:
    """On which inputs each value depends."""
    uses: dict[Value, int] = defaultdict(int, {it.value: it.bit for it in flow.parameters})
    changed = True
    while changed:  # Links come in the order of the program: only loops need another round.
        changed = False
        for link in followed:
            found = uses[link.source] | uses[link.target]
            changed |= found != uses[link.target]
            uses[link.target] = found
    return uses


def _needed(flow: Flow, followed: list[Link]) -> set[Value]:
    """The values that the results are made from."""
    back: dict[Value, list[Value]] = defaultdict(list)
    for link in followed:
        back[link.target].append(link.source)
    found: set[Value] = set()
    pending = list(flow.results)
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            pending += back[value]
    return found


def _is_differentiable(facts: Facts, step: Step) -> bool:
    if step.primitive not in CUSTOM_CALLS:
        return step.kind != "opaque"
    place = step.bodies[0].place
    if place is None:  # A library's: nobody has run its rule, but for JAX's own.
        _, file, _ = source_of(closed(step.params["call_jaxpr"])[0])
        return is_jax(file)
    return all(
        it.verdict == "agrees" for it in facts.custom_rules if it.step.bodies[0].place == place
    )


def _is_constant(facts: Facts, step: Step) -> bool:
    """Whether a step makes the same number of whatever its operand is: `0 * x`, `x - x`."""
    if step.primitive in ("sub", "div"):
        return facts.ranges.identities.equal(*step.inputs)
    bounds = [facts.ranges[it] for it in step.inputs] if step.primitive == "mul" else []
    return any(it.is_single and it.low == 0 for it in bounds)
