"""One report from two: what the static analysis of a file says, and what a trace of it shows."""

from __future__ import annotations

from dataclasses import replace

from .report import Report, merged


def reconciled(read: Report, traced: Report) -> Report:
    """The report of the static analysis and that of a trace as one report."""
    return replace(merged([read, traced]), target=traced.target)
