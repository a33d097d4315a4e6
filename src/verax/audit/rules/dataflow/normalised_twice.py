"""A value that is normalised with statistics by which it was normalised before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.events import Fact
from ...source.queries.nodes import all_nodes, calls_around, nodes_apart
from ...source.queries.numbers.applied_twice import applied_twice
from ...source.queries.numbers.meaning import Normalised, normalised, normalised_before
from ...source.queries.sameness import Sameness
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Normalisations and scalings of what has the same one behind it."""
    from ...trace.describe import name_of
    from ...trace.meaning import same_statistics

    seen: set[Place] = set()
    found = list(facts.meaning.all("normalised", "scaled"))
    behind = [facts.meaning.behind(again.of, again.kind) for _, again in found]
    twice = [
        before if before is not None and same_statistics(before, again) else None
        for (_, again), before in zip(found, behind, strict=True)
    ]
    once = {
        frame
        for (_, again), before in zip(found, twice, strict=True)
        for frame in (again.step.frames if before is None else ())
    }
    for (_, again), before in zip(found, twice, strict=True):
        if before is None:
            continue
        inner, _ = _where_they_part(again.step.frames, before.step.frames)
        handed, first = _where_they_part(again.step.frames[::-1], before.step.frames[::-1])
        if again.kind == "scaled":
            how = f"divided by {again.bounds[0]:g}"
        else:
            mean, scale = [name_of(facts, it) for it in again.by if it is not None]
            how = f"normalised by `{mean}` and `{scale}`"
        for where in _to_blame(handed, None if inner in once else inner):
            if where not in seen:
                seen.add(where)
                yield RULE.finding(
                    where,
                    current=f"what is {how} here has been {how} before",
                    expected="values are normalised once",
                    fix="Pass the raw values here, or leave out one of the two normalisations.",
                    evidence=(Evidence(f"{how} the first time", first),),
                )


def _to_blame(handed: Place | None, inner: Place | None) -> Iterator[Place]:
    """Who hands it on may be to blame, or who normalises although it never gets raw values."""
    yield from dict.fromkeys(it for it in (handed, inner) if it is not None)


def _where_they_part(
    again: tuple[Place, ...], before: tuple[Place, ...]
) -> tuple[Place | None, Place | None]:
    """The lines that lead to the two: a function that both call is not where they differ."""
    common = 0
    while common < min(len(again), len(before)) and again[common] == before[common]:
        common += 1
    place = again[common] if common < len(again) else again[0] if again else None
    first = before[common] if common < len(before) else before[0] if before else None
    return place, first


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    same = Sameness()
    told: set[Place] = set()
    once: set[ast.AST] = set()
    twice: list[tuple[Normalised, Normalised]] = []
    for node in all_nodes(facts):
        again = normalised(node)
        before = normalised_before(again) if again is not None else None
        if again is not None and before is not None and before.is_by_the_same(again, same):
            twice.append((before, again))
        elif again is not None:
            # A function that nobody calls may get anything.
            once.update(at for frame, at in calls_around(node) if frame.called_at is not None)
    for before, again in twice:
        first, place = nodes_apart(facts, before.node, again.node)
        for where in _to_blame(place, _own(before.node, again.node, once)):
            if first not in (place, where):
                told.add(where)
                yield _twice(where, first, _TWICE[again.is_back])
    for earlier, later in applied_twice(facts):
        events = [
            Fact(it.called_at, it.caller, "called", {})
            for it in (earlier, later)
            if it.caller is not None and it.called_at is not None
        ]
        first, place = facts.places_apart(*events) if len(events) == 2 else (None, None)
        if first is None or place is None or first == place or place in told:
            continue
        for where in _to_blame(place, events[1].place):
            told.add(where)
            yield _twice(where, first, _AGAIN.format(name=later.name.rpartition(".")[2]))


def _own(before: Node, again: Node, once: set[ast.AST]) -> Place | None:
    """Where a value is normalised again by a line of its own, which never gets a raw one."""
    firsts = [at for _, at in calls_around(before)]
    for number, (frame, at) in enumerate(calls_around(again)):
        if at not in firsts[number : number + 1]:
            return None if at in once else frame.place(at)
    return None


def _twice(place: Place, first: Place, current: str) -> Finding:
    return RULE.finding(
        place,
        current=current,
        expected="values are normalised once",
        fix="Pass the raw values here, or leave out one of the two normalisations.",
        evidence=(Evidence("the first time", first),),
        engine=Engine.SOURCE,
    )


_AGAIN = "what `{name}` gets here is what it gave before, for the same parameters"
_TWICE = {
    False: "what is normalised here has been normalised by the same numbers before",
    True: "what is taken back to its own range here has been taken back to it before",
}

RULE = Rule(
    code="DF103",
    name="normalised-twice",
    title="Normalised twice",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A value that was shifted and scaled by given statistics is shifted and scaled by the same
statistics again, often because a function normalises its argument and its caller does so too.
Shapes and dtypes agree; the numbers are wrong. The same goes for the way back, `low + share * (high
- low)`, of an action that is in those limits already, or `z * std + mean`, and for a function that
takes a logarithm or a quotient of each number, and gets what it gave.
""",
    wrong="""\
import jax.numpy as jnp

def whiten(stats, x):
    return (x - stats["mean"]) / jnp.maximum(stats["std"], 1e-3)

def critic(w, stats, obs):
    return whiten(stats, obs) @ w

def entry(w, stats, obs):
    normed = whiten(stats, obs)
    return critic(w, stats, normed)

def inputs():
    return jnp.ones(4), {"mean": jnp.zeros(4), "std": jnp.ones(4)}, jnp.ones((5, 4))
""",
    right="""\
import jax.numpy as jnp

def whiten(stats, x):
    return (x - stats["mean"]) / jnp.maximum(stats["std"], 1e-3)

def critic(w, stats, obs):
    return whiten(stats, obs) @ w

def entry(w, stats, obs):
    return critic(w, stats, obs)

def inputs():
    return jnp.ones(4), {"mean": jnp.zeros(4), "std": jnp.ones(4)}, jnp.ones((5, 4))
""",
    trace=check,
    source=check_source,
)
