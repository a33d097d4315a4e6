"""Branches of a conditional that return different types, or a condition that is not one boolean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Fact, Loop
from ...source.queries.loops.bodies import shown_shape
from ...source.queries.loops.branches import odd_branch_at
from ...source.queries.structures.trees import difference, types_differ
from ...source.values import Data
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value

_TYPES = re.compile(
    r"output(?:\[?[^\s]*\]?)? of (?P<a>[\w ]+?) has type (?P<left>\S+\]) but the corresponding "
    r"output of (?P<b>[\w ]+?) has type (?P<right>\S+?\]),"
)


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "branches", "branch condition" and "loop condition"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("branches", "branch condition", "loop condition"):
        return
    text = failure.statement.text if failure.statement else ""
    types = _TYPES.search(failure.text)
    if failure.kind == "branches":
        how = "branches return trees of different structure"
        if types is not None:
            how = f"{types['a']} returns {types['left']} and {types['b']} returns {types['right']}"
        expected = "all branches return the same structure with the same shapes and dtypes"
        fix = (
            "Bring the results to one shape and dtype (`jnp.astype`, `jnp.broadcast_to`, a tuple)."
        )
    else:
        got = failure.details.get("type", failure.details.get("shape", ""))
        how = f"the condition of `{text}` is an array {got}"
        expected = "one boolean decides"
        fix = "Reduce it by `jnp.any` or `jnp.all`; to choose element by element use `jnp.where`."
    yield RULE.finding(
        failure.place, current=how, expected=expected, fix=fix, evidence=failure.calls()
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Results of branches whose structure, shape or kind of number differs for certain."""
    for loop in facts.events(Loop):
        if loop.kind == "while_loop":
            yield from _conditions(loop, loop.options["condition"])

    for fact in facts.events(Fact):
        if fact.kind not in ("cond", "switch"):
            continue
        yield from _conditions(fact, fact.data["predicate"])
        first, *others = fact.data["results"]
        for other in others:
            how = difference(first, other, types_differ)
            if how:
                yield RULE.finding(
                    odd_branch_at(facts, fact) or fact.place,
                    current=f"the branches of `{fact.kind}` return {how}",
                    expected="all branches return the same structure with the same shapes and "
                    "dtypes",
                    fix="Bring the results to one shape and dtype (`jnp.astype`, "
                    "`jnp.broadcast_to`, a tuple).",
                    evidence=(Evidence(f"the {fact.kind}", fact.place),),
                    engine=Engine.SOURCE,
                )
                break


def _conditions(event: Fact | Loop, condition: Value | None) -> Iterator[Finding]:
    """Conditions that are an array of several for certain."""
    shape = condition.node.shape if isinstance(condition, Data) else None
    if not isinstance(condition, Data) or not isinstance(shape, tuple) or not shape:
        return
    kind = event.kind
    what = "index" if kind == "switch" else "condition"
    yield RULE.finding(
        condition.node.place or event.place,
        current=f"the {what} of the {kind} is an array {shown_shape(shape)}",
        expected="one boolean decides" if what == "condition" else "one integer chooses",
        fix="Reduce it by `jnp.any` or `jnp.all`; to choose element by element use `jnp.where`.",
        evidence=(Evidence(f"the {kind}", event.place),),
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT206",
    name="branches-differ",
    title="Branches or condition of the wrong type",
    family="jit",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
`jax.lax.cond`, `switch` and `while_loop` are compiled once, so that every branch has to return
the same types, and the condition has to be a single boolean.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(x, flag):
    return jax.lax.cond(flag, lambda: x, lambda: x.sum())

def inputs():
    return jnp.ones(3), jnp.array(True)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(x, flag):
    return jax.lax.cond(flag, lambda: x, lambda: jnp.full_like(x, x.sum()))

def inputs():
    return jnp.ones(3), jnp.array(True)
""",
    trace=check,
    source=check_source,
)
