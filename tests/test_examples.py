"""Every example runs without a warning, and the README quotes the demo."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@cache
def run(example: Path) -> str:
    command = [sys.executable, "-W", "error", str(example)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example: Path):
    assert run(example)


def test_the_readme_quotes_the_demo():
    def blank(text: str) -> str:  # other processors round otherwise
        return re.sub(r"\d+", "#", text)

    printed = run(ROOT / "examples/growing_buffers.py")
    assert blank(f"```\n{printed}```\n") in blank((ROOT / "README.md").read_text())


def test_the_readme_quotes_the_code_of_the_demo():
    (quote,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    code = (ROOT / "examples/growing_buffers.py").read_text()
    assert quote.split() == code[code.index(quote[:20]) :].split()[: len(quote.split())]
