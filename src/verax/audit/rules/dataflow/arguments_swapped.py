"""Two arguments that stand in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.lost.swapped_arguments import swapped_arguments
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls in which each of two arguments has the name of the other's parameter."""
    for it in swapped_arguments(facts):
        one, other = it.names
        back = f"`{it.instead}` where `{one}` is" if it.instead else "the other way round"
        yield RULE.finding(
            it.place,
            current=f"`{one}` is given where `{other}` is expected, and {back}",
            expected="arguments are in the order of the parameters",
            fix="put the trees into the order of the parameters"
            if it.instead
            else f"swap `{one}` and `{other}`, or pass them by keyword",
            evidence=(Evidence("the parameters are named here", it.taken_at),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF121",
    name="arguments-swapped",
    title="Two arguments are in each other's place",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A function or a record takes `log_prob, value`, and is given `value, log_prob`. Where both are
arrays of one shape, nothing fails: the program goes on with each in the place of the other. The
same goes for trees, in the order in which a function beside `jax.tree.map` takes their leaves.

Silent where a function is called both ways round, where names say that something is turned round,
and where keywords do.
""",
    wrong="""\
import jax.numpy as jnp

def divergence(mean, logvar):
    return 0.5 * jnp.sum(jnp.exp(logvar) + mean**2 - 1.0 - logvar)

def entry(params, x):
    mean = x @ params["mean"]
    logvar = x @ params["logvar"]
    return divergence(logvar, mean)

def inputs():
    return {"mean": jnp.ones(3), "logvar": jnp.ones(3)}, jnp.ones((4, 3))
""",
    right="""\
import jax.numpy as jnp

def divergence(mean, logvar):
    return 0.5 * jnp.sum(jnp.exp(logvar) + mean**2 - 1.0 - logvar)

def entry(params, x):
    mean = x @ params["mean"]
    logvar = x @ params["logvar"]
    return divergence(mean, logvar)

def inputs():
    return {"mean": jnp.ones(3), "logvar": jnp.ones(3)}, jnp.ones((4, 3))
""",
    warns=True,
    source=check_source,
)
