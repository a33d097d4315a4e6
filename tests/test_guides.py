"""Every command of the documentation runs, in a copy of the example, and prints what is shown."""

from pathlib import Path

import pytest

from .transcript import as_printed, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_commands_print_what_a_page_shows(page: Path):
    text = page.read_text()
    assert as_printed(text) == text, "`make transcripts` writes it anew"


def test_there_are_pages_with_commands():
    assert {"auditing", "reports", "axes", "ci"} <= {page.stem for page in pages()}


def test_a_command_that_fails_is_noticed():
    with pytest.raises(AssertionError, match="there is no such file or folder"):
        as_printed("```console\n$ verax audit missing.py\n```\n")
