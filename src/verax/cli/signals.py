"""What asks this process to end lets it clean up before."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType

# As a shell shows the end of a process by a signal.
_BY_SIGNAL = 128


@contextmanager
def ended_by_signals() -> Generator[None]:
    """End with 143 on SIGTERM and with 129 on SIGHUP, after what we have started has ended."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # What is ignored, as by `nohup`, is meant to be.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, _end)
    yield


def _end(number: int, frame: FrameType | None) -> None:
    # The next one ends it at once.
    signal.signal(number, signal.SIG_DFL)
    sys.exit(_BY_SIGNAL + number)
