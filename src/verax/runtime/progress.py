"""A progress bar for long runs, on terminals only."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """Shows steps, steps per second and retries on stderr; silent where nobody watches."""

    def __init__(self, total: int, show: bool | None):
        self._bar: Any = None
        self._task: Any = None
        if show if show is not None else sys.stderr.isatty():
            self._bar, self._task = _bar(total)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, steps: int) -> None:
        """Count completed steps."""
        if self._bar is not None:
            self._bar.advance(self._task, steps)
            task = self._bar.tasks[0]
            self._bar.update(self._task, rate=f"{task.speed or 0:,.0f} steps/s")

    def retried(self, count: int) -> None:
        """Show how many repairs there were so far."""
        if self._bar is not None:
            self._bar.update(self._task, retries=f"{count} repaired")


def _bar(total: int) -> tuple[Any, Any]:
    # Imported late: most runs show no bar.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[retries]}"),
        console=Console(stderr=True),
    )
    return bar, bar.add_task("steps", total=total, rate="", retries="")
