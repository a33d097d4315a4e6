"""`--diff` in repositories that no git would make: hostile trees, links, settings, lost objects.

The repository is written object by object. Beside it stands what a careful checkout of the earlier
version would have written, made from what the generator knows of its own entries. What `--diff`
finds must be what an audit of the present files finds, without what an audit of that checkout
finds; nothing may be written elsewhere, and no program may run that a setting names.
"""

import hashlib
import io
import json
import os
import random
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from verax.audit.plain import encodable
from verax.cli import main

FILE, PROGRAM, LINK, FOLDER, SUBMODULE = b"100644", b"100755", b"120000", b"40000", b"160000"

_NAMES = [b"a.py", b"b.py", b"A.py", b"sp ace.py", b"na\xefve.py", "ü.py".encode(), b"li\nne.py"]
_FOLDERS = [b"one", b"two", b"th.ree", b"four.py"]
_UNSAFE = [
    *(b"", b".", b"..", b"...", b".git", b".GIT", b"git~1", b".git.", b".git ", b".git:x", b".. "),
    *("\u200c.git".encode(), b"../new.py", b"one/../../new.py", b"/new.py", b"one/new.py"),
]
_SETTINGS = """\
[core]
	fsmonitor = {run}
	sshCommand = {run}
	gitProxy = {run}
	pager = {run}
	editor = {run}
	askPass = {run}
	alternateRefsCommand = {run}
	hooksPath = {hooks}
[diff]
	external = {run}
[diff "own"]
	command = {run}
	textconv = {run}
[filter "own"]
	clean = {run}
	smudge = {run}
	process = {run}
	required = true
[alias]
	rev-parse = !{run}
	cat-file = !{run}
	x = !{run}
[protocol]
	allow = always
[protocol "file"]
	allow = always
[protocol "ext"]
	allow = always
"""
_REMOTE = """\
[remote "origin"]
	url = {url}
	promisor = true
	uploadpack = {run}
[extensions]
	partialClone = origin
"""


