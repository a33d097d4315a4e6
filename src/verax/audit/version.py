"""A version of a work tree as a repository stores it, read object by object into memory.

A hostile tree holds any names, and git prints them as they are. So trees themselves are read, and
each name is judged before anything is made of it. All has limits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from .errors import UsageError
from .git import Repository
from .tree import Folder, Link, is_safe

# What a tree may be in all. Git keeps trees that unfold to more than any disk can hold.
_MOST_ENTRIES = 2_000_000
_MOST_BYTES = 1_000_000_000
_DEEPEST = 200
_LONGEST_LINK = 4096
# How much of it git hands over at once.
_AT_ONCE = 64_000_000

_FOLDER, _LINK, _SUBMODULE = 0o040000, 0o120000, 0o160000
_LFS = b"version https://git-lfs.github.com/spec/"

_MISSING = "this partial clone lacks its content, which `git fetch --refetch --no-filter` brings"
_LOST = "the repository lacks its content; `git fsck` says more"
_UNSAFE = "no checkout would write such a name"
_TWICE = "the name is there twice"
_TOO_DEEP = f"it lies more than {_DEEPEST} folders deep"
_TOO_LARGE = "it is larger than files that are read; max-file-size can allow more"
_IN_LFS = "Git LFS keeps its content elsewhere"

# The most bytes that are wanted of the file with a path; 0 where it is not wanted.
Limit = Callable[[str], int]


@dataclass(frozen=True)
class Version:
    """The wanted files of a commit, and why others could not be had, by path.

    The path of the whole tree is empty.
    """

    tree: Folder = field(default_factory=Folder)
    problems: dict[str, str] = field(default_factory=dict[str, str])


def read_version(repository: Repository, commit: str, limit: Limit) -> Version:
    """The files of a commit that are wanted, as they are stored, with those of submodules.

    Links are among them, wherever they lead.

    Raises:
        UsageError: There is too much.
    """
    return _Reader(repository, commit, limit).version()


class _Entry(NamedTuple):
    """What a tree says of a file or link: where it goes, and which object it is."""

    path: str
    folder: Folder
    name: str
    object: str
    is_link: bool


class _Reader:
    """Reads one version."""

    def __init__(self, repository: Repository, commit: str, limit: Limit):
        self._repository = repository
        self._commit = commit
        self._limit = limit
        self._seen = 0
        self._size_of_folders = 0
        self._result = Version()
        self._entries: list[_Entry] = []
        self._is_partial: bool | None = None

    def version(self) -> Version:
        """What was asked for."""
        self._read_folders()
        self._read_files()
        self._result.tree.prune()
        return self._result

    def _read_folders(self) -> None:
        top = f"{self._commit}^{{tree}}"
        level = [("", self._result.tree, top)]
        for _ in range(_DEEPEST):
            if not level:
                break
            contents = self._contents_of_folders(name for _, _, name in level)
            inner: list[tuple[str, Folder, str]] = []
            for path, folder, name in level:
                if name in contents:
                    inner += self._of_folder(path, folder, contents[name])
                else:
                    self._left_out(path.rstrip("/"))
            level = inner
        for path, _, _ in level:
            self._result.problems[path] = _TOO_DEEP

    def _contents_of_folders(self, names: Iterable[str]) -> dict[str, bytes]:
        asked = self._repository.objects("--batch-check", names, self._commit)
        sizes = {it.name: it.size for it in asked if it.kind == b"tree"}
        self._size_of_folders += sum(sizes.values())
        if self._size_of_folders > _MOST_BYTES:
            self._too_much("the folders", "take")
        found = self._repository.objects("--batch", sizes, self._commit)
        return {it.name: it.content for it in found if it.content is not None}

    def _too_much(self, what: str, have: str) -> NoReturn:
        raise UsageError(
            f"{self._repository.option}: {what} of the commit {have} more than "
            f"{_MOST_BYTES / 1e9:g} GB"
        )

    def _of_folder(
        self, above: str, folder: Folder, content: bytes
    ) -> Iterator[tuple[str, Folder, str]]:
        """Take what a folder holds; the folders in it are yet to be read."""
        names: set[str] = set()
        for kind, name, object in _lines(content, len(self._commit) // 2):
            path = above + name
            self._count_one()
            if not is_safe(name) or name in names:
                self._result.problems[path] = _TWICE if name in names else _UNSAFE
                continue
            names.add(name)
            if kind == _FOLDER:
                folder[name] = inner = Folder()
                yield path + "/", inner, object
            elif kind == _SUBMODULE:
                self._take_submodule(path, folder, name, object)
            elif kind == _LINK or self._limit(path):
                self._entries.append(_Entry(path, folder, name, object, kind == _LINK))

    def _count_one(self) -> None:
        self._seen += 1
        if self._seen > _MOST_ENTRIES:
            raise UsageError(
                f"{self._repository.option}: the commit has more than {_MOST_ENTRIES} files"
            )

    def _take_submodule(self, path: str, folder: Folder, name: str, commit: str) -> None:
        submodule = self._repository.submodule(path)
        if submodule is not None:
            version = read_version(submodule, commit, lambda it: self._limit(f"{path}/{it}"))
            folder[name] = version.tree
            for inner, why in version.problems.items():
                self._result.problems[f"{path}/{inner}".rstrip("/")] = why

    def _read_files(self) -> None:
        """Read what is there and not too large, some at once."""
        objects = self._repository.objects
        asked = (it.object for it in self._entries)
        sizes = {it.name: it.size for it in objects("--batch-check", asked, self._commit)}
        total = 0
        waiting: dict[str, list[_Entry]] = {}
        size_waiting = 0
        for entry in self._entries:
            size = sizes.get(entry.object)
            limit = _LONGEST_LINK if entry.is_link else self._limit(entry.path)
            if size is None or size > limit:
                # A link is read whatever its name is, but most names are of no concern.
                if self._limit(entry.path):
                    self._left_out(entry.path, _TOO_LARGE if size else None)
            else:
                total += size
                size_waiting += size if entry.object not in waiting else 0
                waiting.setdefault(entry.object, []).append(entry)
            if total > _MOST_BYTES:
                self._too_much("the Python files", "have")
            if size_waiting > _AT_ONCE:
                self._take(waiting)
                waiting, size_waiting = {}, 0
        self._take(waiting)

    def _take(self, waiting: Mapping[str, Sequence[_Entry]]) -> None:
        found = self._repository.objects("--batch", waiting, self._commit)
        contents = {it.name: it.content for it in found if it.kind == b"blob"}
        for entry in (it for entries in waiting.values() for it in entries):
            content = contents.get(entry.object)
            if content is None:
                self._left_out(entry.path)
            elif entry.is_link:
                entry.folder[entry.name] = Link(_text(content))
            elif content.startswith(_LFS):
                self._result.problems[entry.path] = _IN_LFS
            else:
                entry.folder[entry.name] = content

    def _left_out(self, path: str, why: str | None = None) -> None:
        """Say why something is not there; by default that its object is not."""
        if self._is_partial is None:
            self._is_partial = self._repository.is_partial()
        self._result.problems[path] = why or (_MISSING if self._is_partial else _LOST)


def _lines(tree: bytes, length: int) -> Iterator[tuple[int, str, str]]:
    """The lines of a tree, as git stores it: kind, name and object, whose hash has a length."""
    at = 0
    while (end := tree.find(b"\0", at)) >= 0:
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + length
        kind = int(mode, 8) & 0o170000 if mode.isdigit() and not set(mode) & set(b"89") else 0
        yield kind, _text(name), tree[end + 1 : at].hex()


def _text(name: bytes) -> str:
    # As `os.fsdecode`, which on Windows refuses what is not UTF-8.
    return name.decode(sys.getfilesystemencoding(), "surrogateescape")
