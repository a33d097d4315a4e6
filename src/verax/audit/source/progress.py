"""A bar for audits that take longer than one likes to wait in the dark."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 2.0  # seconds


class Bar:
    """Shows on stderr, if that is a terminal, how many of all files are done."""

    def __init__(self, total: int):
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._progress: Progress | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self) -> None:
        """One more file is done."""
        self._done += 1
        if self._progress is None and time.monotonic() - self._start > _PATIENCE:
            self._show()
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=self._done)

    def _show(self) -> None:
        if sys.stderr is None or not sys.stderr.isatty():
            self._start = float("inf")  # never
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("reading"),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(stderr=True),
            transient=True,  # nothing of it stays beside the report
        )
        self._progress.add_task("", total=self._total)
        self._progress.start()
