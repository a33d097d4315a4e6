"""Observations as JSON, by the schema `verax.run/1`, and back.

A store may come with a repository that somebody else has written. So what is read is data: each
part is checked to be of the type that it has to be, and nothing of it is ever run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from ...conforming import conforms
from ...render.from_json import from_data
from ...render.to_json import as_data
from ...report import Report
from .observations import Function, Leaf, Observations, Range, Run, Signature

SCHEMA = "verax.run/1"
Data = dict[str, Any]
_T = TypeVar("_T")
_HIGHEST_RANK = 64  # NumPy's


class NotStoredError(Exception):
    """A text is not what `to_json` writes; the message says what is wrong with it."""


def to_json(seen: Observations) -> str:
    """The observations as JSON in ASCII, the same text for the same observations."""
    data = {
        "schema": SCHEMA,
        "runs": [
            {"id": it.id, "time": it.time, "report": as_data(it.report)}
            for it in seen.runs.values()
        ],
        "functions": [
            {
                "kind": function.kind,
                "name": function.name,
                "file": function.file,
                "line": function.line,
                "digest": function.digest,
                "signatures": [
                    [_leaf(leaf, ranges) for leaf in signature]
                    for signature, ranges in sorted(signatures.items())
                ],
            }
            for function, signatures in seen.functions.items()
        ],
    }
    return json.dumps(data, allow_nan=False, separators=(",", ":")) + "\n"


def _leaf(leaf: Leaf, ranges: Mapping[str, Range]) -> Data:
    if not leaf.dtype:
        return {"name": leaf.name, "value": leaf.value}
    data: Data = {"name": leaf.name, "dtype": leaf.dtype, "shape": list(leaf.shape)}
    data |= {"weak": leaf.weak, "key": leaf.is_key}
    if leaf.name in ranges:
        data |= {"low": ranges[leaf.name].low, "high": ranges[leaf.name].high}
    return data


def of_json(text: str | bytes) -> Observations:
    """The observations that `to_json` wrote.

    Raises:
        NotStoredError: Somebody else did, or another version of verax.
    """
    try:
        data = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        raise NotStoredError("is damaged: it is no JSON") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith("verax.run/"):
            raise NotStoredError(f"is of another version of verax: {schema[:40]}, not {SCHEMA}")
        raise NotStoredError("is nothing that `verax run` has stored")
    try:
        runs = {it.id: it for it in map(_run, data["runs"])}
        functions = dict(map(_function, data["functions"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise NotStoredError(f"is damaged: {_what(error)}") from None
    return Observations(dict(sorted(runs.items())), dict(sorted(functions.items())))


def _integer(text: str) -> int:
    """A number that everybody can calculate with; an array may hold 64 bits."""
    number = int(text)
    if abs(number) > 2**64:
        raise ValueError("too large a number")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("no finite number")
    return number


def _what(error: Exception) -> str:
    return (
        f"there is no {error}" if isinstance(error, KeyError) else "it has a part of a wrong type"
    )


def _run(data: Data) -> Run:
    return _checked(Run(data["id"], data["time"], _report(data["report"])))


def _report(data: Data) -> Report:
    return _checked(from_data(data))


def _function(data: Data) -> tuple[Function, dict[Signature, dict[str, Range]]]:
    fields = ("kind", "name", "file", "line", "digest")
    function = _checked(Function(*(data[name] for name in fields)))
    return function, dict(map(_signature, data["signatures"]))


def _signature(data: list[Data]) -> tuple[Signature, dict[str, Range]]:
    leaves = tuple(_checked(_of_leaf(it)) for it in data)
    return leaves, {it["name"]: _range(it["low"], it["high"]) for it in data if "low" in it}


def _of_leaf(data: Data) -> Leaf:
    if "value" in data:
        return Leaf(data["name"], value=data["value"])
    shape = data["shape"]
    if not data["dtype"] or len(shape) > _HIGHEST_RANK or any(size < 0 for size in shape):
        raise ValueError("no type of an array")
    return Leaf(data["name"], data["dtype"], tuple(shape), data["weak"], data["key"])


def _range(low: Any, high: Any) -> Range:
    found = Range(low, high)
    if not all(type(it) in (int, float) and math.isfinite(it) for it in found):
        raise ValueError("no number")
    return found


def _checked(value: _T) -> _T:
    if not conforms(value, type(value)):
        raise TypeError
    return value
