"""How often each rule has been right, by what was found in real code and read by somebody.

`record.json` beside this module is the one list of judgements. It has two parts:

- `packages`: pinned versions of packages from PyPI, each with its number of lines and with every
  issue that a static analysis reports outside of tests (`benchmarks/source_precision.py`).
- `programs`: the programs in `tests/audit/programs`, each with every finding and every verified
  entry of both engines (`make programs`).

A judgement is a verdict, perhaps with a reason: `"harmless: the same noise on purpose"`. A finding
is true if the code is wrong as it says, false if it is not, and harmless if what it says is so but
meant, or without consequence. One that nobody has read yet is unread, and does not count.

What the record means for a rule is decided here, and not by who writes the rule.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from .rules._rule import Rule

FILE = Path(__file__).with_suffix(".json")

# A rule that has been wrong is in preview until so many of its findings are true, and no fewer.
_ENOUGH_PRECISION, _ENOUGH_TRUE = 0.9, 3
# One that has never been wrong in so many may call a finding certain.
_PROVEN_TRUE = 5


class Verdict(StrEnum):
    """What somebody who has read the code says of a finding."""

    TRUE = "true"
    HARMLESS = "harmless"
    FALSE = "false"
    UNREAD = "unread"


@dataclass(frozen=True)
class Record:
    """How many findings of a rule were of which kind, on how many lines it was tried."""

    true: int = 0
    harmless: int = 0
    false: int = 0
    lines: int = 0

    @property
    def is_preview(self) -> bool:
        """Whether the rule has been wrong too often to be on by default."""
        if not self.false:
            return False
        precision = self.true / (self.true + self.false)
        return precision < _ENOUGH_PRECISION or self.true < _ENOUGH_TRUE

    @property
    def is_proven(self) -> bool:
        """Whether the rule has been right often enough, and never wrong, to say "certain"."""
        return not self.false and self.true >= _PROVEN_TRUE

    def __str__(self) -> str:
        found = f"{self.true} true, {self.harmless} harmless, {self.false} false"
        return f"{found}, on {self.lines:,} lines"


def verdict_of(judgement: str) -> Verdict:
    """The verdict that a judgement begins with.

    Raises:
        ValueError: It begins with none.
    """
    return Verdict(judgement.partition(":")[0])


def read() -> dict[str, Any]:
    """The data of the record."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def write(data: Mapping[str, Any]) -> None:
    """Replace the data of the record, in an order in which changes show as few lines."""
    FILE.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def records(data: Mapping[str, Any], rules: tuple[Rule, ...]) -> dict[str, Record]:
    """The record of each rule, by its code.

    In packages only issues of the static analysis were read: a rule that only warns, or only judges
    traces, was not tried there.
    """
    packages, programs = data["packages"].values(), data["programs"].values()
    found = Counter(
        (key.partition(" ")[0], verdict_of(judgement))
        for part in (*packages, *programs)
        for key, judgement in part["findings"].items()
    )
    in_packages, in_programs = (sum(it["lines"] for it in part) for part in (packages, programs))
    return {
        rule.code: Record(
            found[rule.code, Verdict.TRUE],
            found[rule.code, Verdict.HARMLESS],
            found[rule.code, Verdict.FALSE],
            in_programs + in_packages * (rule.source is not None and not rule.warns),
        )
        for rule in rules
    }
