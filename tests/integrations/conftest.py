from pathlib import Path

import pytest

from ..audit.source.repositories import commit, git


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch) -> None:
    """No test sees the user's cache and key, or another test's."""
    monkeypatch.setenv("VERAX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A folder to work in, which lies in no repository."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def repository(folder: Path) -> Path:
    """An empty repository with one commit, to work in."""
    git("init", "--quiet", "--initial-branch", "main")
    commit()
    return folder
