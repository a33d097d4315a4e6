"""One network, two inputs, and statistics over different axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Weights that meet one value standardised over all axes, and another over fewer."""
    from ...trace.describe import axis_phrase, name_of, tensor_of
    from ...trace.meaning.siblings import standardised_siblings

    for whole, kept, weights in standardised_siblings(facts):
        over = axis_phrase(facts, kept.of, kept.axes)
        yield RULE.finding(
            facts.place(whole.step),
            current=f"{tensor_of(facts, whole.of)} is standardised over all of its axes, and "
            f"{tensor_of(facts, kept.of)} over {over} only; both go into {name_of(facts, weights)}",
            expected="what goes through the same weights is prepared in the same way",
            fix=f"take mean and deviation over the same axes in both places: {over}",
            evidence=(Evidence(f"the sibling is standardised over {over} here", kept.step.place),),
        )


RULE = Rule(
    code="AX011",
    name="siblings-standardised-differently",
    title="Inputs of one network are standardised over different axes",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A network that sees observations with a mean and a deviation for every feature learns in these
units. If the next observations are standardised over all axes instead (`x.mean()` for
`x.mean(axis=0)`), the same weights read other units: shapes agree, predictions do not.

Reported when two values meet the same weights, one standardised over all of its axes, the other
over fewer, of which the axis that the weights sum over is none.""",
    wrong="""\
import jax.numpy as jnp


def entry(w, obs, next_obs):
    obs = (obs - obs.mean(axis=0)) / (obs.std(axis=0) + 1e-6)
    next_obs = (next_obs - next_obs.mean()) / (next_obs.std() + 1e-6)
    return jnp.tanh(next_obs @ w) - jnp.tanh(obs @ w)


def inputs():
    return jnp.ones((3, 2)), jnp.ones((8, 3)), jnp.ones((8, 3))
""",
    right="""\
import jax.numpy as jnp


def entry(w, other, obs, next_obs, image):
    obs = (obs - obs.mean(axis=0)) / (obs.std(axis=0) + 1e-6)
    next_obs = (next_obs - next_obs.mean(axis=0)) / (next_obs.std(axis=0) + 1e-6)
    image = (image - image.mean()) / (image.std() + 1e-6)  # with weights of its own
    return jnp.tanh(next_obs @ w) - jnp.tanh(obs @ w), image @ other


def inputs():
    return jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones((8, 3)), jnp.ones((8, 3)), jnp.ones((4, 3))
""",
    trace=check,
)
