"""Audit programs of well-known libraries: full reports, no crash, no false issue.

    make programs [ARGS='ppo brax_rollout']

Each module beside this one has an `entry`, its `inputs()` and perhaps `AXES`. They are believed to
be correct, so that an issue is a false one. Prints a line for each, and fails if one has an issue,
a rule that failed, an empty section, or cannot be audited at all.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import jax

from verax.audit.report import Report
from verax.audit.run import audit_callable

HERE = Path(__file__).parent


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"there is no program {name}; there are {', '.join(programs())}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def programs() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != Path(__file__).stem)


def complaints(report: Report) -> list[str]:
    found = [f"{it.place} {it.code} {it.title}: {it.current}" for it in report.issues]
    found += [note for note in report.notes if "failed" in note or "could not" in note]
    for section in ("data_flow", "transformation_stack"):
        if not getattr(report, section):
            found.append(f"the section {section} is empty")
    return found


def check(name: str) -> bool:
    start = time.perf_counter()
    try:
        module = load(name)
        arguments = tuple(module.inputs())
        axes = getattr(module, "AXES", None)
        report = audit_callable(module.entry, arguments, {}, axes=axes, strict=True)
        found = complaints(report)
    except Exception:
        found = [traceback.format_exc()]
        report = None
    seconds = time.perf_counter() - start
    steps = (
        sum(1 for flow in report.data_flow for it in flow.steps for _ in it.walk()) if report else 0
    )
    verified = len(report.verified) if report else 0
    verdict = "ok" if not found else "FAILED"
    print(f"{name:24} {verdict:7} {steps:4} lines, {verified:3} verified, {seconds:5.1f} s")
    for complaint in found:
        print(f"    {complaint}")
    jax.clear_caches()
    return not found


def main() -> None:
    warnings.simplefilter("ignore")  # of the libraries
    sys.path.insert(0, str(HERE.parents[2]))  # for the examples
    os.chdir(tempfile.mkdtemp())  # Some libraries leave files where they are.
    passed = [check(name) for name in sys.argv[1:] or programs()]
    print(f"{sum(passed)} of {len(passed)} programs are clean")
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
