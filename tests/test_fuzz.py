"""The frame that fuzzers run in, with one that fails where its first random number is small."""

import importlib
import random
import re
from types import SimpleNamespace

import pytest

from .fuzz import __main__ as frame


def half(rng: random.Random) -> str:
    number = rng.random()
    assert number >= 0.5, f"{number} is small"
    return "large"


@pytest.fixture(autouse=True)
def halves(monkeypatch, tmp_path):
    """A fuzzer `half`, and a folder for what it finds."""
    monkeypatch.setattr(frame, "FAILURES", tmp_path / "failures")
    monkeypatch.setattr(frame, "names", lambda: ["half"])
    monkeypatch.setattr(importlib, "import_module", lambda _: SimpleNamespace(run=half))
    return tmp_path / "failures"


def test_what_fails_is_kept_with_the_command_that_repeats_it(halves, capsys):
    assert frame.main(["half", "--seconds", "0.05", "--seed", "3"]) == 1
    out, _ = capsys.readouterr()
    tried, held, large = map(int, re.findall(r"(\d+) (?:tried|held|large)", out))
    kept = sorted(halves.iterdir())
    assert tried - held == len(kept) > 0
    assert held == large > 0
    command, _, why = kept[0].read_text().partition("\n\n")
    number = re.findall(r"[\d.]+ is small", why)[0]
    assert frame.main(command.split()[3:]) == 1
    assert number in capsys.readouterr().err


def test_what_holds(halves, capsys):
    """The same seed makes the same cases, and every case is another one."""
    results = [frame.main(["--seed", "3", "--case", str(case)]) for case in range(20)]
    assert set(results) == {0, 1}
    assert results == [frame.main(["--seed", "3", "--case", str(case)]) for case in range(20)]
    assert len(list(halves.iterdir())) == sum(results)


def test_fuzzers_that_are_not_there(capsys):
    with pytest.raises(SystemExit):
        frame.main(["hlaf"])
    assert "there is no hlaf; there are half" in capsys.readouterr().err
