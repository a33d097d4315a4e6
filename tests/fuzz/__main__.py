"""Random cases until time is up: `python -m tests.fuzz [NAME ...] [--seconds N] [--seed S]`.

A fuzzer is a module NAME.py beside this one (without `_` in front), with

    def run(rng: random.Random) -> str | None

which does one case, of random numbers from `rng` alone, so that the same ones make the same case
again. It leaves nothing behind: neither files, nor another working directory or environment. It
returns a word for the kind of case, to be counted, or `None`; where something does not hold, it
raises an `AssertionError` whose text describes the case well enough to understand it.

All fuzzers, or those that are named, take turns. What failed is written to `.fuzz/` with the
command that repeats it, and makes the exit code 1.
"""

import argparse
import importlib
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
FAILURES = HERE.parents[1] / ".fuzz"

Run = Callable[[random.Random], str | None]


@dataclass
class Fuzzer:
    """A fuzzer, and how it went so far."""

    name: str
    run: Run
    tried: int = 0
    held: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def one_case(self, seed: int, case: int) -> None:
        """Run one case; a failure is told and written down."""
        self.tried += 1
        try:
            kind = self.run(random.Random(f"{self.name} {seed} {case}"))
        except Exception:
            self._failed(seed, case, traceback.format_exc())
        else:
            self.held += 1
            self.kinds.update([kind] if kind else [])

    def _failed(self, seed: int, case: int, why: str) -> None:
        again = f"python -m tests.fuzz {self.name} --seed {seed} --case {case}"
        FAILURES.mkdir(exist_ok=True)
        file = FAILURES / f"{self.name}-{seed}-{case}.txt"
        file.write_text(f"{again}\n\n{why}", errors="backslashreplace")
        last = why.strip().encode(errors="backslashreplace").decode()
        print(f"{last}\n{self.name} failed; again: {again}\n(kept in {file})", file=sys.stderr)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        return f"{self.name}: {self.tried} tried, {self.held} held" + (kinds and f" ({kinds})")


def names() -> list[str]:
    """The names of all fuzzers."""
    return sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith("_"))


def main(arguments: list[str] | None = None) -> int:
    """Fuzz; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Try random cases.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    parser.add_argument("--seconds", type=float, default=60, help="how long, in all")
    parser.add_argument("--seed", type=int, help="which cases; by default others at each run")
    parser.add_argument("--case", type=int, help="the number of the one case to run")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(names())
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    chosen = [
        Fuzzer(name, importlib.import_module(f"tests.fuzz.{name}").run)
        for name in options.names or names()
    ]
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    end = time.monotonic() + options.seconds
    case = options.case or 0
    while True:
        for fuzzer in chosen:
            fuzzer.one_case(seed, case)
        case += 1
        if options.case is not None or time.monotonic() > end:
            break
    print(*chosen, sep="\n")
    return 0 if all(it.held == it.tried for it in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
