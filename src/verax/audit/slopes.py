"""Whether a derivative that the user wrote is the one of the function, by both at some points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# How close two derivatives are that are the same but for rounding.
_CLOSE = 2e-3


@dataclass(frozen=True, eq=False)
class Sample:
    """A derivative at one point: true, by the rule, by the rule for -2 times the cotangent."""

    true: np.ndarray
    ruled: np.ndarray
    twice: np.ndarray
    identity: bool


def judge(samples: Sequence[Sample], tolerance: float) -> str | float:
    """Whether a derivative "agrees", is "wrong", or by which constant ratio; else "unknown"."""
    if not samples:
        return "unknown"
    true = np.concatenate([it.true.ravel() for it in samples])
    ruled = np.concatenate([it.ruled.ravel() for it in samples])
    twice = np.concatenate([it.twice.ravel() for it in samples])
    usable = np.isfinite(true) & np.isfinite(ruled) & np.isfinite(twice)
    is_whole = bool(usable[np.isfinite(true)].all())
    true, ruled, twice = true[usable], ruled[usable], twice[usable]
    scale = np.abs(true).max(initial=0.0)
    slack = tolerance * np.abs(true) + 1e-3 * scale
    bad = np.abs(ruled - true) > slack
    moving = np.abs(true) > 1e-3 * scale
    if not bad.any() and true.size:
        close = np.abs(ruled - true) <= _CLOSE * (np.abs(true) + 0.1 * scale)
        is_proved = is_whole and close.all() and not _is_nonlinear(ruled, twice)
        return "agrees" if is_proved else "unknown"
    ratios = ruled[moving] / true[moving]
    constant = bool(moving.any()) and np.ptp(ratios) < 0.02 * np.abs(ratios).max()
    deliberate = (
        all(it.identity for it in samples)
        or not moving.any()
        or not ruled.any()
        or not (bad & moving).any()
        or _is_nonlinear(ruled, twice)
        or (not constant and _only_bounds(true, ruled, bad))
        or _smooths_a_hard_function(true, ruled)
    )
    if deliberate:
        return "unknown"
    return float(np.median(ratios)) if constant else "wrong"


def _is_nonlinear(ruled: np.ndarray, twice: np.ndarray) -> bool:
    """Whether the rule clips or masks what it is given: that is what it is for."""
    scale = np.abs(ruled).max(initial=0.0)
    return bool((np.abs(twice + 2 * ruled) > 0.01 * np.abs(ruled) + 1e-3 * scale).any())


def _only_bounds(true: np.ndarray, ruled: np.ndarray, bad: np.ndarray) -> bool:
    """Whether the rule is the derivative, but for a bound on its size."""
    if bad.all():
        return False
    smaller = (np.abs(ruled) < np.abs(true)) & (ruled * true >= 0)
    return bool(smaller[bad].all() and np.abs(true[bad]).min() >= np.abs(true[~bad]).max())


def _smooths_a_hard_function(true: np.ndarray, ruled: np.ndarray) -> bool:
    """Whether the true derivative is zero on whole pieces, where the rule gives a slope."""
    flat = true == 0
    return bool(flat.mean() > 0.1 and (np.abs(ruled[flat]) > 0).mean() > 0.5)
