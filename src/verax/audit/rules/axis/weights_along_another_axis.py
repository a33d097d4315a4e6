"""Attention weights that add up to one along another axis than the one that is summed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Edit, Engine, Evidence, Finding, Severity
from ...source.edits import with_argument
from ...source.queries.numbers.distributions import misused
from ...source.queries.numbers.weighted_sums import summed_otherwise
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Sums of values with the weights of a softmax along another axis."""
    for it in summed_otherwise(facts):
        made, used = it.weights.place, it.sum.place
        if made is None or used is None:
            continue
        if it.over is None:
            yield RULE.finding(
                used,
                current=f"axis {it.axis} of the weights, along which they add up to one, is summed "
                "over without any other array: nothing is left of the weights",
                expected="the axis along which a softmax goes is one of the values, too",
                fix="give the axis of the values the letter that this axis of the weights has",
                evidence=(Evidence("the weights are made here", made),),
                engine=Engine.SOURCE,
            )
        else:
            yield RULE.finding(
                made,
                current=f"the weights add up to one along axis {it.axis}, and values are summed "
                f"with them along axis {it.over}: "
                + (_APART if it.is_apart else "the queries compete for each key"),
                expected=f"weights that add up to one along axis {it.over}",
                fix=f"use `axis={it.over}`",
                evidence=(Evidence("the values are summed here", used),),
                engine=Engine.SOURCE,
                edit=_along(it.weights, it.over),
            )
    yield from _distributions(facts)


def _along(weights: Node, axis: int) -> Edit | None:
    if weights.frame is None or weights.syntax is None:
        return None
    return with_argument(weights.frame, weights.syntax, "axis", str(axis))


_APART = "what is apart everywhere else, as heads are, competes for each pair"


def _distributions(facts: SourceFacts) -> Iterator[Finding]:
    """Chances that are drawn from along another axis than the one along which they add up."""
    for it in misused(facts):
        made, used = it.made.place, it.used.place
        if made is None or used is None:
            continue
        over = "an axis that is mapped over" if it.axis is None else f"axis {it.axis}"
        yield RULE.finding(
            made,
            current=f"the chances add up to one along {over}, and are taken for a distribution "
            f"along axis {it.along}: along that they add up to anything",
            expected="chances that add up to one over what is drawn",
            fix="normalise along the axis that is drawn from",
            evidence=(Evidence("they are used here", used),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX014",
    name="weights-along-another-axis",
    title="Attention weights are summed over another axis than their own",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
What a query takes from the keys is a mean of their values if the weights add up to one over the
keys: over the axis that is summed over. In self-attention queries and keys are equally many, so
that a softmax along the wrong one of both axes works as well, and with a causal mask tells a query
of those after it. An einsum that gives the values the letter of the queries sums the weights alone,
which gives one, and returns the values as they were.

In the same way, chances that are normalised over the examples of a batch are no distribution over
the outcomes of one of them.

Reported where weights of two computed arrays, as many as each other or with some masked out, are
summed along another axis; where nothing but the weights is summed along theirs; and where chances
are drawn from, or their entropy is taken, along another axis.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    weights = jax.nn.softmax(q @ k.T, axis=0)
    return weights @ v


def inputs():
    return jnp.ones((5, 3)), jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    weights = jax.nn.softmax(q @ k.T, axis=-1)
    return weights @ v


def inputs():
    return jnp.ones((5, 3)), jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))
""",
    source=check_source,
)
