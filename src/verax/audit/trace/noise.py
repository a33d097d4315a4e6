"""Noise without bounds that a loop adds to its carry, and what gets the carry as it then is.

A normal draw has no bounds, so that a carry to which one is added in each turn leaves every region
sooner or later: the variance of an Euler step, say, gets below zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .facts import Facts
from .hazards import Hazard, gets_away, hazards
from .program import Loop, Step, Value
from .ranges.identity import REARRANGE
from .recurrence import Feedback, feedback

# Functions of `jax.random`, as they are called inside, whose draws have no bounds on either side.
_UNBOUNDED = frozenset("_normal _multivariate_normal _laplace _t _cauchy _logistic".split())

# What they give has no bounds if one of their operands has none.
_SUMS = frozenset(
    """add sub neg add_any reduce_sum cumsum dot_general div mul convert_element_type slice
    dynamic_slice gather concatenate pad stop_gradient copy pvary name""".split()
)
# Of these, both operands may hold the same noise: then it is a square.
_PRODUCTS = frozenset(("mul", "dot_general"))
_THROUGH = _SUMS | REARRANGE

# A number as far out as noise may bring it.
_FAR = 1e9


@dataclass(frozen=True, eq=False)
class Exposed:
    """An operation that is undefined for what noise makes of its operand, and where that is added.

    `added` is the last step of the loop that made the noisy carry.
    """

    hazard: Hazard
    added: Step | None


def exposed_to_noise(facts: Facts) -> Iterator[Exposed]:
    """Operations on a carry to which a loop adds noise in each turn, with nothing to bound it."""
    carries = _Noise(facts).reached
    for hazard in hazards(facts):
        is_open = hazard.domain.is_bad(-_FAR) or hazard.domain.is_bad(_FAR)
        if hazard.operand not in carries or hazard.is_ruled_out or not is_open:
            continue
        if gets_away(facts, hazard.step, hazard.operand, None):
            yield Exposed(hazard, carries[hazard.operand])


class _Noise:
    """Follows noise through sums and into the carries of loops.

    `reached` are values that hold noise which a loop has added up, with the step that added it.
    """

    def __init__(self, facts: Facts):
        self._facts = facts
        self.reached: dict[Value, Step | None] = {}
        drawn = [
            value
            for step in facts.steps
            if step.kind == "call" and step.bodies[0].function in _UNBOUNDED
            for value in step.outputs
        ]
        loops = self._added_in_turns(drawn)
        for carry, added in loops.items():
            for value in self._summed([carry], {}):
                self.reached.setdefault(value, added)

    def _added_in_turns(self, drawn: list[Value]) -> dict[Value, Step | None]:
        """Carries of loops to which noise is added, each with the step that does it."""
        scales: dict[Value, set[Value]] = {}
        self._summed(drawn, scales)
        return {
            carry: carried.producer
            for step in self._facts.steps
            if isinstance(step.detail, Loop)
            for index, (carry, carried) in enumerate(
                zip(step.detail.carry, step.detail.carried, strict=True)
            )
            # Noise in proportion to what it is added to hardly gets that to the other side of zero.
            if carry not in scales.get(carried, {carry})
            and feedback(self._facts.variation, step, index)
            in (Feedback.ACCUMULATED, Feedback.RECURRENT)
        }

    def _summed(self, values: list[Value], scales: dict[Value, set[Value]]) -> set[Value]:
        """What is a sum with one of these values; `scales` gets what they are multiplied by."""
        seen = set[Value]()
        pending = [(value, frozenset[Value]()) for value in values]
        while pending:
            value, scale = pending.pop()
            if value in seen and scale <= scales.get(value, set()):
                continue
            seen.add(value)
            scales.setdefault(value, set()).update(scale)
            for target, by in self._facts.variation.made_from(value):
                if self._passes(by, value):
                    pending.append((target, scale | _factors(by, value)))
        return seen

    def _passes(self, by: Step, value: Value) -> bool:
        """Whether what a step makes of a value without bounds has none either."""
        if by.kind != "operation":
            return by.kind in ("scan", "while", "map", "shard", "derive")
        if by.primitive in _PRODUCTS:
            others = [it for it in by.inputs if it is not value]
            share = self._facts.ranges.identities.share_data
            return len(others) == 1 and not share(value, others[0])
        if by.primitive in ("div", "gather", "dynamic_slice"):
            return value is by.inputs[0]
        return by.primitive in _THROUGH


def _factors(by: Step, value: Value) -> frozenset[Value]:
    """What a step multiplies a value by, taken apart into factors."""
    if by.primitive != "mul":
        return frozenset()
    found = set[Value]()
    pending = [it for it in by.inputs if it is not value]
    while pending:
        factor = pending.pop()
        step = factor.producer
        is_product = step is not None and step.kind == "operation" and step.primitive == "mul"
        if step is not None and (is_product or step.primitive in REARRANGE):
            pending += step.inputs
        else:
            found.add(factor)
    return frozenset(found)
