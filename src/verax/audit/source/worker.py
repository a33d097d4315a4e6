"""A process that audits files for another one.

It reads lines of JSON from stdin: what an `Auditor` is made of, then one path a line. It writes a
line when it is ready, then for each path in turn its outcome, which is two lines (see `stored`). It
ends with its input.
"""

from __future__ import annotations

import json
import os
import sys

from .._keeper import end_with_parent
from ..garbage import last_collections
from . import stored
from .limits import Limits
from .one_file import Auditor
from .outcome import Texts


def main() -> None:
    """Serve until there is nothing more to do."""
    end_with_parent(int(sys.argv.pop()))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # answers are all that the other side may see
    start = json.loads(sys.stdin.readline())
    texts, limits = Texts(start["max_bytes"], within=start["within"]), Limits(**start["limits"])
    auditor = Auditor(start["roots"], texts, start["sections"], limits, start["observed"])
    print("ready", file=answers, flush=True)
    with last_collections():
        for line in sys.stdin:
            outcome = stored.encode(auditor.audit(json.loads(line)))
            print(outcome.findings, outcome.sections, sep="\n", file=answers, flush=True)
