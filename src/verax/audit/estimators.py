"""Straight-through estimators: the value of one thing with the gradient of another.

`x + stop_gradient(q - x)` is taken apart into its terms: how often the value has each of them, and
how often the gradient has. So it does not matter how the sum is written, nor which engine reads it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

_Term = TypeVar("_Term", bound=Hashable)
_LONGEST = 200


@dataclass(eq=False)
class Part(Generic[_Term]):
    """A term of a sum: how often the value has it, and how often the gradient has.

    Of what is added and taken away nothing is left; `is_passed` and `is_stopped` still say whether
    it was there with its gradient, and without.
    """

    term: _Term
    value: int = 0
    slope: int = 0
    is_passed: bool = False
    is_stopped: bool = False


@dataclass(frozen=True, eq=False)
class Sum(Generic[_Term]):
    """What is added up, with `stop_gradient` around some of it or not."""

    whole: _Term
    parts: list[Part[_Term]]
    has_stop: bool


@dataclass(frozen=True, eq=False)
class Exchanged(Generic[_Term]):
    """A sum with the value of what has a gradient, and nothing of the value of what has none."""

    whole: _Term
    hard: _Term
    soft: _Term


class Estimators(ABC, Generic[_Term]):
    """The straight-through estimators of a differentiated function, right or wrong.

    An engine says what is added up and stopped where, and which values have a gradient.
    """

    @abstractmethod
    def _wholes(self) -> Iterable[_Term]:
        """All sums, of which the parts of a larger one come after it."""

    @abstractmethod
    def _addends(self, term: _Term) -> list[tuple[int, _Term]]:
        """What is added up to a term, each with its sign; nothing if it is no sum."""

    @abstractmethod
    def _stopped(self, term: _Term) -> _Term | None:
        """What a term is the constant copy of."""

    @abstractmethod
    def _plain(self, term: _Term) -> _Term:
        """A term without what changes neither its value nor its gradient."""

    @abstractmethod
    def _number(self, term: _Term) -> int:
        """The same number for terms that are equal."""

    @abstractmethod
    def _has_gradient(self, term: _Term) -> bool:
        """Whether a gradient flows through a term."""

    @abstractmethod
    def _is_cut(self, value: _Term, term: _Term) -> bool:
        """Whether a value has lost the gradient that a term has: by rounding, not on purpose."""

    @abstractmethod
    def _made_on_the_way(self, hard: _Term, soft: _Term) -> Iterable[_Term]:
        """What one term is made of and another is not, as far as it may be differentiated."""

    @abstractmethod
    def _is_made_with(self, value: _Term, term: _Term) -> bool:
        """Whether a value depends on what a term passes a gradient to."""

    @abstractmethod
    def _is_shared(self, term: _Term) -> bool:
        """Whether a term is used more than once."""

    def exchanged(self) -> Iterator[Exchanged[_Term]]:
        """Those the wrong way round.

        What was rounded has no gradient. Where its value cancels too, it is there for nothing.
        """
        for it in self._sums():
            gone = [part for part in it.parts if not part.value] if it.has_stop else []
            kept = [part for part in it.parts if part.value and self._has_gradient(part.term)]
            for hard in gone:
                soft = next((part for part in kept if self._replaces(it, part, hard)), None)
                if soft is not None:
                    yield Exchanged(it.whole, hard.term, soft.term)
                    break

    def opposed(self) -> Iterator[tuple[_Term, _Term, bool]]:
        """Sums whose value has nothing of a term, and whose gradient has that term's with a minus.

        `stop_gradient(hard + soft) - soft` is `hard`, and goes down where `soft` goes up. Where all
        is stopped, or nothing, the gradient has nothing of the term either: the last of the three
        tells.
        """
        for it in self._sums():
            for part in it.parts:
                if part.value or not self._has_gradient(part.term):
                    continue
                # In `y - (x + stop_gradient(q - x))`, both `q` and the gradient have a minus.
                against = [other for other in it.parts if other.value * part.slope <= 0]
                is_cut = any(
                    other.value and self._is_cut(other.term, part.term) for other in against
                )
                if is_cut or self._is_spent(it, part):
                    yield self._innermost(it.whole, part.term), part.term, part.slope == 0

    def against(self) -> Iterator[tuple[_Term, _Term]]:
        """Sums that have a term with one sign and its gradient with the other, and that term.

        `x + stop_gradient(q - x)` less a constant `x` is `q - x`, and goes up with `x`: a square of
        that drives the two apart. Where nothing else is stopped, a gradient is reversed on purpose.
        """
        for it in self._sums():
            stopped = [part.term for part in it.parts if part.value and not part.slope]
            for part in it.parts:
                is_against = part.value * part.slope < 0 and self._has_gradient(part.term)
                if is_against and any(map(self._has_gradient, stopped)):
                    yield it.whole, part.term
                    break

    def mirrored(self) -> Iterator[tuple[_Term, _Term]]:
        """Sums that lie as far on the other side of a term as its rounded value on this, and that.

        `x + stop_gradient(x - q)` is `2 x - q`, which is neither the one nor the other.
        """
        for it in self._sums():
            hard = [part.term for part in it.parts if part.value == -1 and not part.slope]
            for part in it.parts:
                is_twice = part.value == 2 and part.slope == 1 and self._has_gradient(part.term)
                if is_twice and any(self._is_cut(term, part.term) for term in hard):
                    yield it.whole, part.term
                    break

    def _replaces(self, whole: Sum[_Term], soft: Part[_Term], hard: Part[_Term]) -> bool:
        """Whether a sum has the value of one term where it should have that of a rounded one."""
        if self._is_cut(hard.term, soft.term):
            return True
        if soft.slope or not hard.slope:
            return False
        if any(it.value and self._is_cut(it.term, soft.term) for it in whole.parts):
            return False  # A rounded value is there.
        # The gradient is that of the one, which is rounded in part, the value that of the other.
        within = self._made_on_the_way(hard.term, soft.term)
        return any(self._is_cut(it, soft.term) for it in within)

    def _is_spent(self, it: Sum[_Term], gone: Part[_Term]) -> bool:
        """Whether a term takes its own gradient away, and leaves a constant that is made from it.

        `x + stop_gradient(q) - x`, whatever `q` has for a derivative. A constant by itself is one
        on purpose, and so may be how far something has moved that is used elsewhere as well.
        """
        if not it.has_stop or gone.slope or not gone.is_passed or gone.is_stopped:
            return False
        parts: dict[int, Part[_Term]] = {}
        sums: set[_Term] = set()
        whole = self._innermost(it.whole, gone.term)
        if self._take_apart(whole, parts, sums) is None:
            return False
        left = [part for part in parts.values() if part.value]
        return (
            bool(left)
            and all(part.is_stopped and not part.is_passed for part in left)
            and any(self._is_made_with(part.term, gone.term) for part in left)
            and not any(self._is_shared(term) for term in sums - {whole})
        )

    def _innermost(self, whole: _Term, gone: _Term) -> _Term:
        """The smallest sum in a larger one of whose value a term is gone: that is to be mended."""
        for _, term in self._addends(self._plain(whole)):
            parts: dict[int, Part[_Term]] = {}
            is_known = self._take_apart(term, parts, set()) is not None
            part = parts.get(self._number(gone))
            if is_known and part is not None and not part.value:
                return self._innermost(self._plain(term), gone)
        return whole

    def _sums(self) -> Iterator[Sum[_Term]]:
        """All sums in which a term cancels, or that have it more often in value or in gradient."""
        inner: set[_Term] = set()
        for whole in self._wholes():
            if whole in inner:
                continue
            parts: dict[int, Part[_Term]] = {}
            has_stop = self._take_apart(whole, parts, inner)
            # Whether a term cancels is known only of a sum that was taken apart to its end.
            apart = (not it.value or it.value != it.slope for it in parts.values())
            if has_stop is not None and any(apart):
                yield Sum(whole, list(parts.values()), has_stop)

    def _take_apart(
        self, whole: _Term, parts: dict[int, Part[_Term]], inner: set[_Term]
    ) -> bool | None:
        """Add to the parts what a sum is made of, and say whether anything of it is stopped.

        `None` for a sum that is too long, and for one that has an estimator for a constant: what is
        stopped inside of that is no part of how this one passes gradients on.
        """
        has_stop = False
        sums: set[_Term] = set()
        pending = [(whole, 1, 1)]
        for _ in range(_LONGEST):
            if not pending:
                inner |= sums
                return has_stop
            term, value, slope = pending.pop()
            term = self._plain(term)
            inside = self._stopped(term)
            if inside is not None:
                if not slope:
                    return None
                has_stop = True
                pending.append((inside, value, 0))
                continue
            addends = self._addends(term)
            if addends:
                sums.add(term)
                pending += [(it, sign * value, sign * slope) for sign, it in reversed(addends)]
                continue
            part = parts.setdefault(self._number(term), Part(term))
            part.value += value
            part.slope += slope
            part.is_passed |= bool(slope)
            part.is_stopped |= not slope
        inner |= sums
        return None
