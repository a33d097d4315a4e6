"""How much of what an audit by reading says is wrong, on packages that no rule was written after.

Pinned versions are downloaded with pip, unpacked without running any of their code, and audited,
with what rules in preview report. Issues outside of tests have been read one by one: the record
(`verax.audit.record`) says which are true, which are false, and which are so, but do no harm. One
that is not in there has come since and is unread. The goal is fewer than one false issue in 10,000
lines of what is on by default.

    python -m benchmarks.source_precision

brings the record up to date: new issues enter it unread, and those that are gone leave it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verax.audit import record
from verax.audit.in_tests import is_test_file
from verax.audit.record import Verdict, verdict_of
from verax.audit.rules.registry import find

from .timing import Effort, Fact, Outcome

PACKAGES: dict[str, dict[str, Any]] = record.read()["packages"]


@dataclass
class Audited:
    """What an audit says about a package, outside of its tests."""

    lines: int = 0
    in_tests: int = 0
    issues: list[str] = field(default_factory=list[str])
    failures: list[str] = field(default_factory=list[str])

    def judgements(self, package: str) -> dict[str, str]:
        """What the record says of each issue."""
        known = PACKAGES[package]["findings"]
        return {issue: known.get(issue, Verdict.UNREAD.value) for issue in self.issues}


def unpacked(package: str, version: str, folder: Path) -> bool:
    """Whether a package could be downloaded; its files are in the folder then."""
    words = ("download", "--no-deps", "--only-binary", ":all:", "--quiet", "--dest", str(folder))
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, f"{package}=={version}"],
        capture_output=True,
        check=False,
    )
    for wheel in folder.glob("*.whl") if done.returncode == 0 else ():
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder, [it for it in files.namelist() if it.endswith(".py")])
        return True
    return False


_AUDIT = (sys.executable, "-m", "verax", "audit", ".")


def audited(folder: Path) -> Audited:
    """What `verax audit` says about a folder."""
    found = Audited(sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py")))
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [*_AUDIT, "--preview", "--format", "json", "--no-cache"],
            cwd=folder,
            env={**os.environ, "VERAX_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=False,  # Findings make an exit code of their own.
        )
    report = json.loads(done.stdout)
    for issue in report["issues"]:
        if is_test_file(issue["file"]):
            found.in_tests += 1
        else:
            found.issues.append(f"{issue['code']} {issue['file']}:{issue['line']}")
    found.failures = [note for note in report.get("notes", ()) if "failed" in note]
    return found


def measured(packages: Iterable[str]) -> Iterator[tuple[str, Audited]]:
    """The packages that could be downloaded, each with what an audit says about it."""
    for package in packages:
        with tempfile.TemporaryDirectory() as folder:
            if unpacked(package, PACKAGES[package]["version"], Path(folder)):
                yield package, audited(Path(folder))


def run(effort: Effort) -> Iterator[Outcome]:
    total, verdicts, codes = Audited(), Counter[Verdict](), Counter[str]()
    for package, found in measured([*PACKAGES][: 1 if effort.quick else None]):
        judgements = found.judgements(package)
        on = [it for it in found.issues if not find(it.partition(" ")[0]).preview]
        judged = Counter(verdict_of(judgements[it]) for it in on)
        total.lines += found.lines
        total.in_tests += found.in_tests
        total.issues += on
        total.failures += found.failures
        verdicts += judged
        codes.update(it.partition(" ")[0] for it in on)
        name = f"{package} {PACKAGES[package]['version']}, {found.lines:,} lines"
        is_good = judged[Verdict.FALSE] * 10_000 <= found.lines
        yield Fact(name, is_good, _counts(judged, found.in_tests))
    if total.lines:
        rate = verdicts[Verdict.FALSE] * 10_000 / total.lines
        listed = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
        yield Fact("issues by rule", True, listed)
        yield Fact("rules that failed", not total.failures, "; ".join(total.failures) or "none")
        name = f"false issues in 10,000 of {total.lines:,} lines: {rate:.2f}"
        yield Fact(name, rate < 1, _counts(verdicts, total.in_tests))


def _counts(judged: Counter[Verdict], in_tests: int) -> str:
    counted = ", ".join(f"{judged[it]} {it}" for it in Verdict)
    return f"{counted}; {in_tests} in tests"


def main() -> None:
    data = record.read()
    for package, found in measured(PACKAGES):
        judgements = found.judgements(package)
        data["packages"][package] |= {"lines": found.lines, "findings": judgements}
        for issue in sorted(judgements.keys() ^ PACKAGES[package]["findings"].keys()):
            print(f"{'+' if issue in judgements else '-'} {package}: {issue}")
        record.write(data)


if __name__ == "__main__":
    main()
