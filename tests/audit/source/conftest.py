from dataclasses import replace
from pathlib import Path

import pytest

from verax.audit.rules import registry
from verax.audit.source import parallel

from ..sample import example_rule
from .planted import analyse
from .repositories import commit, git

PLANTED = Path(__file__).with_name("planted.py")


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


@pytest.fixture
def elsewhere(planted: Path, monkeypatch) -> Path:
    """As `planted`, in other processes, too."""
    program = (
        "import runpy, sys; sys.path.append({root!r}); import verax.audit.source.one_file as it; "
        f"it.analyse = runpy.run_path({str(PLANTED)!r})['analyse']; "
        "from verax.audit.source.worker import main; main()"
    )
    monkeypatch.setattr(parallel, "_START", program)
    return planted


@pytest.fixture
def repository(tmp_path: Path, monkeypatch) -> Path:
    """An empty repository with the branch `main`, to work in."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--quiet", "--initial-branch", "main")
    commit()
    return folder


@pytest.fixture
def planted_repository(planted: Path, repository: Path) -> Path:
    """The same, where the analysis finds what is planted."""
    return repository
