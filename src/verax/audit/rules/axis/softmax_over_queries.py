"""Attention whose weights add up to one over the queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.axes import names_of
from ...source.edits import with_argument
from ...source.queries.arrays import argument, array_in_words, axis_argument, calls_of
from ...source.queries.written import decided_at
from ...source.values import Data
from ...words import are_query_and_key
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Softmaxes along the axis of the queries, beside one of keys."""
    from ...trace.describe import tensor_of

    for _, meaning in facts.meaning.all("probabilities", "log-probabilities"):
        names = tuple(name or "" for name in facts.axes.names(meaning.of))
        key = _key_beside(names, meaning.axes)
        if key is not None:
            yield RULE.finding(
                facts.place(meaning.step),
                current=_CURRENT.format(
                    array=tensor_of(facts, meaning.of), over=names[meaning.axes[0]]
                ),
                expected=_EXPECTED.format(key=names[key], over=names[meaning.axes[0]]),
                fix=_FIX.format(axis=key - len(names)),
            )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by the names that axes have where a softmax is called."""
    for call in calls_of(facts, "softmax", "log_softmax"):
        axes, array = axis_argument(call, 1, -1), call.args[0] if call.args else None
        if axes is None or not isinstance(array, Data):
            continue
        names = names_of(array.node.shape)
        key = _key_beside(names, axes)
        if key is not None:
            yield RULE.finding(
                decided_at(call, argument(call, 1, "axis")),
                current=_CURRENT.format(array=array_in_words(facts, array), over=names[axes[0]]),
                expected=_EXPECTED.format(key=names[key], over=names[axes[0]]),
                fix=_FIX.format(axis=key - len(names)),
                engine=Engine.SOURCE,
                edit=with_argument(call.frame, call.syntax, "axis", str(key - len(names))),
            )


def _key_beside(names: tuple[str, ...], axes: tuple[int, ...]) -> int | None:
    """Where the keys are, if a softmax along these axes goes over their queries."""
    if len(axes) != 1:
        return None
    over = names[axes[0]]
    keys = [at for at, name in enumerate(names) if are_query_and_key(over, name)]
    return keys[0] if len(keys) == 1 else None


_CURRENT = "the softmax of {array} adds up to one along {over}: the queries compete for each key"
_EXPECTED = "it adds up to one along {key}, for each element of {over}"
_FIX = "use `axis={axis}`"

RULE = Rule(
    code="AX013",
    name="softmax-over-queries",
    title="Attention is normalised over the queries",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
The weights with which one query takes from the keys have to add up to one over the keys. A softmax
along the queries makes the queries compete for each key instead, and what a query gets is no mean
of values any more. In self-attention both axes have one size, so that nothing fails; with a causal
mask, a query also learns of those that come after it.

Reported where the axes are declared as one of queries and one of keys. Where queries are meant to
compete, as slots do, name the axes by what they are.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"logits": "head query key", "values": "head key dim"}


def entry(logits, values):
    return jax.nn.softmax(logits, axis=1) @ values


def inputs():
    return jnp.ones((2, 5, 5)), jnp.ones((2, 5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"logits": "head query key", "values": "head key dim"}


def entry(logits, values):
    return jax.nn.softmax(logits, axis=-1) @ values


def inputs():
    return jnp.ones((2, 5, 5)), jnp.ones((2, 5, 3))
""",
    trace=check,
    source=check_source,
)
