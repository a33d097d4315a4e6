"""A choice that is drawn from scores, beside those from which what is not allowed was taken out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.exclusion import exclude_each_other
from ...source.queries.nodes import calls_around, users_of
from ...source.queries.numbers.logarithms import masks
from ...source.values import Data, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...source.graph import Node

_DRAWS = {"jax.random.categorical": 1, "distrax.Categorical": 0}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Draws from scores of which there is a masked version at hand."""
    draws = [(call, given) for call in facts.calls(_DRAWS) for given in _scores(call)]
    # Who draws from both means both.
    drawn = {given.node for _, given in draws}
    for call, given in draws:
        for masked in users_of(facts).get(given.node, ()):
            if masked.place is None or masked in drawn or not masks(masked):
                continue
            if _is_beside(call, masked):
                yield RULE.finding(
                    call.place,
                    current=f"a choice is drawn from `{facts.name_of(given)}` as they are, while "
                    f"{masked.place.line_from(call.place)} takes out of them what is not allowed",
                    expected="what is masked is never drawn",
                    fix="draw from the masked scores",
                    evidence=(Evidence("they are masked here", masked.place),),
                    engine=Engine.SOURCE,
                )
                break


def _scores(call: Call) -> Iterator[Data]:
    """What a choice is drawn from."""
    at = _DRAWS[call.name]
    given = call.args[at] if len(call.args) > at else call.keywords.get("logits")
    if isinstance(given, Data):
        yield given


def _is_beside(call: Call, masked: Node) -> bool:
    """Whether one call of a function both draws and masks, in whatever it calls for that.

    What is masked by what was drawn is for the next draw, from what is left.
    """
    around = dict(calls_around(masked))
    for frame, syntax in call.frame.calls_to(call.syntax):
        other = around.get(frame)
        if other is not None:
            is_after = not set(nodes_of(call.result)).isdisjoint(masked.ancestors())
            return not is_after and not exclude_each_other(frame, syntax, other)
    return False


RULE = Rule(
    code="DF128",
    name="drawn-unmasked",
    title="A choice is drawn without its mask",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
Where some choices are not allowed, their scores are replaced by a large negative number, so that
they are never drawn. Who draws from the scores as they were draws them all the same, while the
probabilities that go into a loss say that this cannot happen.
""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(key, scores, legal):
    masked = jnp.where(legal, scores, -1e9)
    choice = jax.random.categorical(key, scores)
    return choice, jax.nn.log_softmax(masked)


def inputs():
    return jax.random.key(0), jnp.zeros(3), jnp.array([True, False, True])
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(key, scores, legal):
    masked = jnp.where(legal, scores, -1e9)
    choice = jax.random.categorical(key, masked)
    return choice, jax.nn.log_softmax(masked), jax.nn.log_softmax(scores)


def inputs():
    return jax.random.key(0), jnp.zeros(3), jnp.array([True, False, True])
""",
    source=check_source,
)
