"""Programs with bytes, lines and words changed: each has a report, or a reason why not.

They are the examples of rules, which have something to report, and files of libraries. Names and
texts are put into them that act on a terminal or on a CI host, and what parsers and interpreters
stumble over. The report is rendered in some format, which has to hold whatever the program is.
"""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path

from tests.audit.source.mutations import REAL_FILES
from verax.audit.rules.registry import all_rules
from verax.audit.settings import FORMATS

from ._calls import call

_PIECES = (
    b"(" * 150, b"-" * 3000, b"x" * 300, b"'''", b"\\", b"\t", b"\r", b"\0", b"\xff", b"\x0c",
    b"'\\ud800'", b"'\\x1b[2J'", b"'\\n::error::x'", b"# ##[error]x\n", b"\n::stop-commands::x\n",
    "'\u202e'".encode(), "ﬁ".encode(), b"x: '\\udfff' = 1\n", b"9" * 5000, b"1e400", b"0xff",
    b"lambda: (yield)", b"match x:\n case _: pass\n", b"f'{x!r:{y}}'", b"# verax: ignore[\x1b]\n",
    b"# verax: ignore-file[RK]\n", b"*a, *b = c\n", b"global x\n", b"del x\n", b"import jax\n",
    b"from . import x\n", b"from jax import *\n", b"key", b"self", b"None", b"[...]", b"@", b":=",
    b"async ", b"await ", b"return ", b"yield ", b"while True:\n    pass\n", b"x.at[0].set(1)\n",
)  # fmt: skip


def run(rng: random.Random) -> str | None:
    """Audit one or two mutated programs in one format."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        names = ["a.py", "b.py"][: rng.randint(1, 2)]
        for name in names:
            (folder / name).write_bytes(mutated(rng.choice(_programs()), rng))
        format = rng.choice(FORMATS)
        options = ["--no-cache", "--preview", "--format", format, "--allow-unread", "--jobs", "1"]
        options += ["--flow"] * rng.randint(0, 1)
        try:
            call(["audit", rng.choice((".", names[0])), *options], folder, (0, 1))
        except AssertionError as error:
            texts = [(folder / name).read_bytes() for name in names]
            raise AssertionError(f"{error}\n{texts!r}") from None
    return None


@cache
def _programs() -> tuple[bytes, ...]:
    """Examples of rules, as many as a rule has, and files that nobody wrote for a test."""
    examples = [text.encode() for rule in all_rules() for text in (rule.wrong, rule.right)]
    return (*examples, *(path.read_bytes() for path in REAL_FILES))


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A program with a few changes."""
    for _ in range(rng.randint(0, 5)):
        data = rng.choice(_CHANGES)(data, rng)
    return data


def _set(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randint(1, 100) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_PIECES) + data[at:]


def _swap_words(data: bytes, rng: random.Random) -> bytes:
    """One word in the place of another, so that much of it still parses."""
    words = sorted({it for it in data.replace(b".", b" ").split() if it.isalnum()})
    if len(words) < 2:
        return data
    return data.replace(rng.choice(words), rng.choice((*words, *_PIECES)), rng.randint(1, 3))


def _move_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _double_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(lines)


_CHANGES = (_set, _cut, _insert, _swap_words, _swap_words, _move_line, _double_line)
