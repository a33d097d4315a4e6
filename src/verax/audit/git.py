"""A git repository, which is only read.

The repository may be a stranger's, with a configuration that he wrote. So every call of git goes
through `_git`, which turns off what a configuration can have git run or fetch, and only commands
are called that use neither filters nor a pager.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

from .close import close_names
from .errors import UsageError

# How many damaged objects it may end at.
_MOST_DEATHS = 200
_PATIENCE = 120.0  # seconds
# What is read of an index in all, in bytes.
_MOST_STAGED = 200_000_000

# What a repository can have git run, whichever command it is: these win over its configuration.
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    # What some versions bring before they look at which protocols are allowed.
    "fetch.bundleURI": "",
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

    def has_commit(self) -> bool:
        """Whether there is anything to compare with: `HEAD` names a commit."""
        return self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").returncode == 0

    def staged(self, patterns: Sequence[str]) -> list[str]:
        """The files that the next commit adds or changes, by absolute path.

        While `git commit` runs a hook, the index may be a file of its own, which git names.
        """
        if self.has_commit():
            command = (
                *("diff-index", "--cached", "--name-only", "-z", "--no-renames"),
                *("--diff-filter=d", "--ignore-submodules=all", "HEAD"),
            )
        else:
            command = ("ls-files", "--cached", "-z")
        return self._absolute(self._of_index(*command, "--", *patterns))

    def unlike_files(
        self,
        patterns: Sequence[str],
        limit: Callable[[str], int],
        only: Container[str] | None = None,
    ) -> dict[str, bytes]:
        """What the next commit has in the place of files of the work tree, by absolute path.

        Only of those that differ there, and that have no more bytes than `limit` says; perhaps
        `only` of some.
        """
        listed = self._of_index("ls-files", "--cached", "--stage", "-z", "--", *patterns)
        # After a merge with conflicts there is more than one version; none of them is the commit's.
        hashes = {path: words[1] for path, words in self._listed(listed).items() if words[2] == "0"}
        unlike = {
            path: name
            for path, name in hashes.items()
            if (only is None or path in only) and (not os.path.isfile(path) or _differs(path, name))
        }
        found = self.objects("--batch-check", unlike.values(), "HEAD")
        sizes = {it.name: it.size for it in found if it.kind == b"blob"}
        wanted = {
            it for path, it in unlike.items() if sizes.get(it, limit(path) + 1) <= limit(path)
        }
        if sum(sizes[name] for name in wanted) > _MOST_STAGED:
            raise UsageError(
                f"{self.option}: what is staged has more than {_MOST_STAGED / 1e6:g} MB"
            )
        contents = {it.name: it.content for it in self.objects("--batch", wanted, "HEAD")}
        return {
            path: content
            for path, name in unlike.items()
            if (content := contents.get(name)) is not None
        }

    def _of_index(self, *command: str) -> bytes:
        index = {name: os.environ[name] for name in ("GIT_INDEX_FILE",) if name in os.environ}
        ran = _git(self.top, self.option, *command, environment=index)
        if ran.returncode != 0:
            raise _failed(self.option, ran)
        return ran.stdout

    def _listed(self, lines: bytes) -> dict[str, list[str]]:
        """What git lists of each file in front of its name, word by word, by absolute path."""
        pairs = (line.split(b"\t", 1) for line in lines.split(b"\0") if b"\t" in line)
        return {
            os.path.join(self.top, os.fsdecode(path)): about.decode().split()
            for about, path in pairs
        }

    def changed(self, patterns: Sequence[str]) -> list[str]:
        """The files of the work tree that differ from `HEAD`, by absolute path.

        Git itself would have the filters that a repository names convert what it compares. So
        contents are compared as they are; what a filter converts counts as changed.
        """
        listed = self._run(
            *("ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns)
        )
        if listed.returncode != 0:
            raise _failed(self.option, listed)
        lines = self._run("ls-tree", "-r", "-z", "HEAD").stdout
        stored = {path: words[2] for path, words in self._listed(lines).items()}
        files = dict.fromkeys(self._absolute(listed.stdout))
        return [file for file in files if _differs(file, stored.get(file))]

    def _absolute(self, listed: bytes) -> list[str]:
        paths = (os.fsdecode(path) for path in listed.split(b"\0") if path)
        return [os.path.join(self.top, path) for path in paths]

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


def tracked(folder: str, top: str) -> str:
    """Why a folder may have come with the repository that has its work tree at `top`.

    Empty if nothing in it did, or if there is no git, or no repository.
    """
    if _program() is None:
        return ""
    try:
        ran = _git(top, "", "ls-files", "-z", "--", os.path.abspath(folder))
        if ran.returncode == 0:
            return f"{folder} is tracked by git" if ran.stdout else ""
        if b"not a git repository" in ran.stderr:
            return ""
        raise _failed("", ran)
    except UsageError as error:
        said = str(error).removeprefix(": ")
        return f"it is not known whether {folder} is tracked by git ({said})"


def _differs(file: str, stored: str | None) -> bool:
    """Whether there is a file whose content has not this hash."""
    if not os.path.isfile(file) or os.path.islink(file):
        return False
    if stored is None:
        return True
    # Of repositories there are two kinds, by the hash that they use.
    digest = hashlib.sha1 if len(stored) == hashlib.sha1().digest_size * 2 else hashlib.sha256
    try:
        with open(file, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            found = hashlib.file_digest(stream, lambda: digest(b"blob %d\0" % size))
    except OSError:
        return False
    return found.hexdigest() != stored


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


def _found(folder: str, option: str, what: str) -> bytes:
    """What git says of the repository that a folder lies in."""
    ran = _git(folder, option, "rev-parse", what)
    if ran.returncode == 0:
        return ran.stdout.removesuffix(b"\n")
    if b"not a git repository" in ran.stderr:
        raise UsageError(f"{option}: {folder} lies in no git repository")
    raise _failed(option, ran)


def _git(
    folder: str,
    option: str,
    *arguments: str,
    input: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder: the only place that does. `environment` has further variables."""
    program = _program()
    if program is None:
        raise UsageError(f"{option}: there is no git on the path")
    settings = [it for name, value in _SETTINGS.items() for it in ("-c", f"{name}={value}")]
    command = [program, "--no-pager", "-C", folder, *settings, *arguments]
    variables = {**_environment(), **(environment or {})}
    try:
        return subprocess.run(
            command, input=input, capture_output=True, env=variables, timeout=_PATIENCE
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
