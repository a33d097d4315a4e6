"""Values that are divided by the deviation of other ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.nodes import all_nodes
from ...source.queries.numbers.standardised import scaled_by_another
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Values from which their own mean is taken, and that another's deviation divides."""
    for node, of, measured in scaled_by_another(all_nodes(facts)):
        if node.place is None or node.frame is None or node.frame.module is not facts.module:
            continue
        name, other = facts.name_of(Data(of)), facts.name_of(Data(measured))
        made = (Evidence("this is what the deviation is of", measured.place),)
        yield RULE.finding(
            node.place,
            current=f"`{name}` loses its own mean, and is divided by the deviation of `{other}`",
            expected="the mean and the deviation are of one thing",
            fix=f"divide by the deviation of `{name}`",
            evidence=made if measured.place is not None else (),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF124",
    name="deviation-of-another",
    title="Standardised by the deviation of something else",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`(x - x.mean()) / x.std()` has mean zero and deviation one, whatever `x` is. With the deviation of
another array its size follows from that one: advantages that are divided by the spread of the
returns become tiny as soon as the critic is good.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(returns, values):
    advantage = jax.lax.stop_gradient(returns - values)
    return (advantage - advantage.mean()) / (returns.std() + 1e-8)

def inputs():
    return jnp.arange(4.0), jnp.ones(4)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(returns, values):
    advantage = jax.lax.stop_gradient(returns - values)
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)

def inputs():
    return jnp.arange(4.0), jnp.ones(4)
""",
    source=check_source,
)
