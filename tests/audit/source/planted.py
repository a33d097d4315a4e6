"""An analysis that finds what is planted, so that everything around it can be tested.

A line with `BUG CODE` is an issue, one with `SMELL CODE` a warning. `import name` consults name.py
beside the file, and finds there what is planted, too. `CRASH` raises, `DIE` ends the process.
"""

import os
import re
from pathlib import Path

from verax.audit import Confidence, Engine, Finding, Place, Report, Severity
from verax.audit.report import Flow
from verax.audit.source.analyse import Analysis, unread
from verax.audit.source.project import Project
from verax.audit.source.reading import Problem, UnreadableError, parse

_PLANTED = re.compile(r"\b(BUG|SMELL) ([A-Z]{2}\d{3})")


def analyse(path: str, project: Project, sections: bool = True, *_: object) -> Analysis:
    if log := os.environ.get("VERAX_TEST_LOG"):
        with open(log, "a") as file:
            file.write(f"{Path(path).name}\n")
    project.disk.start()
    source = project.disk.read(path)
    tree = parse(source)
    if isinstance(tree, Problem):
        return Analysis(unread(tree))
    found = _findings(path, source.text)
    for name in re.findall(r"^import (\w+)$", source.text, re.MULTILINE):
        other = str(Path(path).with_name(f"{name}.py"))
        try:
            found += _findings(other, project.disk.read(other).text)
        except UnreadableError:
            continue
    if "CRASH" in source.text:
        raise RuntimeError("planted")
    if "DIE" in source.text:
        os._exit(3)
    issues = tuple(finding for word, finding in found if word == "BUG")
    warnings = tuple(finding for word, finding in found if word == "SMELL")
    flow = Flow(f"entry of {Path(path).name}", Place(path, 1), (), (), ())
    report = Report(path, (flow,) if sections else (), issues=issues, warnings=warnings)
    return Analysis(report, project.disk.contents())


def _findings(path: str, text: str) -> list[tuple[str, Finding]]:
    return [
        (match[1], _finding(path, number, match[2]))
        for number, line in enumerate(text.split("\n"), 1)
        for match in _PLANTED.finditer(line)
    ]


def _finding(path: str, line: int, code: str) -> Finding:
    return Finding(
        code,
        "axis",
        "A planted bug",
        Severity.CRITICAL,
        Confidence.CERTAIN,
        Place(path, line),
        "it is there",
        "it is not",
        "remove it",
        Engine.SOURCE,
    )
