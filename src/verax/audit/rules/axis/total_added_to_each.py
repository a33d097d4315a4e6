"""A sum over the whole batch, added to every element of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.arrays import array_in_words, shape_in_words
from ...source.queries.numbers.totals import totals_among_elements
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


_FIX = "sum over the other axes only, with `axis`, or add the total after the others are averaged"


def check(facts: Facts) -> Iterator[Verdict]:
    """Sums whose one part kept an axis, and whose other part had lost it by a sum over all."""
    from ...trace.describe import axis_phrase, tensor_of
    from ...trace.reductions import totals_among_elements

    for found in totals_among_elements(facts):
        summed, kept = found.total.step.inputs[0], found.element.step.outputs[0]
        index = facts.axes[kept].index(found.axis)
        axis, n = axis_phrase(facts, kept, [index]), kept.shape[index]
        sibling = tensor_of(facts, found.element.step.inputs[0])
        again = "averaged" if found.outer.is_mean else "summed"
        yield RULE.finding(
            facts.place(found.total.step),
            current=f"{tensor_of(facts, summed)} is summed over all of its axes, and the total is "
            f"added to each of {n} elements along {axis}, which are {again} afterwards",
            expected=f"the sum keeps {axis}, as that of {sibling} does, so that one element meets "
            "its like",
            fix=_FIX,
            evidence=(
                Evidence(f"its sibling keeps {axis} here", found.element.step.place),
                Evidence(f"both are {again} over {axis} here", found.outer.step.place),
            ),
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, where shapes tell what is kept and what is lost."""
    for total, element, outer in totals_among_elements(facts):
        if total.place is None or element.place is None or outer.place is None:
            continue
        yield RULE.finding(
            total.place,
            current=f"{array_in_words(facts, Data(total.inputs[0]))} is summed over all of its "
            f"axes, and the total is added to each element of {shape_in_words(element.shape)}, "
            "which are reduced afterwards",
            expected="the sum keeps the axis that its sibling keeps, so that one element meets its "
            "like",
            fix=_FIX,
            evidence=(
                Evidence("its sibling keeps an axis here", element.place),
                Evidence("both are reduced over it here", outer.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX008",
    name="total-added-to-each",
    title="A total over the batch is added to each of its elements",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A loss often is a mean over examples of a sum of terms, each of which is a sum over the features of
one example. `jnp.sum(x)` without an axis sums over the examples too. The total is a scalar, and
broadcasts to every example; the mean over examples leaves it as it is, so that this term weighs as
many times more as there are examples, and its weight changes with the size of the batch.

Reported when a sum over all axes is added to a sum that keeps one of these axes, and the result is
averaged or summed over that axis.""",
    wrong="""\
import jax.numpy as jnp


def entry(x, encoder, decoder):
    mean, log_var = jnp.split(x @ encoder, 2, axis=-1)
    error = jnp.sum((x - jnp.tanh(mean) @ decoder) ** 2, axis=-1)
    divergence = -0.5 * jnp.sum(1.0 + log_var - mean**2 - jnp.exp(log_var))
    return jnp.mean(error + divergence)


def inputs():
    return jnp.ones((8, 5)), jnp.ones((5, 4)), jnp.ones((2, 5))
""",
    right="""\
import jax.numpy as jnp


def entry(x, encoder, decoder):
    mean, log_var = jnp.split(x @ encoder, 2, axis=-1)
    error = jnp.sum((x - jnp.tanh(mean) @ decoder) ** 2, axis=-1)
    divergence = -0.5 * jnp.sum(1.0 + log_var - mean**2 - jnp.exp(log_var), axis=-1)
    return jnp.mean(error + divergence)


def inputs():
    return jnp.ones((8, 5)), jnp.ones((5, 4)), jnp.ones((2, 5))
""",
    trace=check,
    source=check_source,
)
