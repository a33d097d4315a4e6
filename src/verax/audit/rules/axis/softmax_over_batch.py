"""Probabilities that add up to one over independent examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.axes import names_of
from ...source.edits import with_argument
from ...source.queries.arrays import argument, array_in_words, axis_argument, calls_of
from ...source.queries.numbers.normalisers import is_taken_from_its_own
from ...source.queries.written import decided_at
from ...source.values import Data
from ...words import is_batch, may_compete
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Softmaxes along an axis of independent elements, where another axis has a name too."""
    from ...trace.describe import tensor_of

    for _, meaning in facts.meaning.all("probabilities", "log-probabilities"):
        names = facts.axes.names(meaning.of)
        over = [names[axis] for axis in meaning.axes]
        # All pairs of a batch (contrastive losses) have the axis twice, and mean it.
        others = [name for axis, name in enumerate(names) if axis not in meaning.axes and name]
        is_plain = len(over) == 1 and is_batch(over[0]) and not may_compete(over[0])
        if is_plain and others and over[0] not in others:
            yield RULE.finding(
                facts.place(meaning.step),
                current=f"the softmax of {tensor_of(facts, meaning.of)} adds up to one along "
                f"{over[0]}: the elements of a batch compete with each other",
                expected=f"it adds up to one along {others[-1]}, for each element of {over[0]}",
                fix=f"use `axis={names.index(others[-1])}`",
            )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by the names that axes have where a softmax is called."""
    for call in calls_of(facts, "softmax", "log_softmax", "logsumexp"):
        axes, array = axis_argument(call, 1, -1), call.args[0] if call.args else None
        if axes is None or len(axes) != 1 or not isinstance(array, Data):
            continue
        names = names_of(array.node.shape)
        over = names[axes[0]]
        others = [name for at, name in enumerate(names) if at != axes[0] and name]
        # All pairs of a batch (contrastive losses) have the axis twice, and mean it.
        if is_batch(over) and not may_compete(over) and others and over not in others:
            if call.name.endswith("logsumexp") and not is_taken_from_its_own(facts, call):
                continue
            yield RULE.finding(
                decided_at(call, argument(call, 1, "axis")),
                current=f"the softmax of {array_in_words(facts, array)} adds up to one along "
                f"{over}: the elements of a batch compete with each other",
                expected=f"it adds up to one along {others[-1]}, for each element of {over}",
                fix=f"use `axis={names.index(others[-1])}`",
                engine=Engine.SOURCE,
                edit=with_argument(call.frame, call.syntax, "axis", str(names.index(others[-1]))),
            )


RULE = Rule(
    code="AX007",
    name="softmax-over-batch",
    title="A softmax goes over the batch",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A softmax along an axis of independent elements makes the probabilities of one class add up to one
over the batch, instead of those of one example over the classes. Losses still fall, since the
network can adapt to it, until the batch size changes.

Reported when the axis is declared as one of independent elements and another axis has a name. What
is weighed against each other, as particles and samples are, may have its weights add up to one.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"w": "feat class", "x": "batch feat"}


def entry(w, x):
    return jax.nn.softmax(x @ w, axis=0)


def inputs():
    return jnp.ones((3, 5)), jnp.ones((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"w": "feat class", "x": "batch feat"}


def entry(w, x):
    return jax.nn.softmax(x @ w, axis=-1)


def inputs():
    return jnp.ones((3, 5)), jnp.ones((4, 3))
""",
    trace=check,
    source=check_source,
)
