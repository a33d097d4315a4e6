"""Every command of the documentation runs, in a copy of the example, and prints what is shown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def commands(page: Path) -> list[tuple[str, str]]:
    """The commands of a page, each with the output that it shows."""
    return [
        (command.replace("\\\n", " "), output)
        for block in _BLOCK.findall(page.read_text())
        for command, output in _COMMAND.findall(block)
    ]


PAGES = [
    page
    for page in sorted(ROOT.glob("docs/**/*.md"))
    if any(command.startswith("verax ") for command, _ in commands(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path):
    folder = tmp_path / "cartpole"
    shutil.copytree(ROOT / "examples/cartpole", folder)
    environment = os.environ | {"COLUMNS": "80", "VERAX_CACHE_DIR": str(tmp_path / "cache")}
    for command, shown in commands(page):
        if not command.startswith("verax "):
            continue
        ran = subprocess.run(
            command.replace("verax", f"{sys.executable} -m verax", 1),
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ran.returncode in (0, 1), f"{command}\n{ran.stderr}"
        if shown:
            assert ran.stdout.strip("\n") == shown.strip("\n"), command


def test_there_are_pages_with_commands():
    assert {"auditing", "reports", "axes", "ci"} <= {page.stem for page in PAGES}
