"""By how much a buffer grows: exact arithmetic, whatever the base and the size."""

from __future__ import annotations

import math
from fractions import Fraction


def grown(required: int, base: float) -> int:
    """The smallest power of `base` that is at least `required`, rounded up to a whole number.

    With a base of at most 1, the requirement itself. Floating point would miss or overshoot
    powers (`log(125) / log(5)` is more than 3), so the exponent is only guessed with it.

    Example:
        >>> grown(150, base=2), grown(125, base=5), grown(150, base=1)
        (256, 125, 150)
    """
    if base <= 1:
        return required
    if required <= 1:
        return required if required <= 0 else 1
    # As written: 1.1 is eleven tenths and not the nearest binary fraction.
    exact = Fraction(str(base))
    exponent = max(0, math.floor(math.log(required) / math.log(base)) - 1)
    while not _reaches(exact, exponent, required):
        exponent += 1
    while exponent > 0 and _reaches(exact, exponent - 1, required):
        exponent -= 1
    return math.ceil(exact**exponent)


def _reaches(base: Fraction, exponent: int, required: int) -> bool:
    return base.numerator**exponent >= required * base.denominator**exponent
