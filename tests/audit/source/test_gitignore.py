"""Patterns of .gitignore mean what they mean to git."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.audit.source.discover import discover
from verax.audit.source.gitignore import parse

FILES = [
    "b.py", "a/b.py", "a/b/c.py", "b/a/b.py", "ab/a.py", "aab", "a b/c", "c/a/b/b.py", "a-b", "a]b",
    "[ab]", "!a", "#a", "a\\b", "a*b", "b/c/d/e.py", "B.py", "0.py", "a.", ".a", "..a", "a^", "-",
    "a/.b", "c/a b", "c/a",
]  # fmt: skip
FILES = [file for file in FILES if not any(other.startswith(f"{file}/") for other in FILES)]
FOLDERS = sorted({str(up) for file in FILES for up in Path(file).parents} - {"."})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def ignored_by_git(repository: Path, lines: list[str]) -> set[str]:
    """The files and folders that git says are ignored."""
    (repository / ".gitignore").write_bytes("\n".join(lines).encode())
    command = ["git", "-C", repository, "-c", "core.excludesFile=/dev/null"]
    done = subprocess.run(
        [*command, "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join([*FILES, *FOLDERS]),
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(filter(None, done.stdout.split("\0")))


def ignored(lines: list[str]) -> set[str]:
    """The same by our patterns; as with git, what lies in an ignored folder is ignored."""
    patterns = parse(lines)

    def is_ignored(path: str) -> bool:
        parents = [str(up) for up in Path(path).parents if str(up) != "."]
        return bool(patterns.verdict(path, path in FOLDERS)) or any(map(is_ignored, parents))

    return {path for path in (*FILES, *FOLDERS) if is_ignored(path)}


_EXAMPLES = [
    ["*.py"], ["/b.py"], ["a/"], ["a/b"], ["**/b.py"], ["a/**"], ["a/**/c.py"], ["*.py", "!b.py"],
    ["a/", "!a/b.py"], ["a/*", "!a/b.py"], ["\\#a"], ["\\!a"], ["#a"], ["!a"], ["a b"], ["a\\ "],
    ["a b   "], ["[ab]"], ["[!a].py"], ["[^a].py"], ["[]ab]"], ["[a-b].py"], ["[[:digit:]].py"],
    ["[[:upper:]].py"], ["\\[ab\\]"], ["a\\"], ["[a"], ["?"], ["??"], ["a**b"], ["**"], ["*/"],
    ["/"], ["//"], [""], ["/*", "!/a"], ["a\\*b"], ["a\\\\b"], ["b/**/e.py"], ["**/a/**"], ["a.*"],
    ["[[:alnum:]"], ["[a-]b"], ["a[/]b"], ["**/"], ["***"], ["a/***"], ["\\a"], ["a\r"], [".*"],
    ["[b-a].py"], ["[[:nope:]]"], ["[\\]]"], ["a[]-a]b"], ["a[!]]b"], ["a[/]b"],
    ["a[/-]b"], ["a\\/b"], ["**/**/b.py"], ["a/**/**"],
    ["**a"], ["a**/b.py"], ["*b*"], ["*a*b*"],
]  # fmt: skip


@pytest.mark.parametrize("lines", _EXAMPLES, ids=repr)
def test_patterns_mean_what_they_mean_to_git(repository: Path, lines: list[str]):
    assert ignored(lines) == ignored_by_git(repository, lines)


_PIECES = ["a", "b", ".py", "*", "**", "/", "?", "[", "]", "!", "^", "-", "\\", " ", "#", "[ab]"]
_LINES = st.lists(st.lists(st.sampled_from(_PIECES), max_size=7).map("".join), max_size=3)


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=_LINES)
def test_any_patterns_mean_what_they_mean_to_git(repository: Path, lines: list[str]):
    assert ignored(lines) == ignored_by_git(repository, lines)


@pytest.mark.parametrize(
    "glob", ["*a" * 40 + "b", "**/" * 40 + "b", "*/" * 40, "a*" * 99, "***a" * 40]
)
def test_no_pattern_takes_long(glob: str):
    start = time.monotonic()
    parse([glob, f"/{glob}"]).verdict("/".join(["a" * 200] * 40), False)
    assert time.monotonic() - start < 1


_NAMES = st.sampled_from(["a", "b", "c.py", "d.py", "e.py"])
_FILES = st.lists(st.lists(_NAMES.filter(lambda it: "." not in it), max_size=2).map("/".join))
_PATTERNS = st.lists(
    st.sampled_from(["*.py", "!*.py", "/c.py", "a/", "!a/", "b/d.py", "!b/d.py", "**/e.py", "a/**"])
)


@settings(max_examples=60, deadline=None)
@given(files=st.lists(st.tuples(_FILES, _NAMES), max_size=8), data=st.data())
def test_nested_files_of_patterns_count_as_for_git(tmp_path_factory, files, data):
    """What a search finds is what git would add."""
    root: Path = tmp_path_factory.mktemp("tree")
    for folders, name in files:
        folder = root.joinpath(*folders)
        if not any(part.is_file() for part in (folder, *folder.parents)):
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / name).is_dir():
                (folder / name).write_text("")
    places = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in places:
        patterns = data.draw(_PATTERNS)
        if patterns:
            (folder / ".gitignore").write_text("\n".join(patterns))
    subprocess.run(["git", "init", "-q", root], check=True)
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    expected = sorted(str(root / name) for name in listed if name.endswith(".py"))
    assert sorted(discover([str(root)]).files) == expected
