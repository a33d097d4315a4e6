"""Earlier versions of a work tree, out of its git repository, which is only read.

The repository may be a stranger's, with a configuration that he wrote. So every call of git goes
through `_git`, which turns off what a configuration can have git run or fetch, and only commands
are called that use neither filters nor a pager.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple, NoReturn

from .close import close_names
from .errors import UsageError
from .tree import Folder, Link, is_safe

# What a tree may be in all. Git keeps trees that unfold to more than any disk can hold.
_MOST_ENTRIES = 2_000_000
_MOST_BYTES = 1_000_000_000
_DEEPEST = 200
_LONGEST_LINK = 4096
# How much of it git hands over at once.
_AT_ONCE = 64_000_000
_MOST_DEATHS = 200
_PATIENCE = 120.0  # seconds

_FOLDER, _LINK, _SUBMODULE = 0o040000, 0o120000, 0o160000
_LFS = b"version https://git-lfs.github.com/spec/"

# What a repository can have git run, whichever command it is: these win over its configuration.
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    # A folder that only looks like a repository's insides has no configuration that counts.
    "safe.bareRepository": "explicit",
}
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # An object that is not there stays so. Older versions of git know only the second: it leaves
    # no protocol to fetch by, whatever `protocol.*.allow` says.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    # A hash means what it says.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}
# Of git's variables those count that say where the user's own configuration and git's programs
# are, and where to stop looking for a repository. Others, as a hook has them, name a repository.
_KEPT = (
    "GIT_CONFIG",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
)

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


@dataclass(frozen=True)
class Repository:
    """A repository with the work tree `top`; `option` is what errors begin with."""

    top: str
    option: str

    @staticmethod
    def of(folder: str, option: str) -> Repository:
        """The repository that a folder lies in.

        Raises:
            UsageError: It lies in none, or there is no git.
        """
        top = os.path.realpath(os.fsdecode(_found(folder, option, "--show-toplevel")))
        # Where the settings say so, the work tree is any folder, perhaps of another repository.
        own, tops = (_found(it, option, "--absolute-git-dir") for it in (folder, top))
        if own != tops:
            raise UsageError(
                f"{option}: {folder} cannot be compared: its repository has its work tree "
                f"elsewhere, in {top}"
            )
        return Repository(top, option)

    def commit(self, revision: str) -> str:
        """The commit that a revision means.

        Raises:
            UsageError: It means none.
        """
        ran = self._run("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        # `^main` is one revision, too: all but what main has.
        if revision and ran.returncode == 0 and not ran.stdout.startswith(b"^"):
            return ran.stdout.decode().strip()
        if ran.returncode != 0 and b"Needed a single revision" not in ran.stderr:
            raise _failed(self.option, ran)
        raise UsageError(f"{self.option}: there is no such revision{self._hint(revision)}")

    def _hint(self, revision: str) -> str:
        listed = self._run("for-each-ref", "--format=%(refname:short)").stdout
        names = [name for name in os.fsdecode(listed).split("\n") if name and name.isprintable()]
        remote = [name for name in names if name.endswith(f"/{revision}")]
        if close := remote or close_names(revision, names):
            return f"; did you mean {' or '.join(close)}?"
        if self._run("rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
            return "; this clone has no history, which `git fetch --unshallow` brings"
        return ""

    def fork(self, commit: str) -> str:
        """Where the present work has left the history of a commit; else that commit itself."""
        ran = self._run("merge-base", "HEAD", commit)
        return ran.stdout.decode().strip() if ran.returncode == 0 else commit

    def ignored(self, paths: Iterable[str]) -> list[str]:
        """Those of some paths, relative to the top, that git was told to ignore."""
        given = b"\0".join(map(os.fsencode, paths))
        ran = self._run("check-ignore", "-z", "--stdin", input=given)
        return [os.fsdecode(path) for path in ran.stdout.split(b"\0") if path]

    def version(self, commit: str, limit: Limit) -> Version:
        """The files of a commit that are wanted, as they are stored, with those of submodules.

        Links are among them, wherever they lead.

        Raises:
            UsageError: There is too much.
        """
        return _Reader(self, commit, limit).version()

    def submodule(self, path: str) -> Repository | None:
        """The submodule at a path of the work tree, if it is there."""
        inner = os.path.join(self.top, path)
        is_there = os.path.exists(os.path.join(inner, ".git")) and os.path.realpath(inner) == inner
        return Repository(inner, self.option) if is_there else None

    def objects(self, command: str, names: Iterable[str], commit: str) -> Iterator[Object]:
        """What `git cat-file` with `--batch` or `--batch-check` tells of objects of a commit.

        Those that are not there are left out.
        """
        left = list(dict.fromkeys(names))
        lacking: frozenset[str] | None = None
        deaths = 0
        while left:
            asked = "".join(f"{name}\n" for name in left).encode()
            ran = self._run("cat-file", command, input=asked)
            answers = io.BytesIO(ran.stdout)
            told = 0
            while told < len(left) and (head := answers.readline()).endswith(b"\n"):
                found = _object(left[told], head, answers if command == "--batch" else None)
                if found is not None and found.is_cut:
                    break
                if found is not None:
                    yield found
                told += 1
            # Git ends at an object that is damaged, or that a partial clone would have to fetch.
            deaths += told < len(left)
            if deaths > _MOST_DEATHS:
                raise _failed(self.option, ran)
            left = left[told + 1 :]
            if left and lacking is None:
                lacking = self._lacking(commit)
                left = [name for name in left if name not in lacking]

    def _lacking(self, commit: str) -> frozenset[str]:
        """The objects of a commit's tree that the clone lacks, asked for without fetching any."""
        ran = self._run(
            *("rev-list", "--objects", "--no-object-names", "--missing=print"),
            *("--end-of-options", f"{commit}^{{tree}}"),
        )
        lines = ran.stdout.decode(errors="replace").split("\n")
        return frozenset(line[1:] for line in lines if line.startswith("?"))

    def is_partial(self) -> bool:
        """Whether git may have been told to leave objects with a remote."""
        ran = self._run("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partial)")
        return ran.returncode == 0

    def _run(self, *arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return _git(self.top, self.option, *arguments, input=input)


def is_tracked(path: str, top: str) -> bool:
    """Whether a repository holds a file, or anything in a folder, of its work tree at `top`."""
    try:
        return bool(_git(top, "", "ls-files", "-z", "--", path).stdout)
    except UsageError:
        return False  # there is no git


class Object(NamedTuple):
    """An object of a repository; there is no content where only its size was asked for."""

    name: str
    kind: bytes
    size: int
    content: bytes | None = None

    @property
    def is_cut(self) -> bool:
        """Whether git has ended within the content."""
        return self.content is not None and len(self.content) < self.size


def _object(name: str, head: bytes, stream: IO[bytes] | None) -> Object | None:
    """An object by what git says of it: its hash, kind and size, then perhaps its content."""
    words = head.split()
    if len(words) != 3 or not words[2].isdigit():
        return None
    size = int(words[2])
    if stream is None:
        return Object(name, words[1], size)
    content = stream.read(size)
    stream.read(1)  # a line break
    return Object(name, words[1], size, content)


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
                    self._lost(path.rstrip("/"))
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
            version = submodule.version(commit, lambda inner: self._limit(f"{path}/{inner}"))
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
            if size is None:
                self._lost(entry.path)
            elif size > limit:
                self._result.problems[entry.path] = _TOO_LARGE
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
                self._lost(entry.path)
            elif entry.is_link:
                entry.folder[entry.name] = Link(_text(content))
            elif content.startswith(_LFS):
                self._result.problems[entry.path] = _IN_LFS
            else:
                entry.folder[entry.name] = content

    def _lost(self, path: str) -> None:
        if self._is_partial is None:
            self._is_partial = self._repository.is_partial()
        self._result.problems[path] = _MISSING if self._is_partial else _LOST


def _found(folder: str, option: str, what: str) -> bytes:
    """What git says of the repository that a folder lies in."""
    ran = _git(folder, option, "rev-parse", what)
    if ran.returncode == 0:
        return ran.stdout.removesuffix(b"\n")
    if b"not a git repository" in ran.stderr:
        raise UsageError(f"{option}: {folder} lies in no git repository")
    raise _failed(option, ran)


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


def _git(
    folder: str, option: str, *arguments: str, input: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder: the only place that does."""
    program = _program()
    if program is None:
        raise UsageError(f"{option}: there is no git on the path")
    settings = [it for name, value in _SETTINGS.items() for it in ("-c", f"{name}={value}")]
    command = [program, "--no-pager", "-C", folder, *settings, *arguments]
    try:
        return subprocess.run(
            command, input=input, capture_output=True, env=_environment(), timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"{option}: git {arguments[0]} has not ended within {_PATIENCE:g} s"
        ) from None
    except OSError as error:
        raise UsageError(f"{option}: git cannot be run: {error.strerror or error}") from None


def _program() -> str | None:
    """Git, but not one that lies in the folder where the audit happens to run."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, folders)))
    return found if found is not None and os.path.isabs(found) else None


def _environment() -> dict[str, str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    return own | _ENVIRONMENT


def _failed(option: str, ran: subprocess.CompletedProcess[bytes]) -> UsageError:
    lines = ran.stderr.decode(errors="replace").strip().split("\n")
    first = next((line for line in lines if line.startswith("fatal: ")), lines[0])
    return UsageError(f"{option}: git says {first.removeprefix('fatal: ')!r}")
