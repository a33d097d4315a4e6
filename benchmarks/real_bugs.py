"""How many bugs that people really made an audit shows when the program runs.

    python -m benchmarks.real_bugs REPOSITORIES [--run] [--only PART] [-v] [--json FILE]

`drivers/` has a small program for each bug, which runs the project's own code out of a checkout of
the commit before the fix, and `drivers/bugs.json` says where the bug is. REPOSITORIES is a folder
with a git directory `owner+name` for each project; none of their code is part of this one. The
drivers import what `drivers/requirements.txt` lists.

Each driver is audited at the commit before the fix and at the fix: traced on its inputs, or with
`--run` by `verax run`. A bug is *found* if a finding of an accepted family points, by itself or by
a step of its evidence, within three lines of it; *in the function* if one points into the function
around it, and is *gone* after the fix.

Findings in the checkout *at the fix* are false, or bugs that are left. `drivers/at_fix.json` has
a verdict for each that somebody has read beside the project's code: *true* (the program is wrong
there), *harmless* (it is as the finding says, and nothing comes of it) or *false* (it is not so, or
clearly meant and right). A key that is used twice is a true finding if both results matter, even
if the numbers differ: developers fix that, too. `-v` lists the findings with their verdicts, and
as *unread* those that have none.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "drivers"
_NEAR = 3  # lines
_VERDICTS = ("true", "harmless", "false")


@dataclass
class Outcome:
    """What was found of one bug; `skipped` says why it could not be tried."""

    bug: dict[str, Any]
    found: bool = False
    in_function: bool = False
    gone: bool = False
    before: list[dict[str, Any]] = field(default_factory=list)
    after: list[dict[str, Any]] = field(default_factory=list)
    skipped: str = ""


def repository(folder: Path, name: str) -> Path | None:
    """The git directory of a project."""
    home = folder / name.replace("/", "+")
    candidates = [home, *sorted(home.glob("*"))] if home.is_dir() else []
    return next((it for it in candidates if (it / "objects").is_dir()), None)


def lay_out(git: Path, commit: str, folder: Path) -> None:
    """Write the Python files of a commit into a folder, but for those that the copy lacks."""
    listed = _git(git, "ls-tree", "-r", "-z", commit).split(b"\0")
    files = [it.partition(b"\t") for it in listed if it.startswith(b"100") and it.endswith(b".py")]
    wanted = b"".join(it.split()[2] + b"\n" for it, _, _ in files)
    contents = BytesIO(_git(git, "cat-file", "--batch", given=wanted))
    for _, _, name in files:
        head = contents.readline().split()
        if head[-1] == b"missing":
            continue
        path = folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents.read(int(head[2])))
        contents.read(1)


def _git(git: Path, *command: str, given: bytes = b"") -> bytes:
    words = ["git", f"--git-dir={git}", *command]
    return subprocess.run(words, input=given, check=True, capture_output=True).stdout


def audited(driver: Path, git: Path, commit: str, run: bool) -> Iterator[tuple[Path, list[Any]]]:
    """The folder of a checkout, and what is found in it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        lay_out(git, commit, folder)
        report = folder / "report.json"
        output = ["--format", "json", "-o", str(report)]
        if run:
            command = ["run", *output, str(driver)]
        else:
            axes = ["--axes", "AXES"] if "\nAXES" in driver.read_text() else []
            given = ["--inputs", "inputs", *axes, "--no-cache"]
            command = ["audit", f"{driver}:entry", *given, *output]
        subprocess.run(
            [sys.executable, "-m", "verax", *command],
            capture_output=True,
            timeout=900,
            cwd=folder,
            env={**os.environ, "CHECKOUT": str(folder), "JAX_PLATFORMS": "cpu"},
        )
        data = json.loads(report.read_text())
        findings = [*data["issues"], *data["warnings"]]
        inside = [it for it in findings if (folder / it["file"]).is_relative_to(folder)]
        yield folder, [it for it in inside if not Path(it["file"]).is_absolute()]


def tried(bug: dict[str, Any], driver: Path, repositories: Path, run: bool) -> Outcome:
    """What is found of a bug before its fix, and after."""
    outcome = Outcome(bug)
    git = repository(repositories, bug["repo"])
    if git is None:
        outcome.skipped = f"{bug['repo']} is not among the repositories"
        return outcome
    try:
        for folder, findings in audited(driver, git, bug["parent"], run):
            outcome.before = findings
            spans = functions_around(folder / bug["path"], bug["lines"])
        for _, findings in audited(driver, git, bug["fix"], run):
            outcome.after = findings
    except (OSError, ValueError, SyntaxError, subprocess.SubprocessError) as error:
        outcome.skipped = f"{type(error).__name__}: {error}"[:200]
        return outcome
    families = {bug["family"], *bug["also"]}
    near = [it for it in outcome.before if it["family"] in families and _points_at(it, bug)]
    here = [it for it in outcome.before if it["file"] == bug["path"]]
    around = [it for it in here if any(low <= it["line"] <= high for low, high in spans)]
    left = Counter(it["code"] for it in outcome.after if it["file"] == bug["path"])
    was = Counter(it["code"] for it in here)
    outcome.found, outcome.in_function = bool(near), bool(near or around)
    outcome.gone = any(left[it["code"]] < was[it["code"]] for it in near or around)
    return outcome


