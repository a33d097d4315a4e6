"""Who is to blame where two axes meet that do not belong together, whichever engine found it.

Each of the two may have been put there by somebody: a move, a reduction, a map. An engine finds the
last such on the way of either; which of them is the one to mend is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from .finding import Place

MAPS, TAKES, TURNS = 2, 1, 0


@dataclass(frozen=True)
class Move:
    """What decided where an axis lies.

    How much it is to blame is its `weight`: what maps more than what takes an axis, and that than
    what turns a few round. It `entered` a map or a scan that takes away the axis which is expected,
    or a map gave it back `elsewhere` than it was. What `widens` an array gives it more axes. What
    `lacks` axes is aligned by broadcasting, which says nothing of the move. It is `needless` where
    the array would fit without: nobody gives it axes who does not mean to.
    """

    place: Place
    weight: int = TURNS
    entered: bool = False
    elsewhere: bool = False
    widens: bool = False
    lacks: bool = False
    needless: bool = False


_Move = TypeVar("_Move", bound=Move)


def to_blame(moves: Iterable[_Move], meeting: Place) -> list[_Move]:
    """The moves by which one of two axes came to where it meets the other; none if unclear.

    Where both were moved, the one in a function of its own is to blame: nobody sees there what it
    will meet.
    """
    moves = list(moves)
    # A map that gives its lanes back where it took them has turned nothing round.
    if any(not it.needless and (it.weight != MAPS or it.elsewhere) for it in moves):
        moves = [move for move in moves if not move.needless]
    entered = {move.place: move for move in moves if move.entered}
    if len(entered) == 1:
        return [*entered.values()]
    if any(move.place.line == meeting.line for move in moves):
        # Who aligns one where they meet sees both, unless a map has turned the other round.
        turned = [it for it in moves if it.elsewhere and it.place.line != meeting.line]
        return turned[:1]
    found = [move for move in moves if not move.lacks]
    if sum(move.elsewhere for move in found) == 1:
        return [move for move in found if move.elsewhere]
    if len(found) > 1:
        most = max(move.weight for move in found)
        found = [move for move in found if move.weight == most]
        near = [move for move in found if move.place.function == meeting.function]
        # Who gives one the axes of the other, not far from where they meet, sees both as well.
        if near and near == [move for move in found if move.widens]:
            return near
        found = [move for move in found if move not in near]
    return found


def the_one_of(found: list[_Move]) -> _Move | None:
    """The first of the moves that are to blame, if one function holds them all."""
    return found[0] if len({move.place.function for move in found}) == 1 else None
