# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What an editor infers about audits: `verax.audit` is a package and a function."""

from typing import assert_type

import verax
from verax.audit import AuditError, Finding, Report


def step(x: float, y: float = 1.0) -> float:
    return x * y


report = verax.audit(step, 1.0, y=2.0, axes={"x": ""}, ranges={"x": (0, 1)})
assert_type(report, Report)
assert_type(report.to_json(), str)
assert_type(report.issues, tuple[Finding, ...])
assert_type(verax.audit.Report("t"), Report)
verax.audit(3)  # pyright: ignore[reportArgumentType]

try:
    report.raise_issues(verax.audit.Confidence.CERTAIN)
except AuditError as error:
    assert_type(error.issues, tuple[Finding, ...])
