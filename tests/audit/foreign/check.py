"""Audit code that is not JAX's, in which there is nothing to find.

    make foreign [ARGS='sqlalchemy json']

The standard library and well-known packages are audited twice: as they stand, and as copies in
which every file also imports JAX, so that all that is said of arrays has to come from how a value
was made, and not from the name of a method. A finding, a failure of ours and a file that could not
be audited fail. Time and memory are shown, to be compared with those of an earlier run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

PACKAGES = ("sqlalchemy", "django", "networkx", "sympy", "attr", "attrs", "pandas")
STANDARD_LIBRARY = "stdlib"
# Templates and tests of parsers, which are no Python on purpose, and what is installed beside.
_NOT_PROGRAMS = ("lib2to3", "idlelib", "turtledemo", "conf", "site-packages", "test", "tests")


_PASSED_ON = (
    "false: a `key` of a dict is passed on in a loop, to a function of which nothing is known"
)
_EXCHANGED = "false: the arguments are exchanged on purpose"
# What is reported of copies that import JAX, by code and function.
KNOWN = {
    ("DF101", "SourceFileLoader.set_data"): "true: `filename` is never read",
    ("DF115", "FullInverseLaplacian.solve"): "true: the zeros are replaced at once",
    ("RK002", "_CollectionAttributeImpl.fire_append_event"): _PASSED_ON,
    ("RK002", "_CollectionAttributeImpl.fire_append_wo_mutation_event"): _PASSED_ON,
    ("DF121", "_relationships_for_fks"): _EXCHANGED,
    ("DF121", "AsBoolean._negate"): _EXCHANGED,
}


@dataclass(frozen=True)
class Audit:
    """What one audit said, and what it took; `megabytes` is the largest of its processes."""

    code: int
    report: dict[str, Any]
    errors: str
    seconds: float
    megabytes: float

    def problems(self) -> Iterator[str]:
        """All that should not be there."""
        for finding in (*self.report.get("issues", ()), *self.report.get("warnings", ())):
            if (finding["code"], finding["function"]) in KNOWN:
                continue
            where = f"{finding['file']}:{finding['line']}"
            yield f"{finding['confidence']} {finding['code']} at {where}: {finding['current']}"
        for entry in self.report.get("failures", ()):
            yield entry["text"]
        for entry in self.report.get("unread", ()):
            yield f"{entry['place']['file']} is not read: {entry['reason']}"
        if self.code and not self.report.get("issues"):
            yield f"exit code {self.code}: {self.errors.strip()}"


def audited(folder: Path) -> Audit:
    """The audit of a folder, as a user would start it."""
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary, "report.json")
        # `-P`: what is audited here is called like what Python itself imports.
        command = [sys.executable, "-P", "-m", "verax", "audit", ".", "--no-cache", "--preview"]
        start = time.monotonic()
        process = subprocess.Popen(
            [*command, "--format", "json", "-o", str(output)],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        report = json.loads(output.read_bytes()) if output.exists() else {}
    seconds = time.monotonic() - start
    return Audit(process.returncode, report, errors, seconds, usage.ru_maxrss / 1024)


def folders() -> dict[str, Path]:
    """Where each package lies."""
    found = {STANDARD_LIBRARY: Path(sysconfig.get_path("stdlib"))}
    for name in PACKAGES:
        spec = PathFinder.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            sys.exit(f"{name} is not installed; `make foreign` installs it")
        found[name] = Path(next(iter(spec.submodule_search_locations)))
    return found


def copied(folder: Path, into: Path, with_jax: bool) -> Path:
    """A copy of the Python files of a package, outside of what an audit leaves out."""
    into = into / folder.name
    shutil.copytree(folder, into, ignore=_ignored)
    if with_jax:
        for file in into.rglob("*.py"):
            with file.open("ab") as stream:
                stream.write(b"\nimport jax\n")
    return into


def _ignored(folder: str, names: list[str]) -> list[str]:
    return [
        name
        for name in names
        if name in _NOT_PROGRAMS
        or not (name.endswith(".py") or os.path.isdir(os.path.join(folder, name)))
    ]


def main() -> None:
    """Audit what is named, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    known = folders()
    parser.add_argument("packages", metavar="PACKAGE", nargs="*", help="(default: all)")
    parser.add_argument("--output", metavar="FILE", help="write all that was said, as JSON")
    options = parser.parse_args()
    for name in options.packages:
        if name not in known:
            parser.error(f"there is no package {name}; there are {', '.join(known)}")
    said: dict[str, list[str]] = {}
    for name in options.packages or known:
        for with_jax in (False, True):
            title = name + " importing JAX" * with_jax
            with tempfile.TemporaryDirectory() as temporary:
                folder = copied(known[name], Path(temporary), with_jax)
                audit = audited(folder)
            said[title] = list(audit.problems())
            codes = Counter(it["code"] for it in audit.report.get("issues", ()))
            verdict = "FAILED" if said[title] else "ok"
            print(
                f"{title:26} {verdict:7} {audit.seconds:6.1f} s {audit.megabytes:6.0f} MB  "
                + ", ".join(f"{count} {code}" for code, count in codes.most_common()),
                *said[title],
                sep="\n    ",
                flush=True,
            )
    if options.output:
        Path(options.output).write_text(json.dumps(said, indent=2))
    sys.exit(any(said.values()))


if __name__ == "__main__":
    main()
