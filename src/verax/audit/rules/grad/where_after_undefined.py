"""A `where` that comes after the operation it is to protect, inside of a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.queries.gradients.filled_poles import filled_poles
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.late_choices import late_choices
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Choices that leave a number out of the result but not out of the derivative."""
    from ...trace.backward import late_choices
    from ...trace.phrases import phrase

    for broken in late_choices(facts):
        name = phrase(facts, broken.operand)
        operation = broken.slope.name
        choice = facts.place(broken.choice) if broken.choice else None
        yield RULE.finding(
            facts.place(broken.step),
            current=f"{operation} is computed for all of {name}, and `where` drops the results "
            "that are not finite; the derivative there is infinite, and infinity times zero is nan",
            expected=f"{operation} never gets the numbers that `where` leaves out",
            fix="choose twice with `jnp.where`: a safe operand before the operation, and the "
            "result after it",
            evidence=(Evidence("the choice is made here, too late for the gradient", choice),),
        )


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Choices by a comparison with zero of what an operation in them is singular in."""
    for flow in flows(facts):
        for it in late_choices(flow):
            place = it.operation.place
            if place is None:
                continue
            name = facts.name_of(Data(it.operand))
            yield RULE.finding(
                place,
                current=f"this is computed for every `{name}`, and `where` drops what is not "
                "finite; the derivative there is infinite, and infinity times zero is nan",
                expected=f"the operation never gets the `{name}` that `where` leaves out",
                fix="choose twice with `jnp.where`: a safe operand before the operation, and the "
                "result after it",
                evidence=(
                    Evidence("the choice is made here, too late", it.choice.place),
                    Evidence("differentiated here", flow.event.place),
                ),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )
        for it in filled_poles(flow):
            if it.choice.place is None:
                continue
            yield RULE.finding(
                it.choice.place,
                current="zeros are filled in for what is left out, and something is divided by "
                "them; what else is trained there gets zero times infinity, which is nan",
                expected="a number in their place for which the operation is finite",
                fix="fill in a number for which the operation is finite, such as one",
                evidence=(
                    Evidence("divided here", it.operation.place),
                    Evidence("differentiated here", flow.event.place),
                ),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )


RULE = Rule(
    code="GR301",
    name="where-after-undefined",
    title="A where does not protect the gradient",
    family="grad",
    severity=Severity.CRITICAL,
    explanation="""\
`jnp.where(x > 0, jnp.log(x), 0.0)` is right forwards. Backwards, the branch that was not taken gets
a gradient of zero, which is multiplied by the derivative of `log` at zero: zero times infinity is
nan, and the nan reaches every parameter.

The operand has to be made safe before the operation, by a number for which that is finite: a zero
that is filled in is no help where something is divided by it. Reported inside of differentiated
functions only, for operands that depend on what is differentiated.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(x):
    return jax.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0).sum())(x)


def inputs():
    return (jnp.array([0.0, 1.0, 4.0]),)
""",
    right="""\
import jax
import jax.numpy as jnp


def root(x):
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(safe), 0.0).sum()


def entry(x):
    return jax.grad(root)(x)


def inputs():
    return (jnp.array([0.0, 1.0, 4.0]),)
""",
    trace=check,
    source=check_source,
)
