"""Which files are tests, and what weighs less in them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from .finding import Finding
from .render._places import short_file
from .repetition import in_order
from .report import Report

_NAME = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_FOLDERS = frozenset(("test", "tests", "testing"))


def is_test_file(path: str) -> bool:
    """Whether a file is part of a test suite, by its name and by the folders in the path."""
    *folders, name = path.replace(os.sep, "/").split("/")
    return bool(_NAME.fullmatch(name)) or not _FOLDERS.isdisjoint(folders)


def reuse_in_tests_warns(report: Report) -> Report:
    """The report with what it says about random keys in test files among the warnings.

    A test draws from one key again and again so that it sees the same numbers.
    """
    here = Path.cwd()

    def is_lenient(finding: Finding) -> bool:
        # Above the working directory, folders say where it lies, and nothing about the file.
        return finding.family == "prng" and is_test_file(short_file(finding.place.file, here))

    lenient = tuple(filter(is_lenient, report.issues))
    if not lenient:
        return report
    issues = tuple(it for it in report.issues if it not in lenient)
    return replace(report, issues=issues, warnings=in_order((*report.warnings, *lenient)))
