"""Meanings in words, for the report."""

from __future__ import annotations

from collections.abc import Callable

from ..describe import axis_phrase, name_of, tensor_of
from ..facts import Facts
from .kinds import Meaning

LASTING = ("probabilities", "log-probabilities", "one-hot", "normalised", "standardised", "scaled")


def _over_axes(prefix: str) -> Callable[[Facts, Meaning], str]:
    def words(facts: Facts, it: Meaning) -> str:
        return f"{prefix} over {axis_phrase(facts, it.of, it.axes)}"

    return words


def _normalised_words(facts: Facts, it: Meaning) -> str:
    mean, scale = it.by
    assert mean is not None
    assert scale is not None
    return f"normalised by {name_of(facts, mean)} and {name_of(facts, scale)}"


def _clipped_words(facts: Facts, it: Meaning) -> str:
    low, high = it.bounds
    if low is None or high is None:
        return "clipped"
    return f"clipped to {low:g}..{high:g}"


def _embedded_words(facts: Facts, it: Meaning) -> str:
    table = it.by[0]
    assert table is not None
    return f"embedded: rows of {name_of(facts, table)}"


def _cast_words(facts: Facts, it: Meaning) -> str:
    before, after = tensor_of(facts, it.of), tensor_of(facts, it.step.outputs[0])
    return f"cast from {before.dtype} to {after.dtype}"


WORDS: dict[str, Callable[[Facts, Meaning], str]] = {
    "probabilities": _over_axes("softmaxed: probabilities"),
    "log-probabilities": _over_axes("log-probabilities"),
    "logsumexp": _over_axes("logsumexp"),
    "renormalised": lambda facts, it: "divided by its own sum",
    "standardised": _over_axes("standardised by its own statistics"),
    "one-hot": lambda facts, it: "one-hot",
    "normalised": _normalised_words,
    "scaled": lambda facts, it: f"scaled by 1/{it.bounds[0]:g}",
    "embedded": _embedded_words,
    "sampled": lambda facts, it: "sampled at random",
    "clipped": _clipped_words,
    "squashed": lambda facts, it: f"squashed into {it.bounds[0]:g}..{it.bounds[1]:g}",
    "cast": _cast_words,
}
