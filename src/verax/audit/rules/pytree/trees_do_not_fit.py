"""Trees that a function walks together and that differ in structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.library.flattening import is_none
from ...source.queries.blame import given_together_at
from ...source.queries.loops.carries import started_at
from ...source.queries.structures.trees import prefix_difference
from ...source.values import Constant, Function
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
        fix="Make the second tree from the first (`jax.tree.map` of `jnp.zeros_like`), and keep "
        "the same keys and classes when you update it.",
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
                fix="Make the second tree from the first (`jax.tree.map` of `jnp.zeros_like`), and "
                "keep the same keys and classes when you update it.",
                evidence=(Evidence("they are walked here", fact.place),),
                engine=Engine.SOURCE,
            )
    yield from _emptied(facts)
    yield from _paired(facts)


def _emptied(facts: SourceFacts) -> Iterator[Finding]:
    """Maps that leave `None` for some leaves, with which another map then computes."""
    failing = {
        it.frame.function: it
        for it in facts.events(Fact)
        if it.kind == "operator" and isinstance(it.data["operand"], Constant)
    }
    maps = [it for it in facts.events(Fact) if it.kind == "tree map"] if failing else []
    made = {id(it.data["result"]): it for it in maps}
    told: set[ast.AST] = set()
    for fact in maps:
        function = fact.data["function"]
        used = failing.get(function.syntax) if isinstance(function, Function) else None
        before = [made.get(id(it)) for it in fact.data["trees"][1:]]
        for source in before if used is not None else ():
            if source is None or source.syntax in told or not _leaves_some(source):
                continue
            told.add(source.syntax)
            yield RULE.finding(
                source.place,
                current=f"`{source.text}` gives `None` for some leaves, which leaves them out of "
                f"the tree; `{fact.text}` computes with them",
                expected="all trees have the structure of the first",
                fix="Keep a leaf where there was one, such as `jnp.zeros_like` of it, or test for "
                "`None` in the function that is mapped.",
                evidence=(Evidence("they are walked here", fact.place),),
                engine=Engine.SOURCE,
            )


def _leaves_some(fact: Fact) -> bool:
    """Whether a map gives `None` for some leaves, and something for others."""
    empty = sum(map(is_none, fact.data["results"]))
    return 0 < empty < len(fact.data["results"])


def _paired(facts: SourceFacts) -> Iterator[Finding]:
    """Leaves of two trees, one after the other, where one tree has fewer of them."""
    taken = {id(it.data["result"]): it for it in facts.events(Fact) if it.kind == "leaves"}
    for fact in facts.events(Fact) if len(taken) > 1 else ():
        parts = fact.data["parts"] if fact.kind == "zip" else ()
        lists = [it for it in parts if id(it) in taken and it.items is not None]
        if len({len(it.items) for it in lists}) > 1:
            yield RULE.finding(
                fact.place,
                current=f"`{fact.text}` pairs the leaves of trees that have "
                f"{' and '.join(str(len(it.items)) for it in lists)} of them",
                expected="leaves that are paired are those of trees of the same structure",
                fix="Map over both trees together with `jax.tree.map`; a `None` in one of them is "
                "no leaf.",
                evidence=tuple(
                    Evidence("leaves are taken here", taken[id(it)].place) for it in lists
                ),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="PT203",
    name="trees-do-not-fit",
    title="Trees of different structure",
    family="pytree",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
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
