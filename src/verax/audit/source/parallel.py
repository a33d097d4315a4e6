"""Many files at once: processes that audit them, each of which may die without harm."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..finding import Place
from ..garbage import few_collections
from ..report import Failure, Report, noted
from . import stored
from .limits import DEFAULT, Limits
from .outcome import Outcome, Texts
from .stored import NO_SECTIONS, Stored

# The package that runs is the one that runs there; see `verax.audit.child`.
_START = "import sys; sys.path.append({root!r}); from verax.audit.source.worker import main; main()"
_ROOT = str(Path(__file__).parents[3])

# Below this many bytes of source a further process costs more than it saves.
_WORTH_A_PROCESS = 400_000
_LARGEST_BATCH = 16
_WAKE_EVERY = 0.2  # seconds


@dataclass(frozen=True)
class Done:
    """The outcome of one file; `text` is the same encoded, if it came from another process.

    In that case the outcome has sections of data flow only if they were asked for.
    """

    path: str
    outcome: Outcome
    text: Stored | None = None


def audit_all(
    files: Sequence[str],
    roots: Sequence[str],
    texts: Texts,
    *,
    max_bytes: int,
    jobs: int | None,
    sections: bool = True,
    kept: bool = True,
    limits: Limits = DEFAULT,
    observed: Mapping[str, str] | None = None,
) -> Generator[Done]:
    """The outcome of each file, in the order in which they come.

    `jobs` is the number of processes, or `None` for as many as there are cores and work. How data
    flows is worked out if the outcome shall have such `sections`, or is `kept` for others.
    `observed` is what functions were called with when the program ran, by file.
    """
    # What a shell has connected us to (`<(…)`) is open in this process alone.
    left = [file for file in files if not os.path.isfile(file)]
    ordinary = [file for file in files if os.path.isfile(file)]
    count = _process_count(ordinary, jobs)
    if count > 1:
        start: dict[str, object] = {
            "roots": list(roots),
            "max_bytes": max_bytes,
            "within": texts.within,
            "sections": sections or kept,
            "limits": asdict(limits),
            "observed": dict(observed or {}),
        }
        pool = _Pool(ordinary, start, count, sections)
        try:
            yield from pool.results()
        finally:
            pool.end()
        left += pool.left()
    else:
        left = list(files)
    if not left:
        return
    from .one_file import Auditor  # the interpreter is slow to load, and nothing may be left

    auditor = Auditor(roots, texts, sections or kept, limits, observed)
    with few_collections():
        for path in left:
            yield Done(path, auditor.audit(path))


def _process_count(files: Sequence[str], jobs: int | None) -> int:
    if not sys.executable or len(files) < 2:
        return 1
    if jobs is not None:
        return min(jobs, len(files))
    return min(_cores(), len(files), _work(files) // _WORTH_A_PROCESS)


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _work(files: Sequence[str]) -> int:
    size = 0
    for file in files:
        with suppress(OSError):
            size += os.path.getsize(file)
    return size


class _Pool:
    """Processes, each with a thread here that hands it files and takes what it gives back."""

    def __init__(self, files: Sequence[str], start: dict[str, object], count: int, sections: bool):
        self._sections = sections
        self._waiting = deque(files)
        self._lock = threading.Lock()
        self._batch = max(1, min(_LARGEST_BATCH, len(files) // (count * 4)))
        self._start = start
        self._results: queue.SimpleQueue[Done | None] = queue.SimpleQueue()
        self._workers: set[_Worker] = set()
        self._ended = False
        self._threads = [threading.Thread(target=self._tend, daemon=True) for _ in range(count)]

    def results(self) -> Iterator[Done]:
        """Start; then what comes, until nothing more does."""
        for thread in self._threads:
            thread.start()
        at_work = len(self._threads)
        while at_work:
            try:
                # With a limit, since an interrupt that reached another thread does not wake this.
                done = self._results.get(timeout=_WAKE_EVERY)
            except queue.Empty:
                continue
            if done is None:
                at_work -= 1
            else:
                yield done

    def left(self) -> list[str]:
        """The files that no process could be had for."""
        return list(self._waiting)

    def end(self) -> None:
        """End all processes, wherever they are."""
        with self._lock:
            self._ended = True
            workers = list(self._workers)
        for worker in workers:
            worker.kill()
        for thread in self._threads:
            if thread.ident is not None:  # an interrupt may come before all have started
                thread.join()

    def _take(self) -> list[str]:
        with self._lock:
            if self._ended:
                return []
            count = min(self._batch, len(self._waiting))
            return [self._waiting.popleft() for _ in range(count)]

    def _give_back(self, files: Sequence[str]) -> None:
        with self._lock:
            self._waiting.extendleft(reversed(files))

    def _tend(self) -> None:
        try:
            while batch := self._take():
                worker = self._started()
                if worker is None:
                    self._give_back(batch)
                    return
                self._serve(worker, batch)
        finally:
            self._results.put(None)

    def _started(self) -> _Worker | None:
        with self._lock:
            if self._ended:
                return None
            try:
                worker = _Worker(self._start)
            except OSError:
                return None
            self._workers.add(worker)
        if worker.is_ready():
            return worker
        self._forget(worker)
        return None

    def _serve(self, worker: _Worker, batch: list[str]) -> None:
        """Have a process audit files until there are none, or it dies."""
        while batch:
            worker.ask(batch)
            for at, path in enumerate(batch):
                done = worker.answer(path, self._sections)
                if done is None:
                    self._give_back(batch[at + 1 :])
                    how = self._forget(worker)
                    if not self._ended:
                        self._results.put(Done(path, _died(path, how)))
                    return
                self._results.put(done)
            batch = self._take()
        self._forget(worker)

    def _forget(self, worker: _Worker) -> int:
        with self._lock:
            self._workers.discard(worker)
        return worker.end()


class _Worker:
    """One process; see `worker`."""

    def __init__(self, start: dict[str, object]):
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START.format(root=_ROOT), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # An interrupt from the keyboard is ours to handle.
            start_new_session=os.name == "posix",
        )
        self._write([start])

    def is_ready(self) -> bool:
        """Whether it has come up."""
        return self._read() == "ready\n"

    def ask(self, files: Sequence[str]) -> None:
        """Have it audit files."""
        self._write(files)

    def answer(self, path: str, sections: bool) -> Done | None:
        """What it says of the next file, which is `path`; `None` if it is no more."""
        text = Stored(self._read(), self._read())
        if not text.sections.endswith("\n"):
            return None
        try:
            outcome = stored.decode(text if sections else text._replace(sections=NO_SECTIONS))
        except ValueError:
            return None
        return Done(path, outcome, text)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def end(self) -> int:
        """Let it end, and tell its exit code."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
        return self._process.wait()

    def _write(self, values: Sequence[object]) -> None:
        assert self._process.stdin is not None
        # If it died, that shows where an answer is missing.
        with suppress(OSError, ValueError):
            self._process.stdin.write("".join(f"{json.dumps(value)}\n" for value in values))
            self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            return self._process.stdout.readline()
        return ""


def _died(path: str, code: int) -> Outcome:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    failure = Failure(f"verax itself failed: the process that read it {how}", Place(path, 0))
    return Outcome(noted(Report(path), failure), failed=True)
