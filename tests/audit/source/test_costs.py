"""An audit takes as long as a file is long, whatever the file says."""

import cProfile
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from verax.audit.report import Report
from verax.audit.source.analyse import analyse, audit_text
from verax.audit.source.project import Project

from .growing import FAMILIES, HEAD, LONG


def work(text: str) -> int:
    """How much work it is to audit a program."""
    return work_of(lambda: audit_text(text))


def work_of(audit: Callable[[], Report]) -> int:
    """How many functions of Python an audit calls: what time cannot say exactly."""
    profile = cProfile.Profile(builtins=False)
    with at_most(seconds=60):
        report = profile.runcall(audit)
    count = sum(entry.callcount for entry in profile.getstats())
    assert count < 3_000_000
    assert not [note for note in report.notes if "failed" in note or "cannot be read" in note]
    return count


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """What never ends is stopped, and fails: by its own time on the processor."""

    def stop(*_: object) -> None:
        raise AssertionError(f"it takes more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("family", [*FAMILIES, *LONG])
def test_twice_the_program_is_not_much_more_than_twice_the_work(family: str):
    program = {**FAMILIES, **LONG}[family]
    audit_text(HEAD)  # What is loaded at first is no work of the program's.
    nothing = work(HEAD)
    once, twice = (work(HEAD + program(size)) - nothing for size in (20, 40))
    assert twice < 3 * once + 1000


@pytest.mark.parametrize("family", LONG)
def test_no_rule_goes_through_pairs(family: str):
    """Loops are counted as well, of programs that are long enough for squares to show."""
    program = LONG[family]
    audit_text(HEAD)
    once, twice = (lines_for(HEAD + program(size)) for size in (50, 100))
    assert twice < 3 * once


def lines_for(text: str) -> int:
    """How many lines of Python run for an audit, each as often as it does."""
    count = 0

    def step(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal count
        count += 1
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        audit_text(text)
    finally:
        sys.settrace(before)
    return count


def test_a_helper_of_one_long_line_is_followed_only_so_often():
    """It is a single statement, and yet most of the file."""
    calls = ", ".join(f"jnp.sin(x + {i})" for i in range(200))
    helper = f"{HEAD}def h(x):\n    return [{calls}]\n"
    jitted = [f"@jax.jit\ndef f{i}(x):\n    return h(x)\n" for i in range(60)]
    few, more = (work(helper + "".join(jitted[:count])) for count in (15, 60))
    assert more < 2.5 * few


def test_a_module_costs_what_is_asked_of_it(tmp_path: Path):
    rows = "".join(f"row{i} = jnp.sin(jnp.ones({i}) + {i}) * 2 + 1\n" for i in range(300))
    (tmp_path / "table.py").write_text(f"import jax.numpy as jnp\n\nSIZE = 3\n{rows}")
    costs: list[int] = []
    for name in ("SIZE", ", ".join(f"row{i}" for i in range(300))):
        use = tmp_path / "use.py"
        use.write_text(f"from table import {name}\n\nALL = [{name}]\n")
        project = Project([str(tmp_path)])
        project.module(str(tmp_path / "table.py"))  # Reading it is work in any case.
        costs.append(work_of(lambda: analyse(str(use), project).report))  # noqa: B023
    assert 4 * costs[0] < costs[1]


AFTER = """
@jax.jit
def after(x):
    return float(x)
"""


@pytest.mark.parametrize("operator", [" + 1", ".a", "[0]", "(1)", ".at[0].set(1)"])
def test_what_is_nested_some_hundred_times_is_gone_through(operator: str):
    report = audit_text(f"{HEAD}def f(x):\n    return x{operator * 400}\n{AFTER}", strict=True)
    assert [finding.code for finding in report.issues] == ["JT202"]
    assert report.notes == ()


def test_what_is_nested_too_deeply_is_named_and_the_rest_is_audited():
    text = f"{HEAD}def f(x):\n    y = {'not ' * 2500}x\n    return y\n{AFTER}"
    line = text.split("\n").index("    y = " + "not " * 2500 + "x") + 1
    report = audit_text(text)
    assert [finding.code for finding in report.issues] == ["JT202"]
    assert [f"py:{line}:" in note and "too deeply" in note for note in report.notes] == [True]


def test_what_cannot_be_written_out_is_told_without_its_text():
    deep = " + ".join(["x"] * 2000)
    report = audit_text(f"{HEAD}@jax.jit\ndef f(x):\n    return jnp.zeros(float({deep}))\n")
    assert [finding.code for finding in report.issues] == ["JT202"]
    assert report.notes == ()


HUGE = [
    "2 ** 10 ** 9",
    "1 << 10 ** 12",
    "'a' * 10 ** 12",
    "b'a' * 10 ** 12",
    "[0] * 10 ** 12",
    "(1, 2) * 10 ** 12",
    "'%100000000000d' % 3",
    "'%*d' % (10 ** 11, 3)",
    "'{:>100000000000}'.format(3)",
    "f'{3:>100000000000}'",
    "list(range(10 ** 12))",
    "bytes(10 ** 12)",
    "np.zeros(10 ** 12) @ jnp.zeros((10 ** 12, 10 ** 12))",
    "jax.random.split(jax.random.key(0), 10 ** 12)",
    "[i for i in range(10 ** 12)]",
    "sum(range(10 ** 12)) ** sum(range(10 ** 12))",
]


@pytest.mark.parametrize("expression", HUGE)
def test_what_would_not_fit_into_memory_is_not_computed(expression: str):
    program = f"""
    A = {expression}

    @jax.jit
    def f(x):
        y = {expression}
        for _ in range(10 ** 12):
            x = x + 1
        return x, y
    """
    assert work(HEAD + textwrap.dedent(program)) < 100_000
