"""A report as SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..finding import Edit, Evidence, Finding, Place, Severity
from ..report import Report
from ..rules.registry import UnknownRuleError, find
from ._json import json_text
from ._places import with_short_files
from ._summary import remarks_of

_LEVELS = {Severity.CRITICAL: "error", Severity.ERROR: "error", Severity.MINOR: "warning"}
# How code hosts order alerts: 9 and above is critical, 7 high, 4 medium.
_RANKS = {Severity.CRITICAL: 90.0, Severity.ERROR: 70.0, Severity.MINOR: 30.0}

Data = dict[str, Any]


def render(report: Report) -> str:
    """The findings as one run; what verax calls a warning has the level note."""
    report = with_short_files(report)
    results = [_result(issue, _LEVELS[issue.severity]) for issue in report.issues]
    results += [_result(warning, "note") for warning in report.warnings]
    driver = {"name": "verax", "rules": _rules(report)}
    run: Data = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": results,
    }
    log: Data = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json_text(log)


def _invocation(report: Report) -> Data:
    """How the audit went; what could not be audited is an error, unless that is allowed."""
    unread = [it for it in report.unread if not it.allowed]
    notifications = [_notification("error", it.text, it.place) for it in report.failures]
    notifications += [
        _notification("warning" if it.allowed else "error", str(it), it.place)
        for it in report.unread
    ]
    notifications += [_notification("note", it, None) for it in remarks_of(report)]
    return {
        "executionSuccessful": not report.failures and not unread,
        "toolExecutionNotifications": notifications,
    }


def _notification(level: str, text: str, place: Place | None) -> Data:
    notification: Data = {"level": level, "message": {"text": text}}
    if place is not None:
        notification["locations"] = [_location(place)]
    return notification


def _rules(report: Report) -> list[Data]:
    first: dict[str, Finding] = {}
    for finding in report.findings:
        first.setdefault(finding.code, finding)
    return [_rule(finding) for _, finding in sorted(first.items())]


def _rule(finding: Finding) -> Data:
    data: Data = {
        "id": finding.code,
        "shortDescription": {"text": finding.title},
        "properties": {"tags": [finding.family]},
    }
    try:
        rule = find(finding.code)
    except UnknownRuleError:
        return data
    return data | {
        "name": rule.name,
        "fullDescription": {"text": rule.explanation.strip()},
        "help": {"text": rule.explanation.strip(), "markdown": rule.explanation.strip()},
    }


def _result(finding: Finding, level: str) -> Data:
    text = finding.current
    if finding.expected:
        text += f"\nExpected: {finding.expected}"
    if finding.fix:
        text += f"\nFix: {finding.fix}"
    result: Data = {
        "ruleId": finding.code,
        "level": level,
        "rank": _RANKS[finding.severity],
        "message": {"text": text or finding.title},
        "locations": [_location(finding.place)],
        "partialFingerprints": {"verax/1": _fingerprint(finding)},
        "properties": {
            "severity": finding.severity.value,
            "confidence": finding.confidence.value,
            "engine": finding.engine.value,
            "preview": finding.preview,
        },
    }
    if finding.edit is not None:
        result["fixes"] = [_fix(finding.fix, finding.edit)]
    steps = [_step(step) for step in finding.evidence]
    if steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _fix(text: str, edit: Edit) -> Data:
    location = _location(edit.place)["physicalLocation"]
    *above, last = edit.old.split("\n")
    start = 1 if above else edit.place.column
    end = {"endLine": edit.place.line + len(above), "endColumn": start + len(last)}
    change = {
        "deletedRegion": location["region"] | end,
        "insertedContent": {"text": edit.new},
    }
    return {
        "description": {"text": text},
        "artifactChanges": [
            {"artifactLocation": location["artifactLocation"], "replacements": [change]}
        ],
    }


def _step(step: Evidence) -> Data:
    location = _location(step.place) if step.place else {}
    return {"location": {**location, "message": {"text": step.text}}}


def _location(place: Place) -> Data:
    location: Data = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file)},
            "region": {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)},
        }
    }
    logical = [{"name": f"cell {place.cell}", "kind": "cell"}] if place.cell else []
    if place.function:
        logical.append({"name": place.function, "kind": "function"})
    if logical:
        location["logicalLocations"] = logical
    return location


def _uri(file: str) -> str:
    if os.path.isabs(file):
        return Path(file).as_uri()
    return quote(file.replace(os.sep, "/"), errors="surrogateescape")


def _fingerprint(finding: Finding) -> str:
    """The same after lines were added above, so that a host does not take it for a new one."""
    text = "\0".join((finding.code, finding.place.file, finding.place.function, finding.current))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
