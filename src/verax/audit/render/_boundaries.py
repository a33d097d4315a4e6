"""The shape trace, made ready for any format: one table a boundary."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ..finding import Place
from ..report import Crossing, Report, Tensor

Row = tuple[str, str, str, str]

COLUMNS = ("role", "value", "before", "after")


def boundaries(report: Report) -> Iterator[tuple[str, Place | None, list[Row]]]:
    """Each boundary with its place and rows of role, value, before and after."""
    for (name, place), crossings in groupby(
        report.shape_trace, key=lambda it: (it.boundary, it.place)
    ):
        yield name, place, [_row(crossing) for crossing in crossings]


def _row(crossing: Crossing) -> Row:
    return crossing.role, crossing.name, _shown(crossing.before), _shown(crossing.after)


def _shown(tensor: Tensor | None) -> str:
    return "-" if tensor is None else str(tensor)
