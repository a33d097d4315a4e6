"""How much of what an audit by reading says is wrong, on packages that no rule was written after.

Pinned versions are downloaded with pip, unpacked without running any of their code, and audited.
Issues outside of tests have been read one by one: `source_precision.json` lists which are true,
which are false, and which one can argue about. One that is not in there has come since and is
unread. The goal is fewer than one false issue in 10,000 lines.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .timing import Effort, Fact, Outcome

PACKAGES = {
    "alphafold": "2.0.0",
    "aqtp": "0.9.0",
    "augmax": "0.4.1",
    "aws-fortuna": "0.2.0",
    "bayeux-ml": "0.1.15",
    "clu": "0.0.12",
    "coax": "0.1.13",
    "colabdesign": "1.1.1",
    "craftax": "1.6.1",
    "dm-clrs": "2.0.3",
    "dm-haiku": "0.0.17",
    "dm-pix": "0.4.5",
    "dynamax": "1.0.3",
    "dynamiqs": "0.3.7",
    "e3nn-jax": "0.21.0",
    "e3x": "1.0.2",
    "equimo": "1.1.0",
    "evojax": "0.2.17",
    "evosax": "0.3.2",
    "exponax": "0.2.0",
    "flashbax": "0.1.3",
    "flowjax": "19.1.2",
    "gemma": "3.3.0",
    "gpjax": "1.0.0",
    "haliax": "1.3",
    "jax-cfd": "0.2.1",
    "jax-galsim": "2026.7.0",
    "jax-privacy": "2.0.0",
    "jaxley": "0.14.0",
    "jaxlie": "1.5.0",
    "jaxmarl": "0.2.0",
    "jaxopt": "0.8.5",
    "jaxsim": "0.9.0",
    "jraph": "0.0.6.dev0",
    "jumanji": "1.1.2",
    "kauldron": "1.4.2",
    "kfac-jax": "0.0.8",
    "levanter": "1.1",
    "lineax": "0.1.1",
    "mctx": "0.0.71",
    "navix": "0.7.4",
    "netket": "3.23.0",
    "neural-tangents": "0.6.5",
    "neuralgcm": "1.2.2",
    "objax": "1.8.0",
    "optimistix": "0.1.0",
    "orbax-checkpoint": "0.12.8",
    "oryx": "0.2.9",
    "ott-jax": "0.6.0",
    "paxml": "1.4.0",
    "penzai": "0.2.5",
    "pgx": "2.6.0",
    "praxis": "1.4.0",
    "probdiffeq": "0.9.2",
    "qdax": "0.5.0",
    "quax": "0.4.6",
    "qwix": "0.1.8",
    "rejax": "0.1.3",
    "s2fft": "1.5.0",
    "sbijax": "0.3.4",
    "scico": "0.0.7",
    "tinygp": "0.3.1",
    "tokamax": "0.0.12",
    "torax": "1.4.3",
    "xminigrid": "0.9.3",
}
JUDGED: dict[str, dict[str, list[str]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text()
)
_VERDICTS = ("true", "arguable", "false", "unread")
_IN_TESTS = re.compile(r"(^|/|_)(tests?|testing)(/|_|\.py$)|_test\.py$|(^|/)conftest\.py$")


@dataclass
class Audited:
    """What an audit says about a package, outside of its tests."""

    lines: int = 0
    in_tests: int = 0
    issues: list[str] = field(default_factory=list[str])
    failures: list[str] = field(default_factory=list[str])

    def judged(self, package: str) -> Counter[str]:
        """How many issues are true, arguable, false and unread."""
        verdicts = JUDGED.get(package, {})
        told = {issue: verdict for verdict, issues in verdicts.items() for issue in issues}
        return Counter(told.get(issue, "unread") for issue in self.issues)


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


def audited(folder: Path) -> Audited:
    """What `verax audit` says about a folder."""
    found = Audited(sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py")))
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "verax", "audit", ".", "--format", "json", "--no-cache"],
            cwd=folder,
            env={**os.environ, "VERAX_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=False,  # Findings make an exit code of their own.
        )
    report = json.loads(done.stdout)
    for issue in report["issues"]:
        if _IN_TESTS.search(issue["file"]):
            found.in_tests += 1
        else:
            found.issues.append(f"{issue['code']} {issue['file']}:{issue['line']}")
    found.failures = [note for note in report.get("notes", ()) if "failed" in note]
    return found


def run(effort: Effort) -> Iterator[Outcome]:
    total, verdicts, codes = Audited(), Counter[str](), Counter[str]()
    for package, version in [*PACKAGES.items()][: 1 if effort.quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            if not unpacked(package, version, Path(folder)):
                continue
            found = audited(Path(folder))
        judged = found.judged(package)
        total.lines += found.lines
        total.in_tests += found.in_tests
        total.issues += found.issues
        total.failures += found.failures
        verdicts += judged
        codes.update(it.partition(" ")[0] for it in found.issues)
        name = f"{package} {version}, {found.lines:,} lines"
        yield Fact(name, judged["false"] * 10_000 <= found.lines, _counts(judged, found.in_tests))
    if total.lines:
        rate = verdicts["false"] * 10_000 / total.lines
        listed = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
        yield Fact("issues by rule", True, listed)
        yield Fact("rules that failed", not total.failures, "; ".join(total.failures) or "none")
        name = f"false issues in 10,000 of {total.lines:,} lines: {rate:.2f}"
        yield Fact(name, rate < 1, _counts(verdicts, total.in_tests))


def _counts(judged: Counter[str], in_tests: int) -> str:
    counted = ", ".join(f"{judged[it]} {it}" for it in _VERDICTS)
    return f"{counted}; {in_tests} in tests"
