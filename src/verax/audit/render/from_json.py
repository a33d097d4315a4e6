"""A report from its JSON: the other direction of `to_json`."""

from __future__ import annotations

import json
from typing import Any

from ..finding import Confidence, Edit, Engine, Evidence, Finding, Place, Severity, Verified
from ..report import (
    SCHEMA,
    Compiled,
    Crossing,
    Failure,
    Flow,
    FlowStep,
    FlowValue,
    Recompilation,
    Report,
    Tensor,
    Transformation,
    Unfollowed,
    Unread,
)

Data = dict[str, Any]


def from_json(text: str) -> Report:
    """The report that this JSON describes.

    Raises:
        ValueError: The text is not JSON, or its schema is not `verax.report/1`.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"not a report of schema {SCHEMA!r}: {text[:60]!r}")
    return from_data(data)


def from_data(data: Data) -> Report:
    """The report that `to_json.as_data` took apart."""
    return Report(
        target=data["target"],
        data_flow=tuple(_flow(it) for it in data["data_flow"]),
        transformation_stack=tuple(_transformation(it) for it in data["transformation_stack"]),
        shape_trace=tuple(_crossing(it) for it in data["shape_trace"]),
        issues=tuple(_finding(it) for it in data["issues"]),
        verified=tuple(_verified(it) for it in data["verified"]),
        warnings=tuple(_finding(it) for it in data["warnings"]),
        notes=tuple(data["notes"]),
        # They came later than the schema.
        unfollowed=tuple(_unfollowed(it) for it in data.get("unfollowed", ())),
        unread=tuple(_unread(it) for it in data.get("unread", ())),
        failures=tuple(_failure(it) for it in data.get("failures", ())),
        compiled=tuple(_compiled(it) for it in data.get("compiled", ())),
    )


def _compiled(data: Data) -> Compiled:
    return Compiled(
        name=data["name"],
        place=_place(data["place"]),
        count=data["count"],
        seconds=data["seconds"],
        again=tuple(
            Recompilation(_place(it["place"]), it["reason"], it["seconds"]) for it in data["again"]
        ),
    )


def _unfollowed(data: Data) -> Unfollowed:
    return Unfollowed(_position(data["place"]), data["reason"], data["on_host"])


def _unread(data: Data) -> Unread:
    return Unread(_position(data["place"]), data["reason"], data.get("allowed", False))


def _failure(data: Data) -> Failure:
    return Failure(data["text"], _place(data["place"]))


def _finding(data: Data) -> Finding:
    return Finding(
        code=data["code"],
        family=data["family"],
        title=data["title"],
        severity=Severity(data["severity"]),
        confidence=Confidence(data["confidence"]),
        place=_position(data),
        current=data["current"],
        expected=data["expected"],
        fix=data["fix"],
        engine=Engine(data["engine"]),
        evidence=tuple(Evidence(it["text"], _place(it["place"])) for it in data["evidence"]),
        edit=_edit(data.get("edit")),
        preview=data.get("preview", False),  # it came later than the schema
    )


def _edit(data: Data | None) -> Edit | None:
    return None if data is None else Edit(_position(data["place"]), data["old"], data["new"])


def _verified(data: Data) -> Verified:
    place = _place(data["place"])
    return Verified(
        data["code"],
        data["family"],
        data["claim"],
        data["reason"],
        place,
        data.get("preview", False),
    )


def _place(data: Data | None) -> Place | None:
    return None if data is None else _position(data)


def _position(data: Data) -> Place:
    cell = data.get("cell", 0)  # only notebooks have cells
    return Place(data["file"], data["line"], data["column"], data["function"], cell)


def _flow(data: Data) -> Flow:
    return Flow(
        entry=data["entry"],
        place=_place(data["place"]),
        inputs=tuple(_value(it) for it in data["inputs"]),
        steps=tuple(_step(it) for it in data["steps"]),
        outputs=tuple(_value(it) for it in data["outputs"]),
        notes=tuple(data["notes"]),
    )


def _step(data: Data) -> FlowStep:
    return FlowStep(
        text=data["text"],
        place=_place(data["place"]),
        consumes=tuple(data["consumes"]),
        produces=tuple(_value(it) for it in data["produces"]),
        consumed_by=tuple(data["consumed_by"]),
        notes=tuple(data["notes"]),
        children=tuple(_step(it) for it in data["children"]),
        repeat=data["repeat"],
        kind=data["kind"],
    )


def _value(data: Data) -> FlowValue:
    return FlowValue(data["id"], data["name"], _known_tensor(data["tensor"]))


def _tensor(data: Data | None) -> Tensor | None:
    return None if data is None else _known_tensor(data)


def _known_tensor(data: Data) -> Tensor:
    return Tensor(
        dtype=data["dtype"],
        shape=tuple(data["shape"]),
        axes=tuple(data["axes"]),
        weak=data["weak"],
        low=_bound(data["low"]),
        high=_bound(data["high"]),
    )


def _bound(value: float | int | str | None) -> float | int | None:
    return float(value) if isinstance(value, str) else value


def _transformation(data: Data) -> Transformation:
    return Transformation(
        kind=data["kind"],
        name=data["name"],
        place=_place(data["place"]),
        settings=tuple((it["name"], it["value"]) for it in data["settings"]),
        effects=tuple(data["effects"]),
        children=tuple(_transformation(it) for it in data["children"]),
        repeat=data["repeat"],
    )


def _crossing(data: Data) -> Crossing:
    return Crossing(
        boundary=data["boundary"],
        place=_place(data["place"]),
        role=data["role"],
        name=data["name"],
        before=_tensor(data["before"]),
        after=_tensor(data["after"]),
    )
