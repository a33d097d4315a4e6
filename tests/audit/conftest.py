from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cache_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test that asks, counted here: `mktemp` looks at all that were made."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(cache_folders: Iterator[Path], monkeypatch) -> Path:
    """No test sees the user's cache, or another test's."""
    folder = next(cache_folders)
    folder.mkdir()
    monkeypatch.setenv("VERAX_CACHE_DIR", str(folder))
    return folder
