"""What bounds the cost of an audit: how far calls are followed.

A root is a function that is run with unknown arguments, a transformed function, an example or the
module itself. For each, calls are followed until a limit is reached; what becomes of a call that is
not followed says `unknown.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """How many runs, nested calls and statements a root may cost.

    `runs` counts the runs of one function for one root, `depth` calls inside of calls. An example
    is one root, and all of it is known: what it is made of is made by a few small functions, which
    may run more often. `statements` are those that callees run for one root, and
    `statements_of_line` bounds those of all roots of a file by its number of lines. Outside of
    transformations there is less to find, but for what happens to random keys.
    """

    runs: int = 8
    runs_of_example: int = 64
    depth: int = 20
    statements: int = 600
    statements_of_line: int = 3
    statements_of_example: int = 2000
    statements_on_host: int = 50
    statements_with_keys: int = 300

    def scaled(self, factor: float) -> Limits:
        """Limits that are smaller or larger by a factor; one call is followed at least."""
        return Limits(*(max(1, int(getattr(self, it.name) * factor)) for it in fields(self)))


DEFAULT = Limits()
