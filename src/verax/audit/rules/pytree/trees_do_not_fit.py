"""Trees that a function walks together and that differ in structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.queries.blame import given_together_at
from ...source.queries.loops.carries import started_at
from ...source.queries.structures.trees import prefix_difference
from ...source.values import Constant
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "tree structure"."""
    failure = facts.failure
    if failure is None or failure.kind != "tree structure":
        return
    text = failure.statement.text if failure.statement else "a tree function"
    detail = " ".join(failure.text.split())
    yield RULE.finding(
        failure.place,
        current=f"`{text}` walks trees of different structure: {detail[:200]}",
        expected="all trees have the structure of the first",
        fix="Make the second tree from the first (`jax.tree.map(jnp.zeros_like, params)`), and "
        "keep the same keys and classes when you update it.",
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Maps over trees whose structures differ for certain."""
    for fact in facts.events(Fact):
        call = fact.syntax
        if fact.kind != "tree map" or not isinstance(call, ast.Call):
            continue
        if any(it.arg == "is_leaf" for it in call.keywords):
            continue
        # Where a whole tree is `None`, it is not given or not made yet, and the code asks for that.
        if any(isinstance(it, Constant) and it.value is None for it in fact.data["trees"]):
            continue
        first, *others = fact.data["trees"]
        differing = ((other, prefix_difference(first, other)) for other in others)
        other, how = next(((it, how) for it, how in differing if how), (None, ""))
        if other is not None:
            yield RULE.finding(
                started_at(facts, first) or given_together_at(fact, [first, other]),
                current=f"`{fact.text}` walks trees of different structure: {how}",
                expected="all trees have the structure of the first",
                fix="Make the second tree from the first (`jax.tree.map(jnp.zeros_like, params)`), "
                "and keep the same keys and classes when you update it.",
                evidence=(Evidence("they are walked here", fact.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="PT203",
    name="trees-do-not-fit",
    title="Trees of different structure",
    family="pytree",
    severity=Severity.ERROR,
    explanation="""\
`jax.tree.map` with several trees walks them in step, by the structure of the first.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

def inputs():
    return {"w": jnp.ones(3), "b": jnp.ones(1)}, {"w": jnp.ones(3)}
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

def inputs():
    return {"w": jnp.ones(3), "b": jnp.ones(1)}, {"w": jnp.ones(3), "b": jnp.ones(1)}
""",
    trace=check,
    source=check_source,
)
