"""Every page of the documentation runs as written and prints what it says."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if "```python" in page.read_text()]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_and_prints_what_it_says(page: Path) -> None:
    text = page.read_text()
    names: dict[str, Any] = {"__name__": page.stem}
    printed = ""
    for block in _BLOCK.finditer(text):
        kind, code = block.groups()
        if kind == "python":
            assert printed == "", f"{page.name} prints what it does not show: {printed!r}"
            # Blank lines in front make line numbers in tracebacks those of the page.
            lines_above = text.count("\n", 0, block.start(2))
            program = compile("\n" * lines_above + code, str(page), "exec")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(program, names)
            printed = out.getvalue()
        elif kind == "text":
            assert printed == code
            printed = ""
    assert printed == "", f"{page.name} prints what it does not show: {printed!r}"


def test_there_are_pages_to_run() -> None:
    assert {"assertions", "channels"} <= {page.stem for page in PAGES}
