"""The meaning of every value of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..facts import Facts
from ..program import Program, Step, Value
from . import contents, probabilities, statistics
from .copies import PARTS, before_copy
from .kinds import Known, Meaning
from .words import LASTING, WORDS

# They say what was done to a value that means what it meant before.
_KEEPING = ("clipped", "cast", "renormalised")


class Meanings:
    """The meaning of every value that has one."""

    def __init__(self, facts: Facts):
        self._facts = facts
        self._known = _recognised(facts.program)

    def get(self, value: Value) -> Meaning | None:
        """What a value means by the step that made it."""
        return self._known.get(value)

    def behind(self, value: Value, *kinds: str) -> Meaning | None:
        """The meaning of one of these kinds that a value still has.

        Copies, casts, new shapes and clips keep a meaning, and shares of what adds up to one do.
        """
        while True:
            found = self._known.get(value)
            if found is not None and found.kind in kinds:
                return found
            if found is not None and found.kind in _KEEPING:
                value = found.of
                continue
            step = value.producer
            if step is not None and step.primitive in PARTS:
                value = step.inputs[0]
                continue
            before = before_copy(value)
            if before is None:
                return None
            value = before

    def all(self, *kinds: str) -> Iterable[tuple[Value, Meaning]]:
        """Every value with a meaning of these kinds, in the order of the program."""
        return [(value, it) for value, it in self._known.items() if it.kind in kinds]

    def phrase(self, value: Value) -> str:
        """A value's meaning in words, empty where it has none."""
        found = self._known.get(value)
        if found is None:
            return ""
        text = WORDS[found.kind](self._facts, found)
        if found.kind in _KEEPING:
            before = self.behind(found.of, *LASTING)
            if before is not None:
                return f"{WORDS[before.kind](self._facts, before)}, then {text}"
        return text


def meanings_of(facts: Facts) -> Meanings:
    """The meaning of the values of a program."""
    return Meanings(facts)


def _recognised(program: Program) -> Known:
    found: Known = {}
    for step in program.walk():
        if step.kind == "call":
            contents.sampled(
                step, found
            )  # Before the steps of its body: what they mean alone is less.
            continue
        recognise = _RECOGNISE.get(step.primitive)
        if recognise is not None and step.outputs[0] not in found:
            meaning = recognise(step, found)
            if meaning is not None:
                found[step.outputs[0]] = meaning
    return found


_RECOGNISE: dict[str, Callable[[Step, Known], Meaning | None]] = {
    "div": statistics.quotient,
    "mul": statistics.product,
    "sub": probabilities.log_softmax,
    "add": probabilities.logsumexp,
    "convert_element_type": contents.cast,
    "gather": contents.row,
    "clamp": contents.clamped,
    "min": contents.bounded,
    "max": contents.bounded,
    "tanh": contents.squashed(-1, 1),
    "logistic": contents.squashed(0, 1),
    "erf": contents.squashed(-1, 1),
    "argmax": contents.drawn,
    "exp": probabilities.exponential_of_log_softmax,
}
