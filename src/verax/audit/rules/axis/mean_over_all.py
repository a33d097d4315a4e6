"""A mean over everything, and a deviation along some axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.queries.arrays import array_in_words
from ...source.queries.nodes import all_nodes
from ...source.queries.numbers.standardised import centred_by_all
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Standardised values whose mean goes over all axes, and whose deviation keeps one."""
    from ...trace.describe import axis_phrase, tensor_of
    from ...trace.meaning import deviation_axes

    for _, it in facts.meaning.all("standardised"):
        scaled, rank = deviation_axes(it), len(it.of.shape)
        if scaled is None or len(it.axes) < rank or len(scaled) == rank:
            continue
        # An axis of size one makes no difference.
        kept = [axis for axis in range(rank) if axis not in scaled and it.of.shape[axis] > 1]
        if not kept or not facts.is_users(it.step):
            continue
        axis = axis_phrase(facts, it.of, kept)
        mean = it.by[0]
        yield RULE.finding(
            facts.place(it.step),
            current=f"{tensor_of(facts, it.of)} is centred by one mean over all axes, and divided "
            f"by a deviation for each element of {axis}, where means stay different from zero",
            expected="mean and deviation are taken over the same axes",
            fix=f"give the mean the same axes as the deviation: `axis={_written(scaled)}`",
            evidence=(
                (Evidence("the mean is taken here", mean.producer.place),)
                if mean is not None and mean.producer is not None
                else ()
            ),
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, where both are computed from one value of at least two axes."""
    for node, of, mean in centred_by_all(all_nodes(facts)):
        if node.place is None:
            continue
        yield RULE.finding(
            node.place,
            current=f"{array_in_words(facts, Data(of))} is centred by one mean over all axes, and "
            "divided by a deviation along some of them, so that other means stay different from 0",
            expected="mean and deviation are taken over the same axes",
            fix="give the mean the same axes as the deviation",
            evidence=(Evidence("the mean is taken here", mean.place),) if mean.place else (),
            engine=Engine.SOURCE,
        )


def _written(axes: tuple[int, ...]) -> str:
    return str(axes[0]) if len(axes) == 1 else str(axes)


RULE = Rule(
    code="AX009",
    name="mean-over-all",
    title="Mean and deviation are taken over different axes",
    family="axis",
    severity=Severity.CRITICAL,
    explanation="""\
`x.mean()` without an axis is one number for all features; `x.std(axis=0)` is one for each. A value
that is centred by the one and divided by the other keeps the mean of every feature, in units of its
deviation: large features stay far from zero, which the division was to prevent.

Reported when the mean goes over all axes of an array and the deviation over fewer. The other way
round, one scale for features with means of their own, keeps proportions and is taken as meant.""",
    wrong="""\
import jax.numpy as jnp


def entry(obs):
    return (obs - jnp.mean(obs)) / (jnp.std(obs, axis=0) + 1e-6)


def inputs():
    return (jnp.ones((8, 3)),)
""",
    right="""\
import jax.numpy as jnp


def entry(obs, points):
    scaled = (points - points.mean(axis=0)) / (points.std() + 1e-6)
    return (obs - jnp.mean(obs, axis=0)) / (jnp.std(obs, axis=0) + 1e-6), scaled


def inputs():
    return jnp.ones((8, 3)), jnp.ones((8, 3))
""",
    trace=check,
    source=check_source,
)
