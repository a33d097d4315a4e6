"""Real processes: whatever ends `verax audit`, and whatever a function does, nothing is left."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import verax

STARTED: list[subprocess.Popen[str]] = []
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(verax.__file__).parents[1])}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A working directory, whose path all processes of a test have in their environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ENVIRONMENT, "VERAX_TEST_OF", str(tmp_path))
    yield tmp_path
    for pid in running():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in STARTED:
        process.communicate()
    STARTED.clear()


def running() -> list[int]:
    """All processes that this test has started, directly or not, and that have not ended."""
    mark = f"VERAX_TEST_OF={Path.cwd()}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(entry.name)
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def eventually(holds: Callable[[], object], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: {running()}"
        time.sleep(0.02)


def start(*arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "verax", "audit", *arguments, "--no-cache"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    STARTED.append(process)
    return process


def trace(body: str, *options: str) -> subprocess.Popen[str]:
    """Audit a function that does this while it is traced."""
    lines = textwrap.indent(textwrap.dedent(body), "    ")
    Path("train.py").write_text(
        "import os, signal, subprocess, sys, threading, time\nfrom pathlib import Path\n"
        f"def step(x):\n{lines}\n    return x * 2\n"
    )
    return start("train.py:step", "--in", "x=f32[]", *options)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """How it ends, with what it says to people; nothing may be left of it by then."""
    _, errors = process.communicate(timeout=120)
    eventually(lambda: not running(), "these are left", 10)
    says = [it for it in errors.split("\n") if it.startswith("verax: ")]
    return process.returncode, "\n".join(says)


LEAVES_THE_SESSION = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        Path("away").write_text("")
        time.sleep(600)
    os._exit(0)
while not Path("away").exists():
    time.sleep(0.01)
"""
SPINS = 'Path("ready").write_text("")\nwhile True: pass\n'


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_trace_ends_with_the_auditor(number: signal.Signals, code: int):
    started = "subprocess.Popen(['sleep', '600'])\n"
    process = trace(LEAVES_THE_SESSION + started + SPINS)
    eventually(Path("ready").exists, "it is never traced")
    # The auditor, the keeper, the function, the one that left, `sleep`.
    eventually(lambda: len(running()) == 5, "these are running")
    process.send_signal(number)
    assert ended(process) == (code, "")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_workers_end_with_the_auditor(number: signal.Signals, code: int):
    calls = "".join(
        f"def f{i}(x):\n    return f{(i + 1) % 900}(x) + f{(7 * i + 3) % 900}(x)\n"
        for i in range(900)
    )
    for name in ("one", "two", "three"):
        Path(f"{name}.py").write_text(calls)
    process = start(".", "--jobs", "2")
    eventually(lambda: len(running()) == 3, "there are no workers")
    process.send_signal(number)
    assert ended(process) == (code, "")


STOPS = {
    "os._exit(0)": "the process ended with exit code 0",
    "sys.exit(3)": "it calls sys.exit(3)",
    "threading.Thread(target=time.sleep, args=(600,)).start(); sys.exit()": "it calls sys.exit()",
    "if os.fork():\n    os._exit(5)\ntime.sleep(600)": "the process ended with exit code 5",
    LEAVES_THE_SESSION + "os._exit(6)": "the process ended with exit code 6",
    "os.kill(os.getpid(), signal.SIGKILL)": (
        "the process was ended by SIGKILL; it may have needed more memory than there is"
    ),
    "os.killpg(0, signal.SIGTERM); time.sleep(600)": "the process was ended by SIGTERM",
    "os.abort()": "the process was ended by SIGABRT",
    "raise KeyboardInterrupt": "it raises KeyboardInterrupt",
    "raise GeneratorExit('\\x1b[2J')": "it raises GeneratorExit",
}


@pytest.mark.parametrize("body", STOPS)
def test_a_function_that_ends_its_process_is_told(body: str):
    assert ended(trace(body)) == (2, f"verax: error: tracing train.py:step: {STOPS[body]}")


def test_a_function_that_closes_every_file_is_told():
    code, says = ended(trace("os.closerange(0, 1000)"))
    assert code == 2
    assert says.startswith("verax: error: tracing train.py:step: the process ended with exit code ")


@pytest.mark.parametrize(
    "body",
    [
        "threading.Thread(target=time.sleep, args=(600,)).start()",
        "subprocess.Popen(['sleep', '600'])",
        LEAVES_THE_SESSION,
        "print('{}'); os.write(1, b'{}\\n')",
    ],
)
def test_what_a_function_leaves_behind_is_ended(body: str):
    assert ended(trace(body)) == (0, "")


ENDLESS = ["while True: pass", "time.sleep(600)", LEAVES_THE_SESSION + "os.wait(); time.sleep(600)"]


@pytest.mark.parametrize("body", ENDLESS)
def test_a_trace_without_end_is_ended(body: str):
    code, says = ended(trace(body, "--trace-timeout", "2"))
    assert code == 2
    assert says == (
        "verax: error: tracing train.py:step took more than 2 s; allow more with --trace-timeout, "
        "or `trace-timeout` in [tool.verax] of pyproject.toml"
    )


def test_the_limit_of_a_trace_can_be_set_for_a_project():
    Path("pyproject.toml").write_text("[tool.verax]\ntrace-timeout = 1.5\n")
    code, says = ended(trace("time.sleep(600)"))
    assert code == 2
    assert "took more than 1.5 s" in says


def test_a_function_that_ends_its_keeper_ends_itself():
    code, says = ended(trace("os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)"))
    assert code == 2
    assert "the process was ended by SIGKILL" in says


def test_python_may_be_started_by_a_script():
    """As some environments do, where the parent of what is started is a shell."""
    Path("python").write_text(f'#!/bin/sh\n"{sys.executable}" "$@"\nexit $?\n')
    Path("python").chmod(0o755)
    program = "import sys; sys.executable = './python'; from verax.cli import run; run()"
    Path("train.py").write_text("def step(x):\n    return x * 2\n")
    arguments = ["audit", "train.py:step", "--in", "x=f32[]", "--no-cache"]
    STARTED.append(
        subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
    )
    assert ended(STARTED[-1]) == (0, "")
