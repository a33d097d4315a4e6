"""Many files at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import verax
from verax.audit.source import parallel
from verax.audit.source.engine import Options, audit_paths
from verax.audit.source.progress import Bar


def audit(jobs: int | None = 2):
    return audit_paths(["."], Options(jobs=jobs, cache=False))


def test_the_report_is_the_same_however_many_processes(elsewhere: Path):
    for number in range(40):
        (elsewhere / f"m{number}.py").write_text(f"x = {number}  # BUG AX001\nimport m1\n" * 2)
    (elsewhere / "broken.py").write_text("def f(:")
    one = audit(1)
    assert len(one.issues) == 80
    assert len(one.notes) == 1
    assert audit(2) == one
    assert audit(5) == one


def test_a_process_that_dies_costs_one_file(elsewhere: Path):
    for number in range(30):
        (elsewhere / f"m{number}.py").write_text("x = 1  # BUG AX001\n")
    for name in ("k1.py", "m7.py", "z1.py"):
        (elsewhere / name).write_text("x = 'DIE'\n")
    report = audit(2)
    assert len(report.issues) == 29
    assert report.notes == tuple(
        f"{elsewhere / name}: verax itself failed: the process that read it ended with exit code 3"
        for name in ("k1.py", "m7.py", "z1.py")
    )


def test_where_no_process_can_be_had_this_one_does_it(planted: Path, monkeypatch):
    for number in range(10):
        (planted / f"m{number}.py").write_text("x = 1  # BUG AX001\n")
    monkeypatch.setattr(parallel, "_START", "raise SystemExit")
    assert len(audit(2).issues) == 10
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert len(audit(2).issues) == 10
    monkeypatch.setattr(sys, "executable", "")
    assert len(audit(2).issues) == 10


def test_little_work_is_done_in_one_process(planted: Path, monkeypatch):
    for number in range(10):
        (planted / f"m{number}.py").write_text("x = 1  # BUG AX001\n")
    monkeypatch.setattr(parallel, "_Pool", lambda *_: pytest.fail("not worth it"))
    assert len(audit(None).issues) == 10


def test_an_interrupt_ends_all_processes(planted: Path):
    for number in range(4):
        (planted / f"m{number}.py").write_text("")
    program = (
        "import sys, verax.cli, verax.audit.source.parallel as it\n"
        "it._START = \"print('ready', flush=True); import time; time.sleep(600)\"\n"
        "sys.exit(verax.cli.main(['audit', '.', '--jobs', '2']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(verax.__file__).parents[1])},
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        process.communicate()
        pytest.skip("this system does not tell who started whom")
    try:
        deadline = time.monotonic() + 30
        while len(started := _descendants(process.pid)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 130
        for pid in started:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
    finally:
        process.kill()
        process.wait()


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(it) for it in (task / "children").read_text().split()]
    return found


class _Terminal:
    """Stderr as a terminal that keeps what is shown."""

    def __init__(self, is_terminal: bool):
        self.shown = ""
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self.shown += text
        return len(text)

    def flush(self) -> None: ...


@pytest.mark.parametrize(
    ("is_terminal", "seconds", "shows"),
    [(True, 3.0, True), (True, 1.0, False), (False, 3.0, False)],
)
def test_a_bar_shows_on_a_terminal_after_two_seconds(monkeypatch, is_terminal, seconds, shows):
    monkeypatch.setenv("TERM", "xterm")
    stderr = _Terminal(is_terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    with Bar(10) as bar:
        bar._start -= seconds
        bar.advance()
        bar.advance()
    assert ("2/10" in stderr.shown) == shows
    assert shows or stderr.shown == ""
