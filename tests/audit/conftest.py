from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> Path:
    """No test sees the user's cache, or another test's."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("VERAX_CACHE_DIR", str(folder))
    return folder
