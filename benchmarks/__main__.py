"""`python -m benchmarks`: run the benchmarks, print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from . import report
from .registry import REGISTRY
from .timing import FULL, QUICK


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run, to see that all works")
    parser.add_argument("--only", choices=REGISTRY, action="append", help="can be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes here")
    options = parser.parse_args(arguments)

    # Tables that are not for a terminal should not be folded to its default width.
    console = Console(width=None if sys.stdout.isatty() else 120)
    report.introduce(console)
    benchmarks: dict[str, object] = {}
    for name in options.only or REGISTRY:
        run = REGISTRY[name]
        question = (sys.modules[run.__module__].__doc__ or "").split("\n\n")[0]
        outcomes = list(run(QUICK if options.quick else FULL))
        report.show(console, name, question, outcomes)
        benchmarks[name] = [report.as_data(outcome) for outcome in outcomes]
    if options.json is not None:
        data = {"schema": "verax.benchmarks/1", "quick": options.quick}
        data = {**data, "environment": report.environment(), "benchmarks": benchmarks}
        options.json.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