@dataclass
class _Case:
    """One repository: `then` and `now` are files and links by path, as a checkout has them."""

    rng: random.Random
    root: Path
    then: dict[str, bytes | str] = field(default_factory=dict)
    now: dict[str, bytes | str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    functions: int = 0
    loss: float = 0.0
    has_lost: bool = False

    @property
    def project(self) -> Path:
        """The work tree."""
        return self.root / "project"

    @property
    def outside(self) -> Path:
        """A folder where hostile names and links lead."""
        return self.root / "outside"

    def chance(self, share: float) -> bool:
        """Whether something happens that does so in a share of all cases."""
        return self.rng.random() < share

    def source(self) -> bytes:
        """A program of some functions, each with a name of its own; most have a bug."""
        functions: list[str] = []
        for _ in range(self.rng.randrange(1, 3)):
            self.functions += 1
            second = "key" if self.chance(0.7) else "jax.random.fold_in(key, 1)"
            name = f"f{self.functions}"
            body = f"jax.random.normal(key) + jax.random.normal({second})  # {name}"
            functions.append(f"def {name}(key):\n    return {body}\n")
        return ("import jax\n\n\n" + "\n\n".join(functions)).encode()

    def library(self) -> bytes:
        """A function that is called in another file; with it the bug is there, or not."""
        result = self.rng.choice(["key, key", "jax.random.split(key)"])
        return f"import jax\n\n\ndef split(key):\n    return {result}\n".encode()


# It lies outside, in hostile entries and in the present work: were it read as something that was
# there, it would not be new.
_KEPT = b"""\
import jax


def kept(key):
    return jax.random.normal(key) * 2 + jax.random.normal(key)
"""
_CALLER = b"""\
import jax
%b library


def sample(key):
    first, second = library.split(key)
    return jax.random.normal(first) + jax.random.uniform(second)
"""


def run(rng: random.Random) -> str | None:
    """One repository."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        case = _Case(rng, Path(os.path.realpath(folder)))
        for name in ("project/.git/objects", "project/.git/refs/heads", "outside", "temporary"):
            (case.root / name).mkdir(parents=True)
        (case.outside / "kept.py").write_bytes(_KEPT)
        case.loss = rng.choice([0, 0, 0.2])
        _make_history(case)
        _make_present(case)
        _check(case)
    return "with lost objects" if case.has_lost else "whole"


# Making


def _object(case: _Case, kind: bytes, content: bytes, is_lost: bool = False) -> bytes:
    """Write a loose object, whatever it holds; its name."""
    data = kind + b" %d\0" % len(content) + content
    name = hashlib.sha1(data).hexdigest()
    file = case.project / ".git" / "objects" / name[:2] / name[2:]
    stored = zlib.compress(data, 1)
    if is_lost:
        case.has_lost = True
        case.told.append(f"lost {name}")
        stored = case.rng.choice([b"", b"nothing of git's", stored[: len(stored) // 2]])
    if stored:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(stored)
    return bytes.fromhex(name)


def _make_history(case: _Case) -> None:
    git = case.project / ".git"
    top = _folder(case, b"", depth=0)
    commits: list[str] = []
    for _ in range(case.rng.randrange(1, 4)):
        # The commits after the first one have the same tree.
        parent = f"parent {commits[-1]}\n" if commits else ""
        text = f"tree {top.hex()}\n{parent}author A <a> {len(commits)} +0000\n"
        text += f"committer A <a> {len(commits)} +0000\n\nchange\n"
        commits.append(_object(case, b"commit", text.encode()).hex())
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text(commits[-1] + "\n")
    (git / "refs" / "heads" / "old").write_text(case.rng.choice(commits) + "\n")
    if case.chance(0.3):
        _replace(case, commits)
    _write_settings(case)


def _replace(case: _Case, commits: Sequence[str]) -> None:
    """Have git take each commit for one without files."""
    empty = _object(case, b"tree", b"").hex()
    text = f"tree {empty}\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n\n"
    other = _object(case, b"commit", text.encode()).hex()
    folder = case.project / ".git" / "refs" / "replace"
    folder.mkdir()
    for commit in commits:
        (folder / commit).write_text(other + "\n")
    case.told.append("replaced commits")


def _write_settings(case: _Case) -> None:
    git = case.project / ".git"
    program = git / "program"
    program.write_text(f"#!/bin/sh\ntouch '{case.outside}/ran'\nexit 1\n")
    program.chmod(0o755)
    hooks = git / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor"):
        (hooks / hook).symlink_to(program)
    settings = "[core]\n\trepositoryformatversion = 0\n"
    if case.chance(0.7):
        settings += _SETTINGS.format(run=program, hooks=hooks)
        (git / "info").mkdir(exist_ok=True)
        (git / "info" / "attributes").write_text("* filter=own diff=own\n")
        case.told.append("settings")
    if case.has_lost or case.chance(0.3):
        url = case.rng.choice([f"file://{case.outside}", f"ext::{program}", "ssh://host/x"])
        settings += _REMOTE.format(url=url, run=program)
        settings = settings.replace("formatversion = 0", "formatversion = 1")
        case.told.append(f"remote {url}")
    (git / "config").write_text(settings)


def _folder(case: _Case, above: bytes, depth: int) -> bytes:
    """Write a tree with all below it; what a checkout has of it goes to `then`."""
    entries: list[tuple[bytes, bytes, bytes]] = []
    taken: set[bytes] = set()
    for name in case.rng.sample(_NAMES, case.rng.randrange(1, 4)):
        entries.append(_file(case, above, name))
        taken.add(name)
    if depth == 0:
        entries.append(_known_file(case, b"library.py", case.library()))
        statement = b"import"
        if case.chance(0.3):
            # The repository is a package, by the name of the folder that it lies in.
            entries.append(_known_file(case, b"__init__.py", b""))
            statement = b"from %b import" % case.project.name.encode()
        entries.append(_known_file(case, b"caller.py", _CALLER % statement))
    if depth < 3:
        for name in case.rng.sample(_FOLDERS, case.rng.randrange(3 - depth)):
            entries.append((FOLDER, name, _folder(case, above + name + b"/", depth + 1)))
            taken.add(name)
    if case.chance(0.5):
        entries += _links(case, above, taken)
    # The first of a name counts: what repeats one comes later.
    for _ in range(case.rng.randrange(3)):
        entries.append(_hostile(case, case.rng.choice([*_UNSAFE, *taken]), depth))
    is_lost = depth > 0 and case.chance(case.loss)
    if is_lost:
        start = os.fsdecode(above)
        case.then = {path: it for path, it in case.then.items() if not path.startswith(start)}
    content = b"".join(b"%b %b\0%b" % entry for entry in entries)
    return _object(case, b"tree", content, is_lost)


def _file(case: _Case, above: bytes, name: bytes) -> tuple[bytes, bytes, bytes]:
    content = case.source()
    is_lost = case.chance(case.loss)
    if not is_lost:
        case.then[os.fsdecode(above + name)] = content
    mode = case.rng.choice([FILE, PROGRAM])
    return mode, name, _object(case, b"blob", content, is_lost)


def _known_file(case: _Case, name: bytes, content: bytes) -> tuple[bytes, bytes, bytes]:
    case.then[name.decode()] = content
    return FILE, name, _object(case, b"blob", content)


def _links(case: _Case, above: bytes, taken: set[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """A link to a file that a checkout has, and one to what it does not have."""
    files = [path for path, content in case.then.items() if isinstance(content, bytes)]
    if files:
        to = os.path.relpath(case.rng.choice(files), os.fsdecode(above) or ".")
        case.then[os.fsdecode(above + b"link.py")] = to
        taken.add(b"link.py")
        yield LINK, b"link.py", _object(case, b"blob", os.fsencode(to))
    to = _way_out(case)
    taken.add(b"out.py")
    yield LINK, b"out.py", _object(case, b"blob", os.fsencode(to))
    if case.chance(0.5):
        # What git ignores is copied from the work tree: not to where the link leads.
        path = os.path.join(os.fsdecode(above), "out.py", "ignored.py")
        case.now[path] = b"import jax\n"
        case.told.append(f"{path!r} is ignored")


def _way_out(case: _Case) -> str:
    up = "../" * case.rng.randrange(1, 5)
    ways = [f"{case.outside}/kept.py", f"{up}outside/kept.py", str(case.outside), f"{up}outside"]
    return case.rng.choice([*ways, "out.py", "/", "/proc/self/cwd", "one/../.."])


def _hostile(case: _Case, name: bytes, depth: int) -> tuple[bytes, bytes, bytes]:
    """An entry that a checkout does not have."""
    if case.chance(0.2):
        name = os.fsencode(case.outside) + b"/new.py"
    case.told.append(f"hostile {name!r} at depth {depth}")
    file = _object(case, b"blob", _KEPT)
    inner = _object(case, b"tree", b"%b new.py\0%b" % (FILE, file))
    link = _object(case, b"blob", os.fsencode(_way_out(case)))
    kinds = [(FILE, file), (FOLDER, inner), (LINK, link), (SUBMODULE, file)]
    mode, object = case.rng.choice(kinds)
    return mode, name, object


def _make_present(case: _Case) -> None:
    """The work tree: what was there, changed at random."""
    for path, content in case.then.items():
        change = case.rng.random()
        if isinstance(content, str):
            if change < 0.7:
                case.now[path] = content
        elif path == "library.py":
            case.now[path] = case.library()
        elif change < 0.5 or path in ("caller.py", "__init__.py"):
            case.now[path] = content
        elif change < 0.7:
            case.now[path] = b"# moved\n" + content
        elif change < 0.9:
            case.now[path] = content + b"\n\n" + case.source().partition(b"\n\n\n")[2]
        elif change < 0.95:
            case.now["other " + os.path.basename(path)] = content
    case.now["new.py"] = _KEPT
    (case.project / ".git" / "info").mkdir(exist_ok=True)
    (case.project / ".git" / "info" / "exclude").write_text("ignored.py\n")
    _write(case.project, case.now)


def _write(folder: Path, files: dict[str, bytes | str]) -> None:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.symlink_to(content)


# Checking


def _check(case: _Case) -> None:
    safe = case.root / "safe" / case.project.name
    (safe / ".git").mkdir(parents=True)
    _write(safe, case.then)
    with _surroundings(case):
        before = _state(case)
        now = _findings(case, case.project)
        then = _findings(case, safe)
        cold = _findings(case, case.project, "--diff", "old")
        warm = _findings(case, case.project, "--diff", "old")
        after = _state(case)
    about = f"{case.told}\nthen {case.then}\nnow {case.now}"
    assert cold == now - then, f"new are {now - then}, told {cold}\n{about}"
    assert warm == cold, f"once more {warm}, first {cold}\n{about}"
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert not changed, f"written: {changed}\n{about}"


@contextmanager
def _surroundings(case: _Case) -> Iterator[None]:
    """A home, a cache and a folder for temporary files that are nobody else's."""
    own = {
        "HOME": str(case.outside),
        "VERAX_CACHE_DIR": str(case.root / "own" / "cache"),
        "XDG_STATE_HOME": str(case.root / "own" / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(case.root),
    }
    if case.chance(0.2):
        own |= {"GIT_DIR": str(case.outside), "GIT_OBJECT_DIRECTORY": str(case.outside)}
    temporary = str(case.root / "temporary")
    with mock.patch.dict(os.environ, own), mock.patch.object(tempfile, "tempdir", temporary):
        yield


def _findings(case: _Case, folder: Path, *options: str) -> set[str]:
    """The lines in which `verax audit` finds something, without the spaces around."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = main(["audit", ".", *options, "--format", "json", "--allow-unread"])
    assert code in (0, 1), f"exit code {code}: {err.getvalue()}\n{case.told}"
    report = json.loads(out.getvalue())
    failed = [note for note in report["notes"] if "verax itself failed" in note]
    assert not failed, f"{failed}\n{case.told}"
    found = (*report["issues"], *report["warnings"])
    # A report shows bytes that are no text as escapes.
    files = {encodable(str(it.relative_to(folder))): it for it in folder.rglob("*")}
    return {files[it["file"]].read_text().split("\n")[it["line"] - 1].strip() for it in found}


def _state(case: _Case) -> dict[str, bytes | str]:
    """All files but the cache and its key, by content."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in case.root.rglob("*")
        if (path.is_symlink() or path.is_file()) and not path.is_relative_to(case.root / "own")
    } | {str(path): "left" for path in (case.root / "temporary").iterdir()}
