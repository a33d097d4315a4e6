"""What commands print, in the README and the guides: to compare, and to write anew.

The README quotes the demo, the guides show commands with their output. `make transcripts` writes
what all of them print now, which a new rule may change.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

_DEMO = re.compile(r"(?<=What `make demo` prints:\n\n```\n).*?(?=```\n)", re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A command, which may go on after a backslash, and the lines below it.
_COMMAND = re.compile(r"^\$ (verax (?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
# A program that a page shows with its name in the first line.
_FILE = re.compile(r"^```py\n(# (\w+\.py)\n.*?)^```$", re.DOTALL | re.MULTILINE)


def demo(example: Path = ROOT / "examples/demo.py") -> str:
    command = [sys.executable, "-W", "error", str(example)]
    environment = os.environ | {"COLUMNS": "80"}
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return ran.stdout


def quoted(readme: str) -> str:
    (transcript,) = _DEMO.findall(readme)
    return transcript


def with_transcript(readme: str, transcript: str) -> str:
    return _DEMO.sub(lambda _: transcript.strip("\n") + "\n", readme, count=1)


def comparable(transcript: str) -> list[str]:
    """Its lines, without the numbers of simulations: other processors round otherwise."""
    lines = transcript.strip("\n").split("\n")
    simulated = re.compile(r"updates |  step |  \d+ steps")
    return [re.sub(r"\d+", "#", line) if simulated.match(line) else line for line in lines]


def pages() -> list[Path]:
    """The pages with commands."""
    return [
        page
        for page in sorted(ROOT.glob("docs/**/*.md"))
        if any(map(_COMMAND.search, _CONSOLE.findall(page.read_text())))
    ]


def as_printed(page: str) -> str:
    """A page with what its commands print, in a copy of the example, wherever it shows output."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "cartpole")
        shutil.copytree(ROOT / "examples/cartpole", folder)
        for program, name in _FILE.findall(page):
            (folder / name).write_text(program)
        return _CONSOLE.sub(lambda block: f"```console\n{''.join(_ran(block[1], folder))}```", page)


def _ran(block: str, folder: Path) -> Iterator[str]:
    done = 0
    places = {"VERAX_CACHE_DIR": "cache", "XDG_STATE_HOME": "state"}
    own = {name: str(folder.parent / place) for name, place in places.items()}
    for found in _COMMAND.finditer(block):
        yield block[done : found.start(2)]
        ran = subprocess.run(
            f"{sys.executable} -m {found[1]}".replace("\\\n", " "),
            shell=True,
            cwd=folder,
            env=os.environ | {"COLUMNS": "80"} | own,
            capture_output=True,
            text=True,
        )
        # With 1 an audit says that it has found something.
        assert ran.returncode in (0, 1), f"{found[1]}\n{ran.stderr}"
        yield ran.stdout.strip("\n") + "\n" if found[2] else ""
        done = found.end()
    yield block[done:]


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_transcript(readme.read_text(), demo()))
    for page in pages():
        page.write_text(as_printed(page.read_text()))
