"""What bounds the cost of an audit: how far calls are followed, and how much work a file may be.

A root is a function that is run with unknown arguments, a transformed function, an example or the
module itself. For each, calls are followed until a limit is reached; what becomes of a call that is
not followed says `unknown.py`. All that is done for a file, be it to run it or to judge it, is
counted besides (`work.py`): where a file is beyond that, the report says at which place or by which
rules the rest was left.
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

    `steps` and, for each node of its syntax, `steps_of_node` are the work that a file may be, once
    to run it, once for all rules and once to show how data flows. Programs that people write take a
    tenth of that and less.
    """

    runs: int = 8
    runs_of_example: int = 64
    depth: int = 20
    statements: int = 600
    statements_of_line: int = 3
    statements_of_example: int = 2000
    statements_on_host: int = 150
    statements_with_keys: int = 300
    steps: int = 2_000_000
    steps_of_node: int = 500

    def steps_for(self, nodes: int) -> int:
        """The steps that a file of so many nodes of syntax may cost, to run it or to judge it."""
        return self.steps + self.steps_of_node * nodes

    def scaled(self, factor: float) -> Limits:
        """Limits that are smaller or larger by a factor; one call is followed at least."""
        return Limits(*(max(1, int(getattr(self, it.name) * factor)) for it in fields(self)))


DEFAULT = Limits()
