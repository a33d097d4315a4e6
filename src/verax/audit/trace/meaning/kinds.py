"""The kinds of meaning that a value can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..program import Step, Value


@dataclass(frozen=True, eq=False)
class Meaning:
    """What a value means.

    `kind` is one of "probabilities", "log-probabilities", "logsumexp", "renormalised", "one-hot",
    "normalised", "standardised", "scaled", "embedded", "sampled", "clipped", "squashed", "cast".
    `of` is what was given this meaning, `axes` are dimensions of `of`. `by` are the statistics that
    a normalisation uses (mean, then scale, `None` where there is none), or the table of an
    embedding. `bounds` are those of a clip, or the constant of a scaling.
    """

    kind: str
    step: Step
    of: Value
    axes: tuple[int, ...] = ()
    by: tuple[Value | None, ...] = ()
    bounds: tuple[Any, ...] = ()


# What the values before a step are known to mean.
Known = dict[Value, Meaning]
