"""Two terms that compare the same values and stop the gradient of the same one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.stopped_terms import one_sided
from ...source.queries.nodes import nodes_apart
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report the first of two such terms."""
    from ...trace.blame import places_apart
    from ...trace.stopped_terms import one_sided

    for flow in facts.gradients.flows:
        for pair in one_sided(flow):
            # A softmax subtracts its largest logit, stopped, wherever it is taken.
            if not facts.is_in_users_function(pair.first):
                continue
            got = 0
            for result in flow.results:
                got |= flow.gets(result)
            used = flow.uses(pair.stopped)
            untrained = [it.name for it in flow.parameters if it.bit & used & ~got]
            left = f", so that `{untrained[0]}` gets no gradient at all" if untrained else ""
            first, second = sorted(places_apart(facts, pair.first, pair.second))
            yield RULE.finding(
                first,
                current=f"this term and the one at {second.line_from(first)} compare the same two "
                f"values, and both stop the gradient of the same side{left}",
                expected="one term trains each side: stop_gradient on the other one in each",
                fix="in one of the two terms, apply `jax.lax.stop_gradient` to the other side",
                evidence=(Evidence("the other term", second),),
            )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    for flow in flows(facts):
        lost = {it.bit: it for it in flow.without_gradient()}
        for pair in one_sided(flow):
            first, second = sorted(nodes_apart(facts, pair.first, pair.second))
            if first == second:
                continue
            used = flow.uses(pair.stopped)
            untrained = [flow.name(it.node) for bit, it in lost.items() if bit & used]
            left = f", so that `{untrained[0]}` gets no gradient at all" if untrained else ""
            yield RULE.finding(
                first,
                current=f"this term and the one at {second.line_from(first)} compare the same two "
                f"values, and both stop the gradient of the same side{left}",
                expected="one term trains each side: stop_gradient on the other one in each",
                fix="in one of the two terms, apply `jax.lax.stop_gradient` to the other side",
                evidence=(Evidence("the other term", second),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="GR012",
    name="stopped-on-the-same-side",
    title="Two terms stop the gradient of the same side of a comparison",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A loss that pulls two values together with different strengths has two terms, each of which stops
the gradient of one side: the codebook and the commitment term of vector quantisation, for example.
Where both stop the same side, the two terms are one, and the other side is never trained.
""",
    wrong="""\
import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

def loss(params, x):
    z, code = x @ params["encoder"], params["code"]
    pull_code = jnp.mean((z - stop_gradient(code)) ** 2)
    pull_encoder = jnp.mean((z - stop_gradient(code)) ** 2)
    return pull_code + 0.25 * pull_encoder

def entry(params, x):
    return jax.grad(loss)(params, x)

def inputs():
    return {"encoder": jnp.ones((3, 2)), "code": jnp.ones(2)}, jnp.ones((5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

def loss(params, x):
    z, code = x @ params["encoder"], params["code"]
    pull_code = jnp.mean((stop_gradient(z) - code) ** 2)
    pull_encoder = jnp.mean((z - stop_gradient(code)) ** 2)
    return pull_code + 0.25 * pull_encoder

def entry(params, x):
    return jax.grad(loss)(params, x)

def inputs():
    return {"encoder": jnp.ones((3, 2)), "code": jnp.ones(2)}, jnp.ones((5, 3))
""",
    trace=check,
    source=check_source,
)
