"""Results that are taken apart in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.lost.swapped_results import swapped_results
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Assignments with the names that a function returns, in another order."""
    for it in swapped_results(facts):
        one, other = it.names
        yield RULE.finding(
            it.place,
            current=f"`{one}` gets what the function calls `{other}`, and the other way round",
            expected="results are taken in the order in which they are returned",
            fix=f"swap `{one}` and `{other}`",
            evidence=(Evidence("they are returned here", it.returned_at),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF119",
    name="results-swapped",
    title="Results are taken apart in another order",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A function returns `mean, value`, and its caller takes `value, mean`. Where both are arrays of one
shape, nothing fails: the program goes on with each in the place of the other.
""",
    wrong="""\
import jax.numpy as jnp

def heads(params, x):
    mean = x @ params["mean"]
    value = x @ params["value"]
    return mean, value

def entry(params, x):
    value, mean = heads(params, x)
    return jnp.tanh(mean), value

def inputs():
    return {"mean": jnp.ones(3), "value": jnp.ones(3)}, jnp.ones((4, 3))
""",
    right="""\
import jax.numpy as jnp

def heads(params, x):
    mean = x @ params["mean"]
    value = x @ params["value"]
    return mean, value

def entry(params, x):
    mean, value = heads(params, x)
    return jnp.tanh(mean), value

def inputs():
    return {"mean": jnp.ones(3), "value": jnp.ones(3)}, jnp.ones((4, 3))
""",
    source=check_source,
)
