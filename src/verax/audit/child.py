"""One audit in a process of its own, with everything that can go wrong in there."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from .errors import OwnError, UsageError
from .render.from_json import from_data
from .report import Report
from .target import FunctionTarget

# The package that runs is the one that runs there; it comes last on the path, so that it hides
# nothing. `-P` keeps the working directory off the path until our own imports are done.
_START = "import sys; sys.path.append({root!r}); from verax.audit._child import main; main()"
_ROOT = str(Path(__file__).parents[2])

DEFAULT_TIMEOUT = 60.0
DEFAULT_TRACE_TIMEOUT = 600.0
# By which the system ends what takes too much memory.
_KILLED = 9
_PATIENCE = 10.0  # seconds, for the end of what does not end at once


@dataclass(frozen=True)
class Given:
    """What was said about the inputs of a function, and what is asked about it."""

    specs: Sequence[str] = ()
    dims: dict[str, int] = field(default_factory=dict[str, int])
    inputs: str | None = None
    axes: str | None = None
    # Whether to say which lines the trace went through: that takes another trace.
    witness: bool = False
    # How many seconds the trace may take, and all that is asked about it.
    trace_timeout: float = DEFAULT_TRACE_TIMEOUT


@dataclass(frozen=True)
class Where:
    """A folder to run in, and the folders to import from."""

    folder: str
    python_path: str


def audit_in_child(
    target: FunctionTarget,
    given: Given,
    timeout: float = DEFAULT_TIMEOUT,
    where: Where | None = None,
) -> Report:
    """Import and trace a function in a process of its own.

    `timeout` limits, in seconds, the import and the making of inputs, each. `where` says in which
    folder it runs, if not in this one. Whatever it has started is ended with it.

    Raises:
        UsageError: There is nothing to audit.
    """
    command = [sys.executable, "-P", "-c", _START.format(root=_ROOT), str(os.getpid())]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",  # what it says may not be ours
        cwd=where.folder if where is not None else None,
        env=os.environ | {"PYTHONPATH": where.python_path} if where is not None else None,
        # An interrupt from the keyboard is ours to handle.
        start_new_session=os.name == "posix",
    )
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        _ask(process, request_for(target, given))
        return _answer(process, lines, target, given, timeout)
    finally:
        _end(process)
        reader.join()


def request_for(target: FunctionTarget, given: Given) -> dict[str, Any]:
    """What the process is asked, as `_child.serve` reads it."""
    return {
        "target": target.text,
        "file": target.file,
        "module": target.module,
        "attribute": target.attribute,
        "specs": list(given.specs),
        "dims": given.dims,
        "inputs": given.inputs,
        "axes": given.axes,
        "witness": given.witness,
    }


def _ask(process: subprocess.Popen[str], request: dict[str, Any]) -> None:
    assert process.stdin is not None
    # If it died already, how is told by the answer.
    with suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(json.dumps(request))


def _answer(
    process: subprocess.Popen[str],
    lines: queue.SimpleQueue[str],
    target: FunctionTarget,
    given: Given,
    timeout: float,
) -> Report:
    phase = "start"
    deadline = _in(timeout)
    while True:
        try:
            left = max(0.0, deadline - time.monotonic())
            line = lines.get(timeout=left)
        except queue.Empty:
            raise UsageError(_too_slow(phase, target, given, timeout)) from None
        if not line:
            raise UsageError(_died(process, phase, target, given))
        try:
            message = _Message(**json.loads(line))
            report = message.told()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            doing = _doing(phase, target, given)
            raise UsageError(f"{doing}: it wrote to a file that verax has open") from None
        if report is not None:
            return report
        if message.error:
            raise UsageError(message.error)
        if message.failure:
            raise OwnError(message.failure)
        phase = message.phase
        deadline = _in(given.trace_timeout if phase == "trace" else timeout)


def _in(seconds: float) -> float:
    """The time in so many seconds; what is longer than a wait can be is the longest."""
    return time.monotonic() + min(seconds, threading.TIMEOUT_MAX / 2)


@dataclass(frozen=True)
class _Message:
    """What the other process says, one of it at a time; see `_child`.

    Raises:
        ValueError: It says nothing of that.
    """

    phase: str = ""
    error: str = ""
    failure: str = ""
    report: dict[str, Any] | None = None
    passed: Sequence[Any] = ()

    def __post_init__(self):
        texts = (self.phase, self.error, self.failure)
        if not all(isinstance(it, str) for it in texts) or not (any(texts) or self.report):
            raise ValueError

    def told(self) -> Report | None:
        """The report, if that is what it says."""
        if self.report is None:
            return None
        passed = frozenset(tuple(map(tuple, path)) for path in self.passed)
        return replace(from_data(self.report), passed=passed)


def _read(stdout: IO[str], lines: queue.SimpleQueue[str]) -> None:
    with stdout:
        for line in stdout:
            lines.put(line)
    lines.put("")


def _doing(phase: str, target: FunctionTarget, given: Given) -> str:
    if phase == "trace":
        return f"tracing {target.text}"
    if phase == "inputs" and given.inputs:
        return f"making {given.inputs} in {target.home}"
    if phase == "inputs":
        return f"making inputs for {target.text}"
    return f"importing {target.home}"


def _too_slow(phase: str, target: FunctionTarget, given: Given, timeout: float) -> str:
    doing = _doing(phase, target, given)
    if phase == "trace":
        more = "--trace-timeout, or `trace-timeout` in [tool.verax] of pyproject.toml"
        return f"{doing} took more than {given.trace_timeout:g} s; allow more with {more}"
    return f"{doing} took more than {timeout:g} s; allow more with --timeout"


def _died(process: subprocess.Popen[str], phase: str, target: FunctionTarget, given: Given) -> str:
    doing = _doing(phase, target, given)
    code = process.wait()
    if code >= 0:
        return f"{doing}: the process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = "; it may have needed more memory than there is" if -code == _KILLED else ""
    return f"{doing}: the process was ended by {name}{hint}"


def _end(process: subprocess.Popen[str]) -> None:
    """End the process with all that it has started, which is what its keeper is there for."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
