"""A choice that is drawn from scores, beside those from which what is not allowed was taken out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.nodes import users_of
from ...source.queries.numbers.logarithms import masks
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node

_DRAWS = {"jax.random.categorical": 1, "distrax.Categorical": 0}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Draws from scores of which the same function has a masked version."""
    for call in facts.calls(_DRAWS):
        at = _DRAWS[call.name]
        given = call.args[at] if len(call.args) > at else call.keywords.get("logits")
        if not isinstance(given, Data):
            continue
        for masked in users_of(facts).get(given.node, ()):
            if masked.frame is call.frame and _line(masked) < call.place.line and masks(masked):
                yield RULE.finding(
                    call.place,
                    current=f"a choice is drawn from `{facts.name_of(given)}` as they are, while "
                    f"line {_line(masked)} takes out of them what is not allowed",
                    expected="what is masked is never drawn",
                    fix="draw from the masked scores",
                    evidence=(Evidence("they are masked here", masked.place),),
                    engine=Engine.SOURCE,
                )
                break


def _line(node: Node) -> int:
    return node.place.line if node.place is not None else 0


RULE = Rule(
    code="DF128",
    name="drawn-unmasked",
    title="A choice is drawn without its mask",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
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
