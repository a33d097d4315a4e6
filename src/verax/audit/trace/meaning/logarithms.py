"""Sums and differences of a probability and a logarithm of one."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import Facts
from ..liveness import sources
from ..program import Step, Value
from .copies import PARTS, before_copy
from .kinds import Meaning

_ENTERED = frozenset(("scan", "while"))
_FAR = 200


def mixed(facts: Facts) -> Iterator[tuple[Step, Value, Meaning]]:
    """Steps of the user that add the two, with the probability and what made it one."""
    for step in facts.steps:
        if step.primitive not in ("add", "sub") or not facts.is_users(step):
            continue
        for chance, other in (step.inputs, step.inputs[::-1]):
            made = facts.meaning.behind(chance, "probabilities")
            if made is not None and _is_logarithm(facts, other):
                yield step, chance, made


def _is_logarithm(facts: Facts, value: Value) -> bool:
    """Whether a logarithm of probabilities is a term of a value, or of what a loop starts with."""
    pending, seen = [value], {value}
    while pending and len(seen) < _FAR:
        value = pending.pop()
        found = facts.meaning.get(value)
        if found is not None and found.kind == "log-probabilities":
            return True
        for it in _terms(value):
            if it not in seen:
                seen.add(it)
                pending.append(it)
    return False


def _terms(value: Value) -> list[Value]:
    """What a value is the sum, a copy, a part or an element of."""
    step, before = value.producer, before_copy(value)
    if before is not None:
        return [before]
    if step is None:
        return []
    if step.primitive in PARTS or step.primitive == "gather":
        return step.inputs[:1]
    if step.primitive in ("add", "sub"):
        return step.inputs
    return sources(step, value) if step.kind in _ENTERED else []
