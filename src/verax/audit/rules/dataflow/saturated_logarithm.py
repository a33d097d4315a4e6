"""Logarithms of what is zero only by rounding: `log(1 - tanh(x)**2)`, `log(sigmoid(x))`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Severity
from ...source.queries.numbers.logarithms import of_saturated
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step, Value

# Beyond this, float32 rounds tanh and sigmoid to one.
_SATURATES = 17


def check(facts: Facts) -> Iterator[Verdict]:
    """Logarithms of functions that reach zero where they saturate."""
    from ...trace.hazards import hazards
    from ...trace.phrases import phrase

    for hazard in hazards(facts):
        if hazard.domain.name != "log" or hazard.point is not None or hazard.interval.low != 0:
            continue
        saturating = _below_one(facts, hazard.operand) or _sigmoid(facts, hazard.operand)
        if saturating is None:
            continue
        function = "sigmoid" if saturating.primitive == "logistic" else saturating.primitive
        yield RULE.finding(
            facts.place(hazard.step),
            current=f"log of {phrase(facts, hazard.operand)}, which {function} rounds to 0 for "
            f"arguments beyond {_SATURATES} or so: the result is -inf",
            expected="a logarithm that stays finite for all arguments",
            fix=_FIXES[function],
        )


def _below_one(facts: Facts, value: Value) -> Step | None:
    """The function that saturates in `1 - f(x)` or `1 - f(x)**2`."""
    from ...trace.ranges.identity import unarranged

    step = unarranged(value).producer
    if step is None:
        return None
    if step.primitive == "one_minus_square":
        return _saturating(facts, step.inputs[0])
    if step.primitive != "sub" or not facts.ranges[step.inputs[0]].is_single:
        return None
    if facts.ranges[step.inputs[0]].low != 1 or facts.ranges[step.inputs[1]].high != 1:
        return None
    inner = unarranged(step.inputs[1])
    square = inner.producer
    if square is not None and square.primitive in ("square", "integer_pow", "mul"):
        return _saturating(facts, square.inputs[0])
    return _saturating(facts, inner)


def _sigmoid(facts: Facts, value: Value) -> Step | None:
    step = _saturating(facts, value)
    return step if step is not None and step.primitive == "logistic" else None


def _saturating(facts: Facts, value: Value) -> Step | None:
    """The step that made a value, if it saturates and its argument can be large."""
    from ...trace.ranges.identity import unarranged

    step = unarranged(value).producer
    if step is None or step.primitive not in ("tanh", "logistic", "erf"):
        return None
    argument = facts.ranges[step.inputs[0]]
    return step if max(abs(argument.low), abs(argument.high)) > _SATURATES else None


_FIXES = {
    "sigmoid": "use `jax.nn.log_sigmoid` of the logits, and of their negative for the logarithm "
    "of one minus it",
    "tanh": "compute the logarithm from the input of the tanh with `jax.nn.softplus`, or add a "
    "small number before the logarithm",
    "erf": "use `jax.scipy.stats.norm.logcdf`, or add a small number before the logarithm",
}


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """The same, by reading."""
    for it in of_saturated(facts):
        place = it.node.place
        if place is not None:
            yield RULE.finding(
                place,
                current=f"log of `{facts.name_of(Data(it.operand))}`, which {it.why} rounds to 0 "
                f"for arguments beyond {_SATURATES} or so: the result is -inf",
                expected="a logarithm that stays finite for all arguments",
                fix=_FIXES["tanh" if it.why == "tanh" else "sigmoid"],
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF206",
    name="saturated-logarithm",
    title="A logarithm of a saturated function",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    warns=True,
    explanation="""\
`sigmoid(20.0)` is one in float32, so that `log(1 - sigmoid(x))` is -inf there, and its gradient
nan. The same goes for `log(1 - tanh(x)**2)`, the correction for squashed actions. Written as one
function of `x`, both are finite everywhere.

A warning, since it shows only for large arguments.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(logits, labels):
    p = jax.nn.sigmoid(logits)
    return -jnp.mean(labels * jnp.log(p) + (1 - labels) * jnp.log(1 - p))


def inputs():
    return jnp.array([0.3, -2.0]), jnp.array([1.0, 0.0])
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(logits, labels):
    yes, no = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
    return -jnp.mean(labels * yes + (1 - labels) * no)


def inputs():
    return jnp.array([0.3, -2.0]), jnp.array([1.0, 0.0])
""",
    trace=check,
    source=check_source,
)
