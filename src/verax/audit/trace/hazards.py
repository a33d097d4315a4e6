"""Operations that are undefined for some numbers, and whether those numbers can get there.

A hazard is *reached* when something in the program is known to bring such a number about, *ruled
out* when bounds exclude it, and else nothing is said about it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .facts import Facts
from .meaning.copies import uncast
from .program import Step, Value
from .ranges.interval import Interval, Number, Point, kind_of
from .ranges.predicates import conditions

# Values from which a number is computed, if somebody wrote it as one.
_FEW = 16


@dataclass(frozen=True)
class Domain:
    """Where an operation is defined: which operand matters, and what is wrong with a number."""

    name: str
    operand: int
    is_bad: Callable[[Number], bool]
    excludes: Callable[[Interval], bool]
    result: Callable[[Number], str]
    allowed: str


@dataclass(frozen=True, eq=False)
class Hazard:
    """A step that is undefined for some numbers."""

    step: Step
    operand: Value
    domain: Domain
    point: Point | None
    interval: Interval
    numerator: Interval | None = None

    @property
    def is_ruled_out(self) -> bool:
        """Whether bounds exclude all numbers for which the step is undefined."""
        if self.numerator and _may_be_infinite(self.numerator) and _may_be_infinite(self.interval):
            return False  # inf / inf
        return not self.interval.nan and self.domain.excludes(self.interval)

    @property
    def is_understood(self) -> bool:
        """Whether it is known for which numbers the step is undefined."""
        return kind_of(self.operand.dtype).is_float and self.domain is not _UNKNOWN_POWER

    @property
    def is_of_constant(self) -> bool:
        """Whether the operand is one number, which the author sees."""
        return self.operand.is_constant or self.interval.is_single

    @property
    def result(self) -> str:
        """What the step makes of the number that gets there."""
        return self.domain.result(self.point.value) if self.point else "nan"


def _may_be_infinite(interval: Interval) -> bool:
    return not interval.is_bounded


def _log_result(x: Number) -> str:
    return "-inf" if x == 0 else "nan"


_POSITIVE = Domain("log", 0, lambda x: x <= 0, lambda it: it.low > 0, _log_result, "greater than 0")

DOMAINS: dict[str, Domain] = {
    "log": _POSITIVE,
    "log2": _POSITIVE,
    "log1p": Domain(
        "log1p",
        0,
        lambda x: x <= -1,
        lambda it: it.low > -1,
        lambda x: "-inf" if x == -1 else "nan",
        "greater than -1",
    ),
    "sqrt": Domain(
        "sqrt", 0, lambda x: x < 0, lambda it: it.low >= 0, lambda x: "nan", "at least 0"
    ),
    "rsqrt": Domain(
        "rsqrt",
        0,
        lambda x: x <= 0,
        lambda it: it.low > 0,
        lambda x: "inf" if x == 0 else "nan",
        "greater than 0",
    ),
    "div": Domain(
        "division",
        1,
        lambda x: x == 0,
        lambda it: not it.contains(0),
        lambda x: "inf or nan",
        "other than 0",
    ),
    "acos": Domain(
        "arccos",
        0,
        lambda x: abs(x) > 1,
        lambda it: it.low >= -1 and it.high <= 1,
        lambda x: "nan",
        "between -1 and 1",
    ),
    "acosh": Domain(
        "arccosh", 0, lambda x: x < 1, lambda it: it.low >= 1, lambda x: "nan", "at least 1"
    ),
    "atanh": Domain(
        "arctanh",
        0,
        lambda x: abs(x) >= 1,
        lambda it: it.low > -1 and it.high < 1,
        lambda x: "nan" if abs(x) > 1 else "inf" if x > 0 else "-inf",
        "between -1 and 1, without the ends",
    ),
}
DOMAINS["asin"] = Domain(
    "arcsin",
    0,
    DOMAINS["acos"].is_bad,
    DOMAINS["acos"].excludes,
    DOMAINS["acos"].result,
    DOMAINS["acos"].allowed,
)
_NEGATIVE_POWER = Domain(
    "a negative power",
    0,
    lambda x: x == 0,
    lambda it: not it.contains(0),
    lambda x: "inf",
    "other than 0",
)
_BROKEN_POWER = Domain(
    "a broken power", 0, lambda x: x < 0, lambda it: it.low >= 0, lambda x: "nan", "at least 0"
)
_BROKEN_NEGATIVE_POWER = Domain(
    "a negative power",
    0,
    lambda x: x <= 0,
    lambda it: it.low > 0,
    lambda x: "inf" if x == 0 else "nan",
    "greater than 0",
)

# What a power needs whose exponent is not known: nothing is reported of it, and nothing proved.
_UNKNOWN_POWER = replace(_BROKEN_POWER, is_bad=lambda x: False, excludes=lambda it: False)


def domain_of(facts: Facts, step: Step) -> Domain | None:
    """Where a step is defined, if not everywhere."""
    if step.primitive == "integer_pow":
        return _NEGATIVE_POWER if step.params["y"] < 0 else None
    if step.primitive == "pow":
        exponent = facts.ranges[step.inputs[1]]
        if not exponent.is_single or not math.isfinite(exponent.low):
            return _UNKNOWN_POWER
        if exponent.integral:
            return _NEGATIVE_POWER if exponent.low < 0 else None
        return _BROKEN_NEGATIVE_POWER if exponent.low < 0 else _BROKEN_POWER
    return DOMAINS.get(step.primitive)


def hazards(facts: Facts) -> Iterator[Hazard]:
    """Every step of the user's code that is known not to be defined everywhere.

    Without those of constants, which the author sees.
    """
    return (it for it in _all_hazards(facts) if not it.is_of_constant and it.is_understood)


def ruled_out(facts: Facts) -> Iterator[list[Hazard]]:
    """The hazards of each operation and line, where bounds exclude all of them.

    A line may hold an operation twice, and a helper is called in several places: what is proved of
    one says nothing of the others.
    """
    lines: dict[tuple[str, str, int], list[Hazard]] = defaultdict(list)
    for hazard in _all_hazards(facts):
        place = facts.place(hazard.step)
        lines[hazard.step.primitive, place.file, place.line].append(hazard)
    for found in lines.values():
        computed = [it for it in found if not it.is_of_constant and not _is_number(it.operand)]
        if computed and all(it.is_ruled_out for it in found):
            yield computed


def _is_number(value: Value) -> bool:
    """Whether a value is one number that the program computes from constants, like `log(2)`.

    A function of JAX's that divides by one, as `jnp.log2` does, is not what the user wrote.
    """
    pending = [uncast(value)]
    for _ in range(_FEW):
        if not pending:
            break
        it = pending.pop()
        if math.prod(it.shape) != 1:
            return False
        if it.is_constant:
            continue
        if it.producer is None or it.producer.kind != "operation":
            return False
        pending += map(uncast, it.producer.inputs)
    return not pending


def _all_hazards(facts: Facts) -> Iterator[Hazard]:
    for step in facts.steps:
        domain = domain_of(facts, step)
        if domain is None or not facts.is_in_users_function(step):
            continue
        operand = step.inputs[domain.operand]
        if kind_of(operand.dtype).letter in "biu":
            continue
        interval = facts.ranges[operand]
        point = interval.reached(domain.is_bad)
        numerator = facts.ranges[step.inputs[0]] if domain is DOMAINS["div"] else None
        yield Hazard(step, operand, domain, point, interval, numerator)


# Numbers pass through these with at most a change of sign, scale or layout.
_PASS = frozenset(
    """add sub neg add_any convert_element_type broadcast_in_dim reshape squeeze expand_dims
    transpose rev slice dynamic_slice gather concatenate pad stop_gradient copy pvary""".split()
)
# An infinity ends here: a comparison, an exponential, a maximum make something ordinary of it.
_ABSORB_INFINITY = frozenset(
    """exp exp2 logistic tanh erf max min clamp reduce_max reduce_min argmax argmin eq ne lt le gt
    ge eq_to lt_to le_to sort top_k is_finite sign""".split()
)
_ABSORB_NAN = frozenset("eq ne lt le gt ge eq_to lt_to le_to is_finite".split())


def does_harm(facts: Facts, hazard: Hazard) -> bool:
    """Whether what an undefined operation gives gets anywhere but into a choice that drops it."""
    is_nan = "nan" in hazard.result
    absorb = _ABSORB_NAN if is_nan else _ABSORB_INFINITY
    # The logarithm of a probability may be -inf; it is what is made of it that goes wrong.
    outputs = set(facts.program.body.outputs) if is_nan else set[Value]()
    return gets_away(facts, hazard.step, hazard.operand, hazard.point, absorb, outputs)


def gets_away(
    facts: Facts,
    step: Step,
    operand: Value,
    point: Point | None,
    absorb: frozenset[str] = frozenset(),
    outputs: set[Value] | None = None,
) -> bool:
    """Whether what a step makes of a bad operand is used, other than by steps that absorb it.

    A `where` whose predicate depends on what the operand depends on counts as one that drops it.
    """
    outputs = set(facts.program.body.outputs) if outputs is None else outputs
    seen: set[Value] = set()
    pending = list(step.outputs)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in outputs:
            return True
        for target, by in facts.variation.made_from(value):
            if by.primitive in absorb or _chooses_away(facts, by, value, operand, point):
                continue
            if by.kind == "operation" and by.primitive not in _PASS and by.primitive != "select_n":
                return True
            pending.append(target)
    return False


def _chooses_away(
    facts: Facts, step: Step, value: Value, operand: Value, point: Point | None
) -> bool:
    if step.primitive != "select_n":
        return False
    predicate = step.inputs[0]
    if value is predicate or facts.ranges.identities.share_data(predicate, operand):
        return True
    deciding = {base for base, _ in conditions(predicate, True)}
    return any(base in deciding for base, _ in (point.when if point else ()))
