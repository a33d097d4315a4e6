from dataclasses import replace
from pathlib import Path

import pytest

from verax.audit.rules import registry

from ..sample import example_rule
from .planted import analyse


@pytest.fixture
def planted(tmp_path: Path, monkeypatch) -> Path:
    """A folder to work in, where the analysis finds what `planted` says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("verax.audit.source.one_file.analyse", analyse)
    both = [example_rule("AX001", "axes-mixed"), example_rule("RK001", "key-reused")]
    only_traced = example_rule("GR001", "gradient-blocked")
    rules = (*(replace(rule, source=iter) for rule in both), only_traced)
    monkeypatch.setattr(registry, "_RULES", rules)
    return tmp_path
