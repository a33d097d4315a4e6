"""From targets to the files to audit: folders are searched, what is ignored there is left out.

A file or a folder that is named itself is always audited; patterns count for what lies below.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..files import NOT_ORDINARY, read_bytes
from ..finding import Place
from ..report import Unread
from . import gitignore
from .gitignore import Ignore

SUFFIXES = (".py", ".ipynb")

# What is nobody's own source. `exclude = ["!vendor/"]` in the settings takes one of them back.
DEFAULT_EXCLUDES = """
    .git/ .hg/ .svn/ .bzr/ .jj/ .venv/ .env/ .direnv/ .pixi/ .tox/ .nox/ .eggs/ .mypy_cache/
    .ruff_cache/ .pytest_cache/ .hypothesis/ .ipynb_checkpoints/ .pytype/ .pyre/ .vscode/ .idea/
    __pycache__/ __pypackages__/ node_modules/ site-packages/ dist-packages/ build/ dist/
""".split()

# Outputs of a build, unless they are packages: then somebody wrote them.
_UNLESS_A_PACKAGE = ("build", "dist")
# A folder with one of these in it is an environment, however it is called.
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


@dataclass(frozen=True)
class Found:
    """Files to audit, by absolute path and in order, and what could not be searched."""

    files: tuple[str, ...]
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True)
class _Rules:
    """Patterns, and the folder that they are relative to."""

    folder: str
    ignore: Ignore

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        folder = self.folder.rstrip(os.sep) + os.sep
        if not path.startswith(folder):
            return None
        return self.ignore.verdict(path[len(folder) :].replace(os.sep, "/"), is_folder)


def discover(targets: Iterable[str], exclude: Sequence[str] = (), base: str = "") -> Found:
    """The files that targets mean: themselves, or the Python files and notebooks below.

    `exclude` has patterns like those of a .gitignore, relative to the folder `base`; they win over
    what .gitignore files say.
    """
    search = _Search(_Rules(os.path.abspath(base or os.getcwd()), gitignore.parse(exclude)))
    for target in targets:
        path = os.path.abspath(target)
        if os.path.isdir(path):
            search.folder(path)
        else:
            search.add(path)
    return Found(tuple(search.files), tuple(search.unread))


def is_excluded(path: str, patterns: Sequence[str], base: str) -> bool:
    """Whether patterns leave out a file, or a folder that it lies in, as a search would."""
    rules = _Rules(os.path.abspath(base or os.getcwd()), gitignore.parse(patterns))
    above = [path]
    while above[-1].startswith(rules.folder.rstrip(os.sep) + os.sep):
        above.append(os.path.dirname(above[-1]))
    return any(rules.verdict(it, is_folder=it != path) for it in reversed(above))


class _Search:
    """What has been found so far."""

    def __init__(self, exclude: _Rules):
        self.files: dict[str, None] = {}
        self.unread: list[Unread] = []
        self._exclude = exclude
        self._seen: set[tuple[int, int]] = set()

    def add(self, path: str) -> None:
        """Add a file, unless it is there already by another name."""
        try:
            status = os.stat(path)
        except OSError:
            self.files[path] = None  # whoever reads it says what is wrong
            return
        identity = (status.st_dev, status.st_ino)
        # Without an inode (on some systems of files) only the name tells files apart.
        if status.st_ino == 0 or identity not in self._seen:
            self._seen.add(identity)
            self.files[path] = None

    def folder(self, root: str) -> None:
        """Add what lies below a folder."""
        defaults = _Rules(root, gitignore.parse(DEFAULT_EXCLUDES))
        waiting: list[tuple[str, tuple[_Rules, ...]]] = [(root, (defaults, *_rules_above(root)))]
        while waiting:
            folder, rules = waiting.pop()
            rules = (*rules, *_rules_of(folder))
            entries = self._entries(folder)
            inner: list[tuple[str, tuple[_Rules, ...]]] = []
            for entry in entries:
                if _is_folder(entry):
                    if not self._ignored(entry.path, True, rules) and not _is_foreign(entry.path):
                        inner.append((entry.path, rules))
                elif entry.name.endswith(SUFFIXES) and not self._ignored(entry.path, False, rules):
                    self._file(entry)
            waiting += reversed(inner)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._cannot_read(folder, error.strerror or str(error))
            return []

    def _file(self, entry: os.DirEntry[str]) -> None:
        try:
            if entry.is_file():
                self.add(entry.path)
            elif os.path.exists(entry.path):
                # A link to a folder is not followed; all else would block, or have no end.
                if not entry.is_dir():
                    self._cannot_read(entry.path, NOT_ORDINARY)
            # Editors mark a file that is being edited by a link to nothing, `.#name`.
            elif not entry.name.startswith(".#"):
                self._cannot_read(entry.path, "the link leads nowhere")
        except OSError as error:
            self._cannot_read(entry.path, error.strerror or str(error))

    def _cannot_read(self, path: str, reason: str) -> None:
        self.unread.append(Unread(Place(path, 0), reason))

    def _ignored(self, path: str, is_folder: bool, rules: tuple[_Rules, ...]) -> bool:
        for rule in (self._exclude, *reversed(rules)):
            verdict = rule.verdict(path, is_folder)
            if verdict is None:
                continue
            if verdict and rule is rules[0] and os.path.basename(path) in _UNLESS_A_PACKAGE:
                return not os.path.exists(os.path.join(path, "__init__.py"))
            return verdict
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether to search it. Links to folders are not followed, so no search goes in circles."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_foreign(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in _ENVIRONMENTS)


def _rules_above(root: str) -> Iterator[_Rules]:
    """What the repository says that a folder lies in, the outermost first."""
    above: list[str] = []
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return  # no repository: what lies above is of no concern
        above.append(folder := parent)
    exclude = _read(os.path.join(folder, ".git", "info", "exclude"))
    if exclude is not None:
        yield _Rules(folder, exclude)
    for parent in reversed(above):
        yield from _rules_of(parent)


def _rules_of(folder: str) -> Iterator[_Rules]:
    ignore = _read(os.path.join(folder, ".gitignore"))
    if ignore is not None:
        yield _Rules(folder, ignore)


def _read(path: str) -> Ignore | None:
    try:
        lines = read_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError:
        return None
    return gitignore.parse(os.fsdecode(line) for line in lines)
