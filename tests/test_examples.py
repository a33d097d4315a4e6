"""Every example runs without a warning, and the README quotes the demo."""

import re
from functools import cache
from pathlib import Path

import pytest

from .transcript import comparable, demo, quoted, with_transcript

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


run = cache(demo)


@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example: Path):
    assert run(example)


def test_the_readme_quotes_the_demo():
    printed = run(ROOT / "examples/demo.py")
    assert comparable(quoted(README)) == comparable(printed), "`make transcripts` writes it anew"


def test_a_transcript_is_replaced():
    assert with_transcript(README, quoted(README)) == README
    assert quoted(with_transcript(README, "\n[1] New\n\n")) == "[1] New\n"


def test_the_readme_quotes_the_code_of_the_demo():
    (quote,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = (ROOT / "examples/growing_buffers.py").read_text()
    assert quote.split() == code[code.index(quote[:20]) :].split()[: len(quote.split())]
