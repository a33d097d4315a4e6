"""A mean over replicas of means that each took over another number of elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.queries.training.replicas import own_quotient
from ...source.values import Data, leaves
from .._rule import Rule, Verdict
from ._replicas import differing, is_mean, named_maps

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Collective means of quotients whose denominator each replica counts for itself."""
    from ...trace.describe import name_of

    for names, step, collectives in named_maps(facts):
        if not collectives:
            continue
        varying = differing(step, set(collectives))
        for collective in collectives:
            if not is_mean(collective):
                continue
            for value in collective.inputs:
                quotient = _quotient(value)
                if quotient is None or not _is_own_count(quotient.inputs[1], varying):
                    continue
                count = name_of(facts, quotient.inputs[1])
                yield RULE.finding(
                    facts.place(collective),
                    current=f"each replica along {names[0]} divides by its own count ({count}), "
                    "and the means are averaged as if all had counted the same",
                    expected="every element has the same weight, however many a replica holds",
                    fix="sum totals and counts over the replicas with `jax.lax.psum`, and divide "
                    "after that",
                    evidence=(Evidence("the quotient is taken here", quotient.place),),
                )


def _quotient(value: Value) -> Step | None:
    """The division that a value comes from, past a sign, a scale or a cast."""
    for _ in range(6):
        step = value.producer
        if step is None:
            return None
        if step.primitive == "div":
            return step
        if step.primitive == "mul" and any(it.is_constant for it in step.inputs):
            value = next((it for it in step.inputs if not it.is_constant), value)
        elif step.primitive in ("neg", "convert_element_type", "copy", "squeeze", "reshape"):
            value = step.inputs[0]
        else:
            return None
    return None


def _is_own_count(value: Value, varying: set[Value]) -> bool:
    """Whether a denominator is a sum over data, kept away from zero perhaps."""
    for _ in range(6):
        step = value.producer
        if step is None or value not in varying:
            return False
        if step.primitive == "reduce_sum":
            return True
        if step.primitive not in ("max", "add", "convert_element_type", "copy"):
            return False
        value = next((it for it in step.inputs if not it.is_constant), value)
    return False


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, where the quotient and its count can be read."""
    for fact in facts.events(Fact):
        if fact.kind != "collective" or fact.data["name"] != "pmean":
            continue
        for leaf in leaves(fact.data["value"]) if fact.data["over"] else ():
            quotient = own_quotient(leaf.node, fact.data["over"])
            if quotient is None or quotient.place is None:
                continue
            count = facts.name_of(Data(quotient.inputs[1]))
            yield RULE.finding(
                fact.place,
                current=f"each replica along {fact.data['axes'][0]} divides by its own count "
                f"(`{count}`), and the means are averaged as if all had counted the same",
                expected="every element has the same weight, however many a replica holds",
                fix="sum totals and counts over the replicas with `jax.lax.psum`, and divide "
                "after that",
                evidence=(Evidence("the quotient is taken here", quotient.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="VM006",
    name="mean-of-means",
    title="Means over different numbers of elements are averaged",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A masked mean divides by the number of valid elements, which differs from one device to the next.
`pmean` of such means gives a device with few valid elements the same weight as one with many, so
the result depends on how the batch was divided.

Reported for `pmean` of a quotient whose denominator is a sum over each replica's own data.""",
    wrong="""\
import jax
import jax.numpy as jnp


def loss(x, mask):
    own = jnp.sum(x * mask) / jnp.maximum(jnp.sum(mask), 1.0)
    return jax.lax.pmean(own, "devices")


def entry(x, mask):
    return jax.vmap(loss, axis_name="devices")(x, mask)


def inputs():
    return jnp.ones((2, 4)), jnp.ones((2, 4))
""",
    right="""\
import jax
import jax.numpy as jnp


def loss(x, mask):
    total, count = jnp.sum(x * mask), jnp.sum(mask)
    every = jax.lax.psum(total, "devices") / jnp.maximum(jax.lax.psum(count, "devices"), 1.0)
    return every, jax.lax.pmean(jnp.mean(x), "devices")


def entry(x, mask):
    return jax.vmap(loss, axis_name="devices")(x, mask)


def inputs():
    return jnp.ones((2, 4)), jnp.ones((2, 4))
""",
    trace=check,
    source=check_source,
)
