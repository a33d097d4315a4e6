"""A collective sum of what is the same on every replica."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Edit, Engine, Evidence, Finding, Severity
from ...source.edits import replaced
from ...source.events import Fact
from ...source.queries.training.replicas import averaged_again, united_before
from ...source.values import Data, leaves
from .._rule import Rule, Verdict
from ._replicas import differing, is_mean, named_maps

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Sums over a named axis of values that do not vary along it."""
    from ...trace.describe import name_of
    from ...trace.liveness import needed_for

    for names, step, collectives in named_maps(facts):
        if not collectives:
            continue
        varying = differing(step, set(collectives))
        for psum in collectives:
            # Taking the mean twice changes nothing.
            if not psum.primitive.startswith("psum") or is_mean(psum):
                continue
            for value in psum.inputs:
                before = [it for it in collectives if it.outputs[0] in needed_for([value])]
                if value in varying or value.is_constant or not before or psum in before:
                    continue
                yield RULE.finding(
                    facts.place(psum),
                    current=f"{name_of(facts, value)} is already the same on every replica along "
                    f"{names[0]}, and is summed over it once more: it grows by their number",
                    expected="a value goes through one collective along an axis",
                    fix="leave out the second sum",
                    evidence=(Evidence(f"{before[0].primitive} here", before[0].place),),
                )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Sums along an axis of what a collective has made the same there; means, divided again."""
    for fact in facts.events(Fact):
        if fact.kind != "collective" or fact.data["name"] != "psum" or not fact.data["over"]:
            continue
        for leaf in leaves(fact.data["value"]):
            before = united_before(leaf.node, fact.data["over"])
            if before is None or before.place is None or not isinstance(leaf, Data):
                continue
            axis = fact.data["axes"][0]
            what = before.operation.rpartition(".")[2]
            yield RULE.finding(
                fact.place,
                current=f"`{facts.name_of(leaf)}` is already the same on every replica along "
                f"{axis}, and is summed over it once more: it grows by their number",
                expected="a value goes through one collective along an axis",
                fix="leave out the second sum",
                evidence=(Evidence(f"{what} here", before.place),),
                engine=Engine.SOURCE,
                edit=_summand(fact),
            )
    for quotient, mean in averaged_again(facts):
        if quotient.place is not None:
            yield RULE.finding(
                quotient.place,
                current="a mean over the replicas is divided by their number once more",
                expected="a value is divided by the number of replicas once",
                fix="leave out the division, or sum with `jax.lax.psum` before it",
                evidence=(Evidence("the mean is taken here", mean.place),),
                engine=Engine.SOURCE,
            )


def _summand(fact: Fact) -> Edit | None:
    """The edit that leaves what is summed, where that is all of the first argument."""
    call = fact.syntax
    if not isinstance(call, ast.Call) or not call.args or not isinstance(fact.data["value"], Data):
        return None
    return replaced(fact.frame, call, "({})", call.args[0])


RULE = Rule(
    code="VM005",
    name="summed-again",
    title="A value is summed over the same axis twice",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`psum` of a value that went through a collective along the same axis already multiplies it by the
number of replicas: gradients that are averaged inside of the loss and summed again outside.

Taking the mean twice changes nothing, and is not reported.""",
    wrong="""\
import jax
import jax.numpy as jnp


def norm(x):
    total = jax.lax.psum(jnp.sum(x**2), "shard")
    return jnp.sqrt(jax.lax.psum(total, "shard") + 1.0)


def entry(x):
    return jax.vmap(norm, axis_name="shard")(x)


def inputs():
    return (jnp.ones((2, 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp


def norm(x):
    total = jax.lax.psum(jnp.sum(x**2), "shard")
    return jnp.sqrt(total + 1.0)


def entry(x):
    return jax.vmap(norm, axis_name="shard")(x)


def inputs():
    return (jnp.ones((2, 3)),)
""",
    trace=check,
    source=check_source,
)
