import ast
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from verax.audit.finding import Finding
from verax.audit.rules._rule import Rule


@pytest.fixture(scope="session", autouse=True)
def fixes_are_python() -> Iterator[None]:
    """No rule quotes code in a fix that Python cannot read, whatever a test asks it for."""
    finding = Rule.finding

    def checked(rule: Rule, *args: Any, **options: Any) -> Finding:
        found = finding(rule, *args, **options)
        for code in re.findall(r"`([^`]+)`", found.fix):
            assert is_python(code), f"{found.code}: {found.fix}"
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "finding", checked)
        yield


def is_python(code: str) -> bool:
    """Whether code is an expression, a statement or an argument of a call."""
    for text in (code, f"call({code})"):
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        return True
    return False


@pytest.fixture(scope="session")
def cache_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test that asks, counted here: `mktemp` looks at all that were made."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(cache_folders: Iterator[Path], monkeypatch) -> Path:
    """No test sees the user's cache and key, or another test's."""
    folder = next(cache_folders)
    folder.mkdir()
    monkeypatch.setenv("VERAX_CACHE_DIR", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", f"{folder}.state")
    return folder
