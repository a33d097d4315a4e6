"""The outcome of one file's audit as text: between processes, and in the cache.

The sections that show how data flows are a text of their own. They are most of an outcome, and what
lists the findings of a whole project never looks at them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

from ..finding import Finding
from ..render.from_json import from_data
from ..render.to_json import as_data
from ..report import Report
from .outcome import Outcome

_FINDINGS = ("issues", "warnings")
_SECTIONS = ("data_flow", "transformation_stack", "shape_trace")
NO_SECTIONS = json.dumps(dict.fromkeys(_SECTIONS, ()), separators=(",", ":"))


class Stored(NamedTuple):
    """An outcome in two lines of JSON."""

    findings: str
    sections: str


def encode(outcome: Outcome) -> Stored:
    """An outcome as text."""
    report = as_data(outcome.report)
    paths = {name: [sorted(it.paths) for it in getattr(outcome.report, name)] for name in _FINDINGS}
    sections = {name: report.pop(name) for name in _SECTIONS}
    findings = {
        "report": report,
        "paths": paths,
        "digests": dict(outcome.digests),
        "has_comments": outcome.has_comments,
        "failed": outcome.failed,
        "uses_jax": outcome.uses_jax,
        "kinds": dict(outcome.kinds),
        "observed": outcome.observed,
    }
    return Stored(_line(findings), _line(sections))


def decode(stored: Stored) -> Outcome:
    """The outcome that `encode` wrote.

    Raises:
        ValueError: It is no text of `encode`.
    """
    findings, sections = json.loads(stored.findings), json.loads(stored.sections)
    try:
        report = from_data(findings["report"] | sections)
        report = replace(report, **_with_paths(report, findings["paths"]))
        rest = ("digests", "has_comments", "failed", "uses_jax", "kinds", "observed")
        return Outcome(report, **{name: findings[name] for name in rest})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no outcome: {error!r}") from None


def _with_paths(report: Report, paths: dict[str, Any]) -> dict[str, tuple[Finding, ...]]:
    """The findings with the ways to them, which a report as JSON leaves out."""
    return {
        name: tuple(
            replace(it, paths=frozenset(tuple(map(tuple, path)) for path in own))
            for it, own in zip(getattr(report, name), paths[name], strict=True)
        )
        for name in _FINDINGS
    }


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, allow_nan=False, separators=(",", ":"))
