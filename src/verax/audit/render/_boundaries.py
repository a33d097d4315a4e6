"""The shape trace, made ready for any format: one table a boundary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ..finding import Place
from ..report import Crossing, Report, Tensor
from ._tree import gathered

Row = tuple[str, str, str, str]

_UNCHANGED = "unchanged"
_MOST_NAMES = 4  # of values that do not change
_MOST_OF_TREE = 1  # leaves that are named one by one

COLUMNS = ("role", "value", "before", "after")


def boundaries(report: Report) -> Iterator[tuple[str, Place | None, list[Row]]]:
    """Each boundary with its place and rows of role, value, before and after."""
    for (name, place), crossings in groupby(
        report.shape_trace, key=lambda it: (it.boundary, it.place)
    ):
        yield name, place, list(_rows(crossings))


def _rows(crossings: Iterable[Crossing]) -> Iterator[Row]:
    """A row for each value that changes, and one for all of a role that do not."""
    for role, group in groupby(crossings, key=lambda it: it.role):
        same: list[Crossing] = []
        for crossing in group:
            if crossing.before is not None and _shown(crossing.before) == _shown(crossing.after):
                same.append(crossing)
            else:
                yield _row(crossing)
        if len(same) == 1:
            yield same[0].role, same[0].name, _shown(same[0].before), _UNCHANGED
        elif same:
            names = gathered(dict.fromkeys(it.name for it in same), most=_MOST_OF_TREE)
            more = f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
            shown = ", ".join(names[:_MOST_NAMES]) + more
            yield role, shown, f"{len(same)} arrays", _UNCHANGED


def _row(crossing: Crossing) -> Row:
    return crossing.role, crossing.name, _shown(crossing.before), _shown(crossing.after)


def _shown(tensor: Tensor | None) -> str:
    return "-" if tensor is None else str(tensor)
