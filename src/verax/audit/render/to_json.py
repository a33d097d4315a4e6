"""A report as JSON, by the schema `verax.report/1`; `from_json` reads it again.

The schema's document is docs/report-schema.json. Numbers are finite: a bound that is infinite is
written as the text "inf" or "-inf", and one that is not a number as null, as if nothing were known.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from ..finding import Edit, Evidence, Finding, Place, Verified
from ..report import (
    SCHEMA,
    Compiled,
    Crossing,
    Flow,
    FlowStep,
    FlowValue,
    Report,
    Tensor,
    Transformation,
    Unfollowed,
    Unread,
)
from ._json import json_text
from ._places import with_short_files
from ._summary import by_confidence, by_family, by_severity, gravest, summary

Data = dict[str, Any]


def render(report: Report) -> str:
    """The report as indented JSON, with files as they are shown."""
    return json_text(as_data(with_short_files(report)))


def as_data(report: Report) -> Data:
    """The report as what JSON can hold, with files as they are."""
    return {
        "schema": SCHEMA,
        "target": report.target,
        "data_flow": [_flow(flow) for flow in report.data_flow],
        "transformation_stack": [_transformation(it) for it in report.transformation_stack],
        "shape_trace": [_crossing(crossing) for crossing in report.shape_trace],
        "issues": [_finding(finding) for finding in report.issues],
        "verified": [_verified(verified) for verified in report.verified],
        "warnings": [_finding(finding) for finding in report.warnings],
        "notes": list(report.notes),
        "unfollowed": [_with_reason(it) | {"on_host": it.on_host} for it in report.unfollowed],
        "unread": [_with_reason(it) | {"allowed": it.allowed} for it in report.unread],
        "failures": [{"place": _place(it.place), "text": it.text} for it in report.failures],
        "compiled": [_compiled(it) for it in report.compiled],
        "summary": _summary(report),
    }


def _compiled(it: Compiled) -> Data:
    return {
        "name": it.name,
        "place": _place(it.place),
        "count": it.count,
        "seconds": it.seconds,
        "again": [
            {"place": _place(again.place), "reason": again.reason, "seconds": again.seconds}
            for again in it.again
        ],
    }


def _with_reason(it: Unfollowed | Unread) -> Data:
    return {"place": _place(it.place), "reason": it.reason}


def _summary(report: Report) -> Data:
    worst = gravest(report)
    return {
        "text": summary(report),
        "issues": len(report.issues),
        "warnings": len(report.warnings),
        "verified": len(report.verified),
        "by_confidence": {it.value: count for it, count in by_confidence(report).items()},
        "by_severity": {it.value: count for it, count in by_severity(report.issues).items()},
        "by_family": by_family(report),
        "worst": worst and worst.value,
    }


def _finding(finding: Finding) -> Data:
    return {
        "code": finding.code,
        "family": finding.family,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        **_position(finding.place),
        "title": finding.title,
        "current": finding.current,
        "expected": finding.expected,
        "fix": finding.fix,
        "engine": finding.engine.value,
        "evidence": [_evidence(step) for step in finding.evidence],
        **({"edit": _edit(finding.edit)} if finding.edit else {}),
        "preview": finding.preview,
    }


def _edit(edit: Edit) -> Data:
    return {"place": _place(edit.place), "old": edit.old, "new": edit.new}


def _evidence(step: Evidence) -> Data:
    return {"text": step.text, "place": _place(step.place)}


def _verified(verified: Verified) -> Data:
    return {
        "code": verified.code,
        "family": verified.family,
        "claim": verified.claim,
        "reason": verified.reason,
        "place": _place(verified.place),
        "preview": verified.preview,
    }


def _place(place: Place | None) -> Data | None:
    return place and _position(place)


def _position(place: Place) -> Data:
    position: Data = {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "function": place.function,
    }
    if place.cell:
        position["cell"] = place.cell
    return position


def _flow(flow: Flow) -> Data:
    return {
        "entry": flow.entry,
        "place": _place(flow.place),
        "inputs": [_value(value) for value in flow.inputs],
        "steps": [_step(step) for step in flow.steps],
        "outputs": [_value(value) for value in flow.outputs],
        "notes": list(flow.notes),
    }


def _step(step: FlowStep) -> Data:
    return {
        "kind": step.kind,
        "text": step.text,
        "place": _place(step.place),
        "consumes": list(step.consumes),
        "produces": [_value(value) for value in step.produces],
        "consumed_by": list(step.consumed_by),
        "notes": list(step.notes),
        "repeat": step.repeat,
        "children": [_step(child) for child in step.children],
    }


def _value(value: FlowValue) -> Data:
    return {"id": value.id, "name": value.name, "tensor": _tensor(value.tensor)}


def _tensor(tensor: Tensor | None) -> Data | None:
    return tensor and {
        "text": str(tensor),
        "dtype": tensor.dtype,
        "shape": [size if isinstance(size, str) else int(size) for size in tensor.shape],
        "axes": list(tensor.axes),
        "weak": bool(tensor.weak),
        "low": _bound(tensor.low),
        "high": _bound(tensor.high),
    }


def _bound(value: float | int | None) -> float | int | str | None:
    # What engines compute with may be numpy's numbers, which json does not know.
    if value is None or isinstance(value, Integral):
        return value if value is None else int(value)
    number = float(value)
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return None if math.isnan(number) else number


def _transformation(node: Transformation) -> Data:
    return {
        "kind": node.kind,
        "name": node.name,
        "place": _place(node.place),
        "settings": [{"name": name, "value": value} for name, value in node.settings],
        "effects": list(node.effects),
        "repeat": node.repeat,
        "children": [_transformation(child) for child in node.children],
    }


def _crossing(crossing: Crossing) -> Data:
    return {
        "boundary": crossing.boundary,
        "place": _place(crossing.place),
        "role": crossing.role,
        "name": crossing.name,
        "before": _tensor(crossing.before),
        "after": _tensor(crossing.after),
    }
