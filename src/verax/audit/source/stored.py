"""The outcome of one file's audit as text: between processes, and in the cache."""

from __future__ import annotations

import json

from ..render.from_json import from_data
from ..render.to_json import as_data
from .one_file import Outcome


def encode(outcome: Outcome) -> str:
    """An outcome as one line of JSON."""
    return json.dumps(
        {
            "report": as_data(outcome.report),
            "digests": dict(outcome.digests),
            "has_comments": outcome.has_comments,
            "failed": outcome.failed,
        },
        allow_nan=False,
        separators=(",", ":"),
    )


def decode(text: str) -> Outcome:
    """The outcome that `encode` wrote.

    Raises:
        ValueError: It is no text of `encode`.
    """
    data = json.loads(text)
    try:
        return Outcome(
            from_data(data["report"]), data["digests"], data["has_comments"], data["failed"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no outcome: {error!r}") from None
