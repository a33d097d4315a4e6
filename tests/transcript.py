"""The demo's transcript in the README: to compare with what the demo prints, and to replace.

`make readme` writes what the demo prints now.
"""

import re
import sys
from pathlib import Path

_BLOCK = re.compile(r"(?<=What `make demo` prints:\n\n```\n).*?(?=```\n)", re.DOTALL)


def quoted(readme: str) -> str:
    (transcript,) = _BLOCK.findall(readme)
    return transcript


def with_transcript(readme: str, transcript: str) -> str:
    return _BLOCK.sub(lambda _: transcript.strip("\n") + "\n", readme, count=1)


def comparable(transcript: str) -> list[str]:
    """Its lines, without the numbers of simulations: other processors round otherwise."""
    lines = transcript.strip("\n").split("\n")
    simulated = re.compile(r"updates |  step |  \d+ steps")
    return [re.sub(r"\d+", "#", line) if simulated.match(line) else line for line in lines]


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_transcript(file.read_text(), sys.stdin.read()))
