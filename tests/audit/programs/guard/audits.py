"""The audit of one program as a user gets it, with that of each of its defects; and its check."""

from __future__ import annotations

import ast
import importlib.util
import io
import os
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from verax.audit import _child, _importing
from verax.audit.child import Given, request_for
from verax.audit.command import audit_targets
from verax.audit.errors import UsageError
from verax.audit.report import Report
from verax.audit.source.engine import Options
from verax.audit.target import FunctionTarget

from .defects import Defect, codes_added, read_defects
from .pins import Entries, Entry, entries_of

ROOT = Path(__file__).parents[4]


@dataclass
class Outcome:
    """What came of one program.

    `found` are, for each defect, the codes that are reported because of it, each with the findings.
    `problems` are what keeps a program from being audited, or its result from being right.
    """

    name: str
    lines: int
    steps: int = 0
    entries: Entries = field(default_factory=Entries)
    defects: tuple[Defect, ...] = ()
    found: list[dict[str, list[Entry]]] = field(default_factory=list[dict[str, list[Entry]]])
    problems: list[str] = field(default_factory=list[str])
    seconds: float = 0.0


def gone_through(file: Path, defects: Path, is_checked: bool) -> Outcome:
    """Audit a program and its defects, and run its check; nothing that it does is an exception."""
    start = time.perf_counter()
    sys.path.insert(0, str(ROOT))  # for the examples
    text = file.read_text()
    outcome = Outcome(file.stem, text.count("\n"))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries
        os.chdir(folder)  # Some libraries leave files where they are.
        try:
            with redirect_stdout(io.StringIO()):
                _go_through(outcome, file, defects, is_checked)
        except (UsageError, ValueError) as error:
            outcome.problems.append(str(error))
        except Exception:
            outcome.problems.append(traceback.format_exc())
        os.chdir(ROOT)
    outcome.seconds = time.perf_counter() - start
    return outcome


def _go_through(outcome: Outcome, file: Path, defects: Path, is_checked: bool) -> None:
    missing = packages_missing(file.read_text())
    if missing:
        raise UsageError(
            f"{', '.join(missing)} not installed: `make programs` installs what all programs need, "
            "as `pip install -e '.[programs]'` does"
        )
    outcome.defects = read_defects(defects)
    report = audited(file)
    outcome.entries = entries_of(report)
    outcome.steps = sum(1 for it in report.data_flow for step in it.steps for _ in step.walk())
    outcome.problems += _complaints(report)
    text = file.read_text()
    for defect in outcome.defects:
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder, file.name)
            broken.write_text(defect.applied(text))
            after = entries_of(audited(broken))
        outcome.found.append(codes_added(outcome.entries, after))
    if is_checked:
        outcome.problems += _failures(file)


def packages_missing(text: str) -> list[str]:
    """The packages that a program imports at its beginning, and that are not there."""
    names: set[str] = set()
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Import):
            names.update(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            names.add(statement.module)
    packages = {name.partition(".")[0] for name in names}
    return sorted(it for it in packages if importlib.util.find_spec(it) is None)


def _failures(file: Path) -> list[str]:
    """What is wrong with a program by its own check, with the line of the program that says so."""
    try:
        _importing.import_file(str(file), Path.cwd()).check()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [it for it in frames if it.filename == str(file)]
        if not own:
            raise
        at = own[-1]
        said = "".join(traceback.format_exception_only(error)).strip()
        return [f"its check failed at {file.name}:{at.lineno}: {at.line}\n{said}"]
    return []


def audited(file: Path) -> Report:
    """The report of `verax audit FILE:entry --inputs inputs --axes AXES`, made in this process."""
    has_axes = any(line.startswith("AXES") for line in file.read_text().split("\n"))
    given = Given(inputs="inputs", axes="AXES" if has_axes else None)
    options = Options(jobs=1, cache=False)
    return audit_targets([f"{file}:entry"], given, options=options, trace=_traced_here)


def _traced_here(target: FunctionTarget, given: Given, timeout: float) -> Report:
    import jax

    jax.clear_caches()
    return _child.serve(request_for(target, given), lambda phase: None)


def _complaints(report: Report) -> list[str]:
    """What must not be in the report of a program that runs."""
    found = [note for note in report.notes if "failed" in note or "could not" in note]
    for section in ("data_flow", "transformation_stack"):
        if not getattr(report, section):
            found.append(f"the section {section} is empty")
    return found
