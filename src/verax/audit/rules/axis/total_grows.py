"""A running value that is renewed by something with other axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.operations import ARITHMETIC, STATISTICS
from ...source.queries.arrays import array_in_words
from ...source.queries.loops.bodies import paired_leaves, shown_shape
from ...source.queries.numbers.mixtures import statistics_over_other_axes
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Values that a loop of Python's adds to, and that have more axes after the first turn."""
    for fact in facts.events(Fact):
        for before, after in fact.data["carried"].values() if fact.kind == "loop" else ():
            for start, end in paired_leaves(before, after):
                total = _grown(start.node, end.node)
                made = None if total is None else _kept_axis(total, start.node) or total
                if total is None or made is None or made.place is None:
                    continue
                name = facts.name_of(Data(start.node))
                yield RULE.finding(
                    made.place,
                    current=f"`{name}` starts as {shown_shape(start.node.shape)}, and what is "
                    f"added to it makes it {shown_shape(total.shape)} in the first turn: from then "
                    "on there is one for each element of the new axis",
                    expected="a running value keeps its shape",
                    fix="reduce what is added over all axes that the running value does not have",
                    evidence=(Evidence("it is added here", total.place),),
                    engine=Engine.SOURCE,
                )

    yield from _statistics(facts)


def _statistics(facts: SourceFacts) -> Iterator[Finding]:
    """Statistics of other axes than those of the average that they are mixed into."""
    for it in statistics_over_other_axes(facts):
        place = it.statistic.place
        if place is None:
            continue
        lost = not it.statistic.shape
        yield RULE.finding(
            place,
            current=f"{array_in_words(facts, Data(it.of))} is reduced to "
            f"{shown_shape(it.statistic.shape)}, which is mixed into "
            f"{array_in_words(facts, Data(it.old))}: "
            + ("all its elements get the same" if lost else "it gets another axis"),
            expected=f"a statistic of {shown_shape(it.old.shape)}, as the average is",
            fix="reduce over all axes that the average does not have, and over no others",
            evidence=(Evidence("they are mixed here", it.mixture.place),),
            engine=Engine.SOURCE,
        )


def _grown(before: Node, after: Node) -> Node | None:
    """The sum of a value and something with more axes, if that is what a turn leaves."""
    ends = after.inputs if after.operation == "join" else (after,)
    for end in ends:
        if end.operation not in ("+", "-") or before not in end.inputs:
            continue
        small, large = before.shape, end.shape
        if isinstance(small, tuple) and isinstance(large, tuple) and 0 < len(small) < len(large):
            return end
    return None


def _kept_axis(total: Node, start: Node) -> Node | None:
    """The reduction that has left the axis which the running value does not have."""
    pending = [it for it in total.inputs if it is not start]
    seen = set(pending)
    while pending:
        node = pending.pop(0)
        is_as_long = isinstance(node.shape, tuple) and len(node.shape) == len(total.shape)
        if is_as_long and node.operation.rpartition(".")[2] in STATISTICS:
            return node
        new = [it for it in node.inputs if it not in seen]
        pending += new if node.operation in ARITHMETIC else []
        seen.update(new)
    return None


RULE = Rule(
    code="AX020",
    name="total-grows",
    title="A running value is renewed by something with other axes",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A mean that is kept up to date over batches has the shape of one thing. If what is added to it still
has an axis of the batch, broadcasting makes it an array of one mean for each element, which fits
the next batch as well: there is no error, and every element is compared with its own history.

Reduced to one number, all features get the mean of all of them.

Reported for a value that a loop of Python's carries, to which each turn adds something with more
axes (a scan would refuse it), and for moving averages into which a mean or deviation over too few
axes is mixed, or over all.""",
    wrong="""\
import jax.numpy as jnp


def update(mean, batch, rate):
    return mean + rate * (batch.mean(axis=0) - mean)


def entry(batch):
    mean = jnp.zeros(3)
    for _ in range(10):
        mean = update(mean, batch, 0.1)
    return mean


def inputs():
    return (jnp.ones((5, 4, 3)),)
""",
    right="""\
import jax.numpy as jnp


def update(mean, batch, rate):
    return mean + rate * (batch.mean(axis=(0, 1)) - mean)


def entry(batch):
    mean = jnp.zeros(3)
    for _ in range(10):
        mean = update(mean, batch, 0.1)
    return mean


def inputs():
    return (jnp.ones((5, 4, 3)),)
""",
    source=check_source,
)
