"""A temporary folder that is gone at the end, also where a signal ends the process."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Ended(BaseException):
    """Raised where a signal came that ends the process."""

    def __init__(self, number: int):
        self.number = number
        super().__init__(number)


@contextmanager
def temporary_folder() -> Generator[str]:
    """A new folder that only the user may enter, without links in its path."""
    folder = tempfile.TemporaryDirectory(prefix="verax-")
    try:
        with _signals_raised(), folder:
            yield os.path.realpath(folder.name)
    except _Ended as ended:
        folder.cleanup()  # once more, in case the signal came while the folder was removed
        signal.raise_signal(ended.number)  # which now does what it always did
        raise


@contextmanager
def _signals_raised() -> Generator[None]:
    """Have signals that would end the process at once leave what is at work, and then end it."""
    mine: list[int] = []
    if threading.current_thread() is threading.main_thread():
        mine = [it for it in _ENDING if signal.getsignal(it) is signal.SIG_DFL]

    def leave(number: int, frame: FrameType | None) -> None:
        for it in mine:  # a second one must not keep us from cleaning up
            signal.signal(it, signal.SIG_IGN)
        raise _Ended(number)

    for it in mine:
        signal.signal(it, leave)
    try:
        yield
    finally:
        for it in mine:
            signal.signal(it, signal.SIG_DFL)
