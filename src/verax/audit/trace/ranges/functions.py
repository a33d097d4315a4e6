"""Functions of one number: where they are defined, and how they turn bounds into bounds.

A function here is monotone on pieces. Its value at the ends of an interval, and at the turning
points inside, bound what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..program import Step
from .interval import Interval, Number, fitted, kind_of, rounded

if TYPE_CHECKING:
    from .analysis import Ranges

_ACCURACY = 32  # units in the last place that compilers may be off


@dataclass(frozen=True)
class Function:
    """A function of one real number.

    `turns` are the places where it changes direction. `low` and `high` bound its results whatever
    it is given. Outside of `domain` it is nan. An `exact` one is not rounded.
    """

    of: Callable[[float], float]
    turns: tuple[float, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    domain: tuple[float, float] = (-math.inf, math.inf)
    exact: bool = False
    integral: bool = False


def _with_limits(
    function: Callable[[float], float], at: dict[float, float]
) -> Callable[[float], float]:
    """A function of `math`, with its limits where `math` raises."""

    def limited(x: float) -> float:
        if x in at:
            return at[x]
        try:
            return function(x)
        except (OverflowError, ValueError):
            return math.inf if x > 0 else math.nan

    return limited


def _special(name: str) -> Callable[[float], float]:
    def function(x: float) -> float:
        import scipy.special

        return float(getattr(scipy.special, name)(x))

    return function


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _cosh(x: float) -> float:
    return math.cosh(x) if abs(x) < 700 else math.inf


def _sinh(x: float) -> float:
    return math.sinh(x) if abs(x) < 700 else math.copysign(math.inf, x)


def _whole(rounding: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: float(rounding(x)) if math.isfinite(x) else x


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


_INF = math.inf
FUNCTIONS: dict[str, Function] = {
    "exp": Function(_exp, low=0),
    "exp2": Function(lambda x: 2.0**x if x < 1023 else _INF, low=0),
    "expm1": Function(lambda x: math.expm1(x) if x < 709 else _INF, low=-1),
    "log": Function(_with_limits(math.log, {0.0: -_INF, _INF: _INF}), domain=(0, _INF)),
    "log2": Function(_with_limits(math.log2, {0.0: -_INF, _INF: _INF}), domain=(0, _INF)),
    "log1p": Function(_with_limits(math.log1p, {-1.0: -_INF, _INF: _INF}), domain=(-1, _INF)),
    "sqrt": Function(math.sqrt, low=0, domain=(0, _INF)),
    "rsqrt": Function(lambda x: _INF if x == 0 else 1 / math.sqrt(x), domain=(0, _INF)),
    "cbrt": Function(_special("cbrt")),
    "tanh": Function(math.tanh, low=-1, high=1),
    "logistic": Function(_logistic, low=0, high=1),
    "sinh": Function(_sinh),
    "cosh": Function(_cosh, turns=(0.0,), low=1),
    "asinh": Function(math.asinh),
    "acosh": Function(_with_limits(math.acosh, {_INF: _INF}), low=0, domain=(1, _INF)),
    "atanh": Function(_with_limits(math.atanh, {1.0: _INF, -1.0: -_INF}), domain=(-1, 1)),
    "asin": Function(math.asin, low=-1.5707964, high=1.5707964, domain=(-1, 1)),
    "acos": Function(math.acos, low=0, high=3.1415930, domain=(-1, 1)),
    "atan": Function(math.atan, low=-1.5707964, high=1.5707964),
    "erf": Function(math.erf, low=-1, high=1),
    "erfc": Function(math.erfc, low=0, high=2),
    "erf_inv": Function(_special("erfinv"), domain=(-1, 1)),
    "abs": Function(abs, turns=(0.0,), low=0, exact=True),
    "neg": Function(lambda x: -x, exact=True),
    "sign": Function(lambda x: float((x > 0) - (x < 0)), low=-1, high=1, exact=True, integral=True),
    "floor": Function(_whole(math.floor), exact=True, integral=True),
    "ceil": Function(_whole(math.ceil), exact=True, integral=True),
    # Halves go either way by a parameter; bounds hold for both.
    "round": Function(_whole(lambda x: math.floor(x + 0.5)), exact=True, integral=True),
    "square": Function(lambda x: x * x, turns=(0.0,), low=0),
    "one_minus_square": Function(lambda x: 1 - x * x, turns=(0.0,), high=1),
    "real": Function(lambda x: x, exact=True),
}
_KEEPS_WHOLE = {"abs", "neg", "square", "one_minus_square", "real"}


def apply(name: str, interval: Interval, dtype: Any, step: Step | None = None) -> Interval:
    """The interval of a function of what lies in an interval."""
    function = FUNCTIONS[name]
    kind = kind_of(dtype)
    if kind.is_integer:
        return _apply_to_integers(name, function, interval, dtype)
    if not kind.is_float:
        from .interval import anything

        return anything(dtype)
    if interval.high < function.domain[0] or interval.low > function.domain[1]:
        return Interval(function.low, function.high, nan=True)  # It is nan whatever it gets.
    inside = interval.within(*function.domain)
    outside = interval.low < function.domain[0] or interval.high > function.domain[1]
    ends = [inside.low, inside.high, *(it for it in function.turns if inside.contains(it))]
    values = [function.of(float(end)) for end in ends]
    low, high = min(values), max(values)
    if name == "round":
        low, high = low - 1, high
    if name == "rsqrt" and inside.low == 0:
        low = -math.inf  # That of minus zero.
    found = fitted(low, high, dtype, nan=interval.nan or outside)
    if not function.exact and name not in ("sqrt", "square"):
        found = _less_accurate(found, kind.eps)
    integral = function.integral or (interval.integral and name in _KEEPS_WHOLE)
    found = replace(
        found,
        low=max(found.low, function.low),
        high=min(found.high, function.high),
        integral=integral,
    )
    return found.with_points(_points(function, interval, dtype))


def _less_accurate(interval: Interval, eps: float) -> Interval:
    """Room for approximations: none at zero and one, where they are exact, and at infinity."""

    def moved(number: Number, direction: int) -> Number:
        if number in (0, 1, -1) or not math.isfinite(number):
            return number
        return number + direction * _ACCURACY * eps * abs(number)

    return replace(interval, low=moved(interval.low, -1), high=moved(interval.high, 1))


def _points(function: Function, interval: Interval, dtype: Any):
    for point in interval.points:
        if not function.domain[0] <= point.value <= function.domain[1]:
            continue
        value = rounded(function.of(float(point.value)), dtype)
        if value == value:
            yield replace(point, value=value)


def _apply_to_integers(name: str, function: Function, interval: Interval, dtype: Any) -> Interval:
    low, high = int(interval.low), int(interval.high)
    at_ends = {
        "abs": lambda x: abs(x),
        "neg": lambda x: -x,
        "square": lambda x: x * x,
        "one_minus_square": lambda x: 1 - x * x,
        "sign": lambda x: (x > 0) - (x < 0),
    }.get(name, lambda x: x)
    ends = [at_ends(low), at_ends(high)]
    if function.turns and low < 0 < high:
        ends.append(at_ends(0))
    found = fitted(min(ends), max(ends), dtype, integral=True)
    return found.with_points(
        replace(point, value=at_ends(int(point.value))) for point in interval.points
    )


def _rule(name: str):
    def rule(ranges: Ranges, step: Step) -> Interval:
        return apply(name, ranges[step.inputs[0]], step.outputs[0].dtype, step)

    return rule


def _sine(ranges: Ranges, step: Step) -> Interval:
    inside = ranges[step.inputs[0]]
    return fitted(-1, 1, step.outputs[0].dtype, nan=inside.nan or not inside.is_bounded)


RULES = {name: _rule(name) for name in FUNCTIONS} | {"sin": _sine, "cos": _sine}