def functions_around(file: Path, lines: list[int]) -> list[tuple[int, int]]:
    """First and last line of the innermost function around each line."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    nodes = (it for it in ast.walk(ast.parse(file.read_text())) if isinstance(it, kinds))
    spans = [(it.lineno, it.end_lineno or it.lineno) for it in nodes]
    return [max((it for it in spans if it[0] <= n <= it[1]), default=(n, n)) for n in lines]


@cache
def _read() -> dict[str, dict[str, str]]:
    """What is known of the findings at the fix of each bug: "verdict: reason" by code and place."""
    known: dict[str, dict[str, str]] = json.loads((HERE / "at_fix.json").read_text())
    for bug, findings in known.items():
        for place, text in findings.items():
            if text.partition(":")[0] not in _VERDICTS:
                raise ValueError(
                    f"at_fix.json: {bug}: {place}: begin with one of {', '.join(_VERDICTS)}, and a "
                    f"colon, not {text!r}"
                )
    return known


def verdict(bug: dict[str, Any], finding: dict[str, Any]) -> str:
    """What was read of a finding at a fix, or that nobody has read it."""
    place = f"{finding['code']} {finding['file']}:{finding['line']}"
    return _read().get(bug["id"], {}).get(place, "unread")


def _points_at(finding: dict[str, Any], bug: dict[str, Any]) -> bool:
    places = [finding, *(it["place"] for it in finding["evidence"] if it["place"])]
    return any(
        it["file"] == bug["path"] and any(abs(it["line"] - line) <= _NEAR for line in bug["lines"])
        for it in places
    )


def show(outcome: Outcome, verbose: bool) -> None:
    bug = outcome.bug
    if outcome.skipped:
        print(f"skipped   {bug['id']}: {outcome.skipped}", flush=True)
        return
    word = "found" if outcome.found else "function" if outcome.in_function else "missed"
    print(f"{word:9} {'gone' if outcome.gone else '':5} {bug['id']}", flush=True)
    if verbose:
        for title, findings in (("before", outcome.before), ("at fix", outcome.after)):
            for it in findings:
                print(f"    {title} {it['file']}:{it['line']}: {it['code']} {it['current'][:90]}")
                if findings is outcome.after:
                    print(f"        {verdict(outcome.bug, it)}")


def totals(outcomes: list[Outcome]) -> Iterator[str]:
    tried_ = [it for it in outcomes if not it.skipped]
    silent = [it for it in tried_ if not it.bug["loud"]]
    for label, some in (("all", tried_), ("silent", silent)):
        yield (
            f"{label}: {sum(it.found for it in some)} found within {_NEAR} lines, "
            f"{sum(it.in_function for it in some)} in the function, "
            f"{sum(it.gone for it in some)} of these gone after the fix, of {len(some)}; "
            f"{sum(len(it.after) for it in some)} findings at the fixes: {_verdicts(some)}"
        )


def _verdicts(outcomes: list[Outcome]) -> str:
    """How many findings at the fixes have each verdict."""
    words = [verdict(it.bug, one).partition(":")[0] for it in outcomes for one in it.after]
    return ", ".join(f"{words.count(word)} {word}" for word in (*_VERDICTS, "unread"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("repositories", type=Path, help="a folder with git directories")
    parser.add_argument("--run", action="store_true", help="by `verax run` instead of a trace")
    parser.add_argument("--only", default="", metavar="PART", help="drivers with this in the name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes here")
    parser.add_argument("-v", "--verbose", action="store_true", help="list all findings")
    options = parser.parse_args()
    bugs = {it["id"]: it for it in json.loads((HERE / "bugs.json").read_text())}
    outcomes: list[Outcome] = []
    for driver in sorted(HERE.glob("*.py")):
        if driver.stem in bugs and options.only in driver.stem:
            outcome = tried(bugs[driver.stem], driver, options.repositories, options.run)
            outcomes.append(outcome)
            show(outcome, options.verbose)
    print(*totals(outcomes), sep="\n")
    if options.json is not None:
        data = [vars(it) | {"bug": it.bug["id"]} for it in outcomes]
        options.json.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
