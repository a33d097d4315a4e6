"""Outcomes as a table for readers and as JSON for machines."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from .contestants import MISSING, versions
from .timing import Claim, Fact, Outcome, Race


def environment() -> dict[str, Any]:
    """What a number depends on, and nothing that says whose machine it was."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "versions": versions(),
        "missing": MISSING,
    }


def introduce(console: Console) -> None:
    about = environment()
    libraries = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    console.print(f"Python {about['python']} on {about['cores']} cores of {about['machine']}")
    console.print(libraries)
    if MISSING:
        console.print(f"not installed, so not compared: {', '.join(MISSING)}")


def show(console: Console, title: str, question: str, outcomes: Sequence[Outcome]) -> None:
    """One table for one benchmark."""
    table = Table(title=f"{title}: {question}", title_justify="left", title_style="bold")
    for column in ("case", "contestant"):
        table.add_column(column)
    for column in ("time", "ratio", "quartiles"):
        table.add_column(column, justify="right")
    table.add_column("target")
    for outcome in outcomes:
        if isinstance(outcome, Fact):
            table.add_row(outcome.name, "", "", "", "", _verdict(outcome.holds, outcome.detail))
        else:
            _add_race(table, outcome)
        table.add_section()
    console.print()
    console.print(table)


def _add_race(table: Table, race: Race) -> None:
    for position, contestant in enumerate(race.seconds):
        ratio = race.ratio(contestant, race.reference)
        spread = "" if contestant == race.reference else f"{ratio.low:.2f} to {ratio.high:.2f}"
        table.add_row(
            race.name if position == 0 else "",
            contestant,
            f"{_readable(race.typical(contestant))} a {race.unit}",
            f"{ratio.median:.2f}",
            spread,
            "\n".join(_judge(race, c) for c in race.claims if _belongs(c, contestant, race)),
        )


def _belongs(claim: Claim, contestant: str, race: Race) -> bool:
    """A claim stands beside its contestant if it is about the reference, else beside the other."""
    beside = claim.contestant if claim.against == race.reference else claim.against
    return beside == contestant


def _judge(race: Race, claim: Claim) -> str:
    ratio = race.ratio(claim.contestant, claim.against).median
    if claim.against == race.reference:
        return _verdict(race.holds(claim), f"at most {claim.at_most:g}")
    if claim.at_most == 1:
        return _verdict(race.holds(claim), f"{claim.contestant} {ratio:.2f} of this")
    text = f"{claim.contestant} {ratio:.2f} of this, at most {claim.at_most:g}"
    return _verdict(race.holds(claim), text)


def _verdict(holds: bool, text: str) -> str:
    return f"[green]met[/]     {text}" if holds else f"[red]missed[/]  {text}"


def _readable(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def as_data(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON takes it."""
    if isinstance(outcome, Fact):
        return asdict(outcome)
    return {
        "name": outcome.name,
        "unit": outcome.unit,
        "rounds": len(outcome.seconds[outcome.reference]),
        "reference": outcome.reference,
        "contestants": {
            name: {
                "seconds": outcome.typical(name),
                "ratio": asdict(outcome.ratio(name, outcome.reference)),
            }
            for name in outcome.seconds
        },
        "claims": [
            {
                **asdict(claim),
                "ratio": asdict(outcome.ratio(claim.contestant, claim.against)),
                "holds": outcome.holds(claim),
            }
            for claim in outcome.claims
        ],
    }
