"""A finding that says "this raises" is about a line at which the program does raise.

Programs are run to see whether they do. Those that run to their end may have such findings only at
lines that they never came to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import jax
import pytest

from verax.audit.finding import Finding, Severity
from verax.audit.reconcile import reconciled
from verax.audit.rules.registry import all_rules
from verax.audit.run import audit_callable
from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options, audit_paths

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    f"{rule.code}-{kind}": getattr(rule, kind)
    for rule in all_rules()
    for kind in ("wrong", "right")
}
# Rules about other packages: their programs run only where these are at hand.
ELSEWHERE = {
    name
    for name, text in PROGRAMS.items()
    for line in text.splitlines()
    if line.startswith(("import ", "from ")) and find_spec(line.split()[1].split(".")[0]) is None
}
RAISING = tuple(rule for rule in all_rules() if rule.severity is Severity.ERROR)


@pytest.fixture(autouse=True)
def jax_as_it_comes() -> Iterator[None]:
    """Our suite forbids broadcasts between ranks; the programs of rules live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - ELSEWHERE))
def test_what_is_said_to_raise_raises(name: str, tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    text = PROGRAMS[name]
    file = Path("program.py").resolve()
    read = audit_text(text, "program")
    module = ModuleType("program")
    code = compile(text, str(file), "exec", dont_inherit=True)
    monkeypatch.setitem(sys.modules, "program", module)
    exec(code, module.__dict__)
    traced = audit_callable(module.entry, tuple(module.inputs()), {}, rules=RAISING)
    for report in (read, traced, reconciled(read, traced)):
        said = [it for it in report.findings if it.severity is Severity.ERROR]
        if said:
            assert_some_raise_or_are_not_reached(said, module, str(file))


def assert_some_raise_or_are_not_reached(
    said: list[Finding], module: ModuleType, file: str
) -> None:
    with lines_run(file) as reached:
        try:
            jax.block_until_ready(module.entry(*module.inputs()))
        except Exception:
            return
    assert [str(it) for it in said if it.place.line in reached] == []


def test_programs_that_need_other_packages_are_not_said_to_raise():
    found = [it for name in ELSEWHERE for it in audit_text(PROGRAMS[name], "program").findings]
    assert [str(it) for it in found if it.severity is Severity.ERROR] == []


@contextmanager
def lines_run(file: str) -> Iterator[set[int]]:
    """The lines of a file that run inside."""
    found: set[int] = set()

    def follow(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            found.add(frame.f_lineno)
        return follow

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        return follow if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield found
    finally:
        sys.settrace(before)


def test_examples_that_run_are_not_said_to_raise():
    """Other tests run them all, also those that are broken: silently."""
    report = audit_paths([str(ROOT / "examples")], Options(cache=False, jobs=1))
    assert [str(it) for it in report.findings if it.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    "file", sorted((ROOT / "tests/audit/programs").glob("**/*.py")), ids=lambda it: it.stem
)
def test_real_programs_are_not_said_to_raise(file: Path):
    """They run to their end, as `make programs` shows."""
    report = audit_paths([str(file)], Options(cache=False, jobs=1))
    assert [str(it) for it in report.findings if it.severity is Severity.ERROR] == []


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_of_the_documentation_are_not_said_to_raise(page: Path):
    """Each page is a program that other tests run."""
    blocks = page.read_text().split("```python\n")[1:]
    text = "\n".join(block.partition("```")[0] for block in blocks)
    found = audit_text(text, "page").findings
    assert [str(it) for it in found if it.severity is Severity.ERROR] == []
