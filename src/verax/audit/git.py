"""Earlier versions of a work tree, out of its git repository, which is only read.

No file of the work tree is touched, no filter or hook that a repository configures is run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .close import close_names
from .errors import UsageError

_LINK, _SUBMODULE = "120000", "160000"


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
        ran = _git(folder, option, "rev-parse", "--show-toplevel")
        if ran.returncode == 0:
            return Repository(os.path.realpath(os.fsdecode(ran.stdout.rstrip(b"\n"))), option)
        if b"not a git repository" in ran.stderr:
            raise UsageError(f"{option}: {folder} lies in no git repository")
        raise _failed(option, ran)

    def commit(self, revision: str) -> str:
        """The commit that a revision means.

        Raises:
            UsageError: It means none.
        """
        ran = self._run("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        if revision and ran.returncode == 0:
            return ran.stdout.decode().strip()
        if b"Needed a single revision" not in ran.stderr:
            raise _failed(self.option, ran)
        raise UsageError(f"{self.option}: there is no such revision{self._hint(revision)}")

    def _hint(self, revision: str) -> str:
        names = self._run("for-each-ref", "--format=%(refname:short)").stdout.decode().split()
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

    def write(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> None:
        """Write the files of a commit with a wanted name to a folder, as they are stored.

        Those of submodules are among them, where the submodule is there.
        """
        links: list[tuple[Path, bytes]] = []
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", commit)
        if listed.returncode != 0:
            raise _failed(self.option, listed)
        entries = [_entry(entry) for entry in listed.stdout.split(b"\0") if entry]
        files = [it for it in entries if it.mode != _SUBMODULE and wanted(it.path)]
        for entry, content in zip(files, self._contents(it.name for it in files), strict=True):
            path = Path(folder, entry.path)
            if content is None or ".." in path.parts:
                continue
            if entry.mode == _LINK:
                links.append((path, content))
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for path, content in links:  # last, so that no file is written through one
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # not every system of files has links
                path.symlink_to(os.fsdecode(content))
        for entry in entries:
            inner = os.path.join(self.top, entry.path)
            if entry.mode == _SUBMODULE and os.path.exists(os.path.join(inner, ".git")):
                submodule = Repository(inner, self.option)
                if submodule._run("cat-file", "-e", entry.name).returncode == 0:
                    submodule.write(entry.name, os.path.join(folder, entry.path), wanted)

    def _contents(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of objects, one after the other; `None` for one that is not there."""
        command = _command(self.top, "cat-file", "--batch")
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for name in names:
                process.stdin.write(f"{name}\n".encode())
                process.stdin.flush()
                yield _content(process.stdout)

    def _run(self, *arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return _git(self.top, self.option, *arguments, input=input)


def is_tracked(path: str, top: str) -> bool:
    """Whether a repository holds a file, or anything in a folder, of its work tree at `top`."""
    try:
        return bool(_git(top, "", "ls-files", "-z", "--", path).stdout)
    except UsageError:
        return False  # there is no git


@dataclass(frozen=True)
class _Entry:
    mode: str
    name: str
    path: str


def _entry(line: bytes) -> _Entry:
    about, _, path = line.partition(b"\t")
    mode, _, name = about.decode().split()
    return _Entry(mode, name, os.fsdecode(path))


def _content(stream: IO[bytes]) -> bytes | None:
    """What `git cat-file --batch` answers: a line with the size, and the content."""
    head = stream.readline().split()
    if len(head) != 3:
        return None
    content = stream.read(int(head[2]))
    stream.read(1)  # a line break
    return content


def _git(
    folder: str, option: str, *arguments: str, input: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            _command(folder, *arguments), input=input, capture_output=True, env=_environment()
        )
    except OSError:
        raise UsageError(f"{option}: there is no git on the path") from None


def _command(folder: str, *arguments: str) -> list[str]:
    # A monitor of files is a program that the repository names.
    return ["git", "-C", folder, "-c", "core.fsmonitor=false", *arguments]


def _environment() -> dict[str, str]:
    return os.environ | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _failed(option: str, ran: subprocess.CompletedProcess[bytes]) -> UsageError:
    lines = ran.stderr.decode(errors="replace").strip().split("\n")
    return UsageError(f"{option}: git says {lines[0].removeprefix('fatal: ')!r}")
