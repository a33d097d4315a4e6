"""Processes that end with the one that has started them, and leave nothing behind.

What is audited may fork, start threads that never end, or close every file. And the process that
waits for it may be killed itself, so that it cannot clean up. So a traced function runs in a
process of its own, below a keeper that runs nothing of the user's: when the function's process
ends, or the auditor does, or asks for it by SIGTERM, the keeper ends everything below itself, and
then itself, in the way in which that process has ended.

A process whose parent has died becomes a child of the keeper where there is Linux, so that also
one that has left its session is found. Elsewhere the function's process group is ended. Without
`fork` there is no keeper.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_LOOK_EVERY = 0.5  # seconds
_PATIENCE = 5.0  # seconds, for what the system does not end at once
# Of <sys/prctl.h>.
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36


def end_with_parent(parent: int) -> None:
    """End this process at once when its parent does, whatever it is doing."""
    if os.name != "posix":
        return
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    # Where the system does not tell, and for a parent that has gone before it was asked to.
    threading.Thread(target=_watch, args=(_Starter(parent),), daemon=True).start()


def _watch(starter: _Starter) -> None:
    while starter.is_there():
        time.sleep(_LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGKILL)


class _Starter:
    """The process that this one is for; a script that starts Python may be between the two."""

    def __init__(self, pid: int):
        self._pid = pid
        self._parent = os.getppid()

    def is_there(self) -> bool:
        """Whether it has not ended."""
        if os.getppid() != self._parent:
            return False
        if self._parent == self._pid:
            return True
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


def go_on_below_keeper(parent: int) -> None:
    """Go on in a new process; this one becomes its keeper, and never returns.

    `parent` is the process that all of this is for, and ends with.
    """
    if not hasattr(os, "fork"):
        return
    _prctl(_SET_SUBREAPER, 1)
    starter = _Starter(parent)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _be_woken)
    kept = os.fork()
    if kept:
        _keep(kept, starter, woken)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.close(woken)
    os.close(wake)
    with suppress(OSError):
        os.setpgid(0, 0)
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    # Where memory runs out, this is what has taken it.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


_asked_to_end = False


def _be_woken(number: int, frame: object) -> None:
    global _asked_to_end
    _asked_to_end = _asked_to_end or number != signal.SIGCHLD


def _keep(kept: int, starter: _Starter, woken: int) -> None:
    """Wait until the process has ended, or is to end, and end with it."""
    status: int | None = None
    # Whoever reads what it writes shall see where that ends.
    for end in (0, 1):
        os.close(end)
    _prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
    while status is None and not _asked_to_end and starter.is_there():
        status = _reaped().get(kept)
        if status is None:
            select.select([woken], [], [], _LOOK_EVERY)
            with suppress(BlockingIOError):
                os.read(woken, 4096)
    _end_all(kept)
    _end_like(signal.SIGTERM if status is None else status)


def _end_all(kept: int) -> None:
    """End all processes below this one: those of ended ones have become its own."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with suppress(OSError):
            os.killpg(kept, signal.SIGKILL)
        for child in _children():
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            _reaped()
        except ChildProcessError:
            return
        time.sleep(0.005)


def _children() -> list[int]:
    """The processes that this one has to wait for, as far as the system tells."""
    try:
        return [
            int(it) for it in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        ]
    except OSError:
        return []


def _reaped() -> dict[int, int]:
    """The children that have ended since the last time, with how they have.

    Raises:
        ChildProcessError: There is no child left, and none has ended.
    """
    found: dict[int, int] = {}
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if found:
                return found
            raise
        if child == 0:
            return found
        found[child] = status


def _end_like(status: int) -> None:
    """End this process by a status as `waitpid` tells it, without leaving a core of its own."""
    sys.stderr.flush()
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    with suppress(OSError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
