"""`--diff` in a repository that somebody else made, who would have us write or run something."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from verax.audit import version

from .hostile import FILE, FOLDER, LINK, SUBMODULE, Canary, blob, commit_of, contents, put, tree
from .repositories import already, commit, error_of, git, new, write

BUG = "x = 1  # BUG AX001\n"


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    """Programs to lay out; none of them may run."""
    canary = Canary(tmp_path / "canary")
    yield canary
    assert canary.marks() == set()


@pytest.fixture
def outside(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A folder beside the repository, which must stay as it is; the temporary one must be empty."""
    outside = tmp_path / "outside"
    temporary = tmp_path / "temporary"
    outside.mkdir()
    temporary.mkdir()
    (outside / "kept.py").write_text("kept = 1\n")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = contents(tmp_path)
    yield outside
    changed = {it: text for it, text in contents(tmp_path).items() if before.get(it) != text}
    allowed = (f"{tmp_path}/project/", f"{tmp_path}/other/")
    assert {it for it in changed if not it.startswith(allowed)} == set()
    assert not list(temporary.iterdir())


def note(paths: str, why: str, since: str = "old") -> str:
    were = "they were" if "," in paths or " and " in paths else "it was"
    return f"{paths} could not be read as {were} ({why}) at {since}"


UNSAFE, TWICE = "no checkout would write such a name", "the name is there twice"


def test_names_that_are_absolute(planted_repository: Path, outside: Path, capsys):
    file = blob(BUG)
    commit_of(tree((FILE, f"{outside}/new.py", file), (FILE, "a.py", file)))
    write(a=BUG)
    assert new(capsys, "--diff", "old") == (
        [],
        [note(f"{outside}/new.py", UNSAFE), *already(1, "old")],
    )


NAMES = (
    *(".", "..", "...", "../new.py", "inner/../../new.py", ".git", ".GIT", ".git.", ".git "),
    *("git~1", "GIT~1", ".g\u200cit", ".git\ufeff", ".git::$INDEX_ALLOCATION", ".git:x", ".. "),
    *(".. .", "/new.py", "inner/new.py"),
)


@pytest.mark.parametrize("names", [("",), NAMES], ids=["empty", "others"])
@pytest.mark.parametrize("kind", [FOLDER, FILE, LINK])
def test_names_that_no_checkout_writes(
    planted_repository: Path, outside: Path, capsys, names: tuple[str, ...], kind: str
):
    inner = tree((FILE, "new.py", blob(BUG)))
    object = {FOLDER: inner, FILE: blob(BUG), LINK: blob(str(outside))}[kind]
    commit_of(tree((FILE, "a.py", blob(BUG)), *((kind, name, object) for name in names)))
    write(a=BUG)
    found, notes = new(capsys, "--diff", "old")
    assert found == []
    assert notes[-1:] == already(1, "old")
    if kind == FOLDER and len(names) > 1:
        assert f", .., ... and {len(names) - 3} more files could not be read" in notes[0]
        assert UNSAFE in notes[0]


def test_a_name_twice(planted_repository: Path, outside: Path, capsys):
    inner = tree((FILE, "new.py", blob(BUG)))
    entries = (LINK, "a.py", blob(str(outside))), (FOLDER, "a.py", inner)
    commit_of(tree(*entries))
    Path("a.py").mkdir()
    write(**{"a.py/b": BUG})
    assert new(capsys, "--diff", "old")[0] == ["a.py/b.py:1 AX001"]


def test_nothing_is_written_through_a_link(planted_repository: Path, outside: Path, capsys):
    """Not even what git ignores, which is taken from the work tree."""
    link = blob(str(outside))
    commit_of(tree((LINK, "a.py", link), (LINK, "b.py", link), (FILE, "c.py", blob(BUG))))
    Path(".git", "info", "exclude").write_text("new.py\n")
    for folder in ("a.py", "b.py"):
        Path(folder).mkdir()
        Path(folder, "new.py").write_text(BUG)
    write(c=BUG)
    assert new(capsys, "a.py/new.py", "c.py", "--diff", "old") == (
        ["a.py/new.py:1 AX001"],
        already(1, "old"),
    )


def test_no_submodule_is_written_through_a_link(planted_repository: Path, outside: Path, capsys):
    """Where a hostile tree has a link and a submodule by the same name."""
    inner = Path("inner.py")
    git("init", "--quiet", "--initial-branch", "main", str(inner))
    (inner / "new.py").write_text(BUG)
    git("-C", "inner.py", "add", "--all")
    git("-C", "inner.py", "commit", "--quiet", "--message", "one")
    submodule = (SUBMODULE, "inner.py", git("-C", "inner.py", "rev-parse", "HEAD").strip())
    commit_of(tree((LINK, "inner.py", blob(str(outside))), submodule))
    write(a="x = 1\n")
    assert new(capsys, "--diff", "old") == (["inner.py/new.py:1 AX001"], [note("inner.py", TWICE)])


def test_a_submodule_behind_a_link_is_not_read(planted_repository: Path, tmp_path: Path, capsys):
    """A link of the work tree may lead to any repository of the user."""
    other = tmp_path / "other"
    git("init", "--quiet", "--initial-branch", "main", str(other))
    (other / "a.py").write_text(BUG)
    git("-C", str(other), "add", "--all")
    git("-C", str(other), "commit", "--quiet", "--message", "one")
    head = git("-C", str(other), "rev-parse", "HEAD").strip()
    commit_of(tree((SUBMODULE, "inner", head)))
    Path("inner").symlink_to(other)
    write(b=BUG)  # which would be taken for what was there, under another name
    assert new(capsys, "--diff", "old") == (["b.py:1 AX001"], [])


@pytest.mark.parametrize(
    "target",
    ["{}/kept.py", "../../outside/kept.py", "inner/../../../outside/kept.py", "up/kept.py"],
)
def test_links_that_lead_out_are_not_followed(
    planted_repository: Path, outside: Path, capsys, target: str
):
    (outside / "kept.py").write_text(BUG)
    up = (LINK, "up", blob(str(outside)))
    inner = (FOLDER, "inner", tree((FILE, "b.py", blob(""))))
    commit_of(tree((LINK, "a.py", blob(target.format(outside))), inner, up))
    write(a=BUG)
    found = new(capsys, "--diff", "old")
    (outside / "kept.py").write_text("kept = 1\n")
    assert found == (["a.py:1 AX001"], [])


def test_links_that_stay_inside_are_followed(planted_repository: Path, outside: Path, capsys):
    package = tree((FILE, "b.py", blob(BUG)))
    commit_of(
        tree(
            (FOLDER, "package", package),
            (LINK, "by", blob("package")),
            (FOLDER, "deep", tree((LINK, "a.py", blob("../by/./b.py")))),
            (LINK, "circle.py", blob("circle.py")),
        )
    )
    Path("deep").mkdir()
    Path("deep", "a.py").write_text(BUG)
    assert new(capsys, "deep/a.py", "--diff", "old") == ([], already(1, "old"))


def partial_clone(tmp_path: Path, monkeypatch, canary: Canary, filter: str) -> None:
    """A clone of the repository that lacks objects, which it would fetch by a canary."""
    git("config", "uploadpack.allowFilter", "true")
    source = Path.cwd().as_uri()
    git("clone", "--quiet", "--no-checkout", "--filter", filter, source, str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path / "other")
    git("config", "remote.origin.uploadpack", canary.command("uploadpack"))
    git("config", "core.sshCommand", canary.command("sshCommand"))
    git("config", "core.gitProxy", str(canary.program(Path(".git/proxy"), "gitProxy")))
    git("config", "protocol.allow", "always")
    for protocol in ("file", "ssh", "git", "ext"):
        git("config", f"protocol.{protocol}.allow", "always")


FETCHES = "this partial clone lacks its content, which `git fetch --refetch --no-filter` brings"


@pytest.mark.parametrize("url", [None, "ssh://host/x", "git://host/x", "ext::touch ran"])
def test_missing_objects_are_not_fetched(
    planted_repository: Path, tmp_path: Path, capsys, monkeypatch, canary: Canary, url: str | None
):
    for number in range(3):
        write(**{f"a{number}": f"y = {number}\n{BUG}"})
    Path("data").symlink_to("nowhere")  # is missing, too, and of no concern
    commit()
    partial_clone(tmp_path, monkeypatch, canary, "blob:none")
    git("config", "remote.origin.url", url or planted_repository.as_uri())
    with pytest.raises(subprocess.CalledProcessError):
        git("cat-file", "-p", "HEAD:a1.py")  # otherwise this would test nothing
    ran = canary.marks() | ({"ran"} & set(os.listdir()))
    assert ran
    for mark in canary.folder.iterdir():
        mark.unlink()
    Path("ran").unlink(missing_ok=True)
    write(a0=BUG, a1=BUG)
    assert new(capsys, "--diff", "HEAD") == (
        ["a0.py:1 AX001", "a1.py:1 AX001"],
        [note("a0.py, a1.py and a2.py", FETCHES, "HEAD")],
    )
    assert not Path("ran").exists()


def test_what_brings_missing_objects(planted_repository: Path, tmp_path: Path, capsys, monkeypatch):
    """It is what the note says."""
    write(a=BUG)
    commit()
    partial_clone(tmp_path, monkeypatch, Canary(tmp_path / "canary"), "blob:none")
    git("config", "--unset", "remote.origin.uploadpack")
    write(a=f"y = 1\n{BUG}")
    assert new(capsys, "--diff", "HEAD")[1] == [note("a.py", FETCHES, "HEAD")]
    git("fetch", "--refetch", "--no-filter", "--quiet")
    assert new(capsys, "--diff", "HEAD") == ([], already(1, "HEAD"))


def test_missing_folders_are_not_fetched(
    planted_repository: Path, tmp_path: Path, capsys, monkeypatch, canary: Canary
):
    Path("inner").mkdir()
    write(a=BUG, **{"inner/b": BUG})
    commit()
    partial_clone(tmp_path, monkeypatch, canary, "tree:0")
    write(a=BUG)
    assert new(capsys, "--diff", "HEAD") == (
        ["a.py:1 AX001"],
        [note("all of it", FETCHES, "HEAD")],
    )


def test_objects_that_are_lost(planted_repository: Path, capsys):
    """Not there, no object, and one whose content ends too early."""
    texts = {name: f"{name} = 1\n{BUG}" + "# filler\n" * 1000 for name in "abcdef"}
    write(**texts)
    commit()
    for name in "abc":
        object = git("rev-parse", f"HEAD:{name}.py").strip()
        file = Path(".git", "objects", object[:2], object[2:])
        data = file.read_bytes()
        file.unlink()
        if name != "a":
            file.write_bytes(b"nothing that git has written" if name == "b" else data[:-8])
    lost = "the repository lacks its content; `git fsck` says more"
    found, notes = new(capsys, "--diff", "HEAD")
    assert found == ["a.py:2 AX001", "b.py:2 AX001", "c.py:2 AX001"]
    assert notes == [note("a.py, b.py and c.py", lost, "HEAD"), *already(3, "HEAD")]


def test_no_setting_has_git_run_something(planted_repository: Path, canary: Canary, capsys):
    git("config", "core.worktree", str(planted_repository))
    Path(".gitattributes").write_text("*.py filter=own diff=own merge=own\n")
    write(a=BUG)
    commit()
    commands = (
        *("core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand"),
        *("core.alternateRefsCommand", "credential.helper", "diff.external", "diff.own.command"),
        *("diff.own.textconv", "filter.own.clean", "filter.own.smudge", "filter.own.process"),
        *("merge.own.driver", "gpg.program", "pager.rev-parse", "pager.cat-file"),
        *("remote.origin.uploadpack", "uploadpack.packObjectsHook", "interactive.diffFilter"),
    )
    for name in commands:
        git("config", name, canary.command(name))
    for name in ("rev-parse", "cat-file", "merge-base", "check-ignore", "for-each-ref", "config"):
        git("config", f"alias.{name}", f"!{canary.command(f'alias {name}')}")
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        canary.program(Path("hooks", hook), hook)
    git("config", "core.hooksPath", "hooks")
    write(a=BUG + BUG)
    for command in (["status"], ["diff"]):
        subprocess.run(["git", *command], capture_output=True)
    assert {"ran core.fsmonitor", "ran filter.own.process"} <= canary.marks()  # what others run
    for mark in canary.folder.iterdir():
        mark.unlink()
    write(b="y = 1\n")  # git is asked whether it ignores that
    assert new(capsys, ".", "--diff", "main") == (["a.py:2 AX001"], already(1))
    error_of(capsys, ".", "--diff", "nowhere")


def test_every_call_of_git_is_made_in_the_same_way(
    planted_repository: Path, tmp_path: Path, capsys, monkeypatch
):
    """By a git that writes down how it was called."""
    Path(".gitignore").write_text("b.py\n")
    write(a=BUG, b="y = 1\n")
    commit()
    calls = tmp_path / "calls"
    names = ("GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL-unset", "GIT_NO_REPLACE_OBJECTS", "GIT_DIR-")
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    state = " ".join(f"${{{name}}}" for name in names)
    wrapper.write_text(
        f'#!/bin/sh\necho "{state} $*" >> {calls}\nexec {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_DIR", ".git")
    assert new(capsys, "a.py", "b.py", "--diff", "main") == ([], already(1))
    error_of(capsys, "--diff", "mian")
    settings = (
        "-c core.fsmonitor=false -c core.hooksPath=/dev/null -c protocol.allow=never "
        "-c fetch.bundleURI= -c safe.bareRepository=explicit "
    )
    called: set[str] = set()
    for call in calls.read_text().splitlines():
        assert call.startswith("1  1  --no-pager -C ")
        called.add(call.partition(settings)[2].partition(" ")[0])
    assert called == {"rev-parse", "merge-base", "cat-file", "check-ignore", "for-each-ref"}


def test_git_is_not_taken_from_the_repository(
    planted_repository: Path, canary: Canary, capsys, monkeypatch
):
    write(a=BUG)
    commit()
    canary.program(Path("git"), "git")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert new(capsys, "a.py", "--diff", "main") == ([], already(1))


def test_a_repository_is_the_one_that_the_target_lies_in(
    planted_repository: Path, tmp_path: Path, capsys, monkeypatch
):
    """Whatever a hook of another one has put into the environment."""
    write(a=BUG)
    commit()
    write(a=f"y = 1\n{BUG}{BUG}")
    other = tmp_path / "other"
    git("init", "--quiet", str(other))
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git" / "index",
        "GIT_OBJECT_DIRECTORY": other / ".git" / "objects",
        "GIT_COMMON_DIR": other / ".git",
        "GIT_NAMESPACE": "other",
        "GIT_TRACE": tmp_path / "trace",
        "GIT_TRACE2": tmp_path / "trace",
    }.items():
        monkeypatch.setenv(name, str(value))
    assert new(capsys) == (["a.py:3 AX001"], already(1))
    assert not (tmp_path / "trace").exists()


def test_a_folder_that_looks_like_the_inside_of_a_repository(planted_repository: Path, capsys):
    """As comes with a plain clone; it has a configuration that git would take for its own."""
    inner = Path("inner")
    inner.mkdir()
    write(**{"inner/a": BUG})
    git("init", "--quiet", "--bare", "--initial-branch", "main", "inner")
    for name, value in (("core.bare", "false"), ("core.worktree", str(inner.resolve()))):
        git("config", "--file", "inner/config", name, value)
    commit()
    git("--git-dir", "inner", "commit", "--quiet", "--allow-empty", "--message", "empty")
    assert "safe.bareRepository" in error_of(capsys, "inner/a.py", "--diff", "HEAD")


@pytest.mark.parametrize("elsewhere", ["..", "../other", "inner"])
def test_a_work_tree_that_the_settings_claim(
    planted_repository: Path, tmp_path: Path, capsys, elsewhere: str
):
    """Perhaps one of another repository, whose history has nothing to do with the targets."""
    write(a=BUG)
    commit()
    for other in (tmp_path, tmp_path / "other", planted_repository / "inner"):
        git("init", "--quiet", "--initial-branch", "main", str(other))
        git("-C", str(other), "commit", "--quiet", "--allow-empty", "--message", "other")
    claimed = (planted_repository / elsewhere).resolve()
    git("config", "core.worktree", str(claimed))
    assert error_of(capsys, "a.py", "--diff", "main") == (
        "--diff main: . cannot be compared: "
        f"its repository has its work tree elsewhere, in {claimed}"
    )


def test_a_hash_means_what_it_says(planted_repository: Path, capsys):
    """Neither replaced objects nor grafts change what was there."""
    write(a="x = 1\n")
    commit()
    first = git("rev-parse", "HEAD").strip()
    write(a=BUG)
    commit()
    second = git("rev-parse", "HEAD").strip()
    commit()
    git("replace", first, second)
    assert new(capsys, "--diff", first)[0] == ["a.py:1 AX001"]
    git("replace", "--delete", first)
    git("replace", f"{first}:a.py", f"{second}:a.py")
    assert new(capsys, "--diff", first)[0] == ["a.py:1 AX001"]
    # A graft without parents: as if the present work had never left that history.
    git("switch", "--quiet", "--detach", first)
    write(a=f"{BUG}y = 1\n")
    commit()
    head = git("rev-parse", "HEAD").strip()
    Path(".git", "info", "grafts").write_text(f"{head}\n")
    assert new(capsys, "--diff", second)[0] == ["a.py:1 AX001"]


@pytest.mark.parametrize(
    "revision",
    [
        *("--upload-pack=touch ran", "-x", "--output=ran", "--exec=touch ran", "-c"),
        *("HEAD:a.py", "^HEAD", "HEAD..HEAD", "HEAD^{tree}", "HEAD --all", "../x", ":/", ":0:a.py"),
        *("\N{SNOWMAN}", "a\nb", "@{-1}", "HEAD^{/nothing}", "x" * 5000, "0" * 40),
    ],
)
def test_revisions_that_are_none(planted_repository: Path, canary: Canary, capsys, revision: str):
    write(a=BUG)
    commit()
    git("config", "alias.x", f"!{canary.command('alias')}")
    message = error_of(capsys, f"--diff={revision}")
    assert message.startswith("--diff ")
    assert not Path("ran").exists()


def test_a_hint_with_names_that_are_no_text(repository: Path, capsys):
    head = git("rev-parse", "HEAD")
    refs = f"{head.strip()} refs/heads/release\n".encode() + head.strip().encode()
    Path(".git", "packed-refs").write_bytes(refs + b" refs/heads/rel\xffase\n")
    assert error_of(capsys, "--diff", "relase") == (
        "--diff relase: there is no such revision; did you mean release?"
    )


LARGE = "it is larger than files that are read; max-file-size can allow more"


def test_large_files_are_not_read(planted_repository: Path, capsys):
    Path("pyproject.toml").write_text("[tool.verax]\nmax-file-size = 1000\n")
    write(a=BUG * 100, b=BUG)
    Path("n.ipynb").write_text('{"cells": []}' + " " * 31_000)
    Path("m.ipynb").write_text('{"cells": []}' + " " * 32_000)
    Path("data.bin").write_bytes(bytes(10_000))
    commit()
    write(a=BUG, b=f"y = 1\n{BUG}")
    Path("m.ipynb").unlink()
    assert new(capsys, "--diff", "main") == (
        ["a.py:1 AX001"],
        [note("a.py and m.ipynb", LARGE, "main"), *already(1)],
    )


def test_trees_that_unfold_to_more_than_fits(planted_repository: Path, capsys, monkeypatch):
    """Ten folders that are one, ten deep, are ten thousand million files."""
    monkeypatch.setattr(version, "_MOST_ENTRIES", 10_000)
    inner = tree(*((FILE, f"{it}.py", blob(BUG)) for it in range(10)))
    for _ in range(9):
        inner = tree(*((FOLDER, str(it), inner) for it in range(10)))
    commit_of(inner)
    assert error_of(capsys, "--diff", "old") == ("--diff old: the commit has more than 10000 files")


def test_contents_that_unfold_to_more_than_fits(planted_repository: Path, capsys, monkeypatch):
    monkeypatch.setattr(version, "_MOST_BYTES", 1_000_000)
    write(a="x = 1\n")
    large = put("blob", b"#" * 300_000)
    commit_of(tree(*((FILE, f"{it}.py", large) for it in range(3))))
    assert new(capsys, "--diff", "old") == ([], [])
    commit_of(tree(*((FILE, f"{it}.py", large) for it in range(4))))
    assert error_of(capsys, "--diff", "old") == (
        "--diff old: the Python files of the commit have more than 0.001 GB"
    )


def test_folders_with_more_names_than_fit(planted_repository: Path, capsys, monkeypatch):
    monkeypatch.setattr(version, "_MOST_BYTES", 1_000_000)
    write(a="x = 1\n")
    commit_of(tree((FILE, "a" * 2_000_000, blob(BUG))))
    assert error_of(capsys, "--diff", "old") == (
        "--diff old: the folders of the commit take more than 0.001 GB"
    )


def test_long_names_are_cut(planted_repository: Path, outside: Path, capsys):
    write(a="x = 1\n")
    commit_of(tree((FILE, "a" * 10_000 + ".py", blob(BUG))))
    (note,) = new(capsys, "--diff", "old")[1]
    assert note.startswith("aaa")
    assert len(note) < 300


def test_folders_that_lie_too_deep(planted_repository: Path, outside: Path, capsys):
    inner = tree((FILE, "a.py", blob(BUG)))
    for _ in range(1000):
        inner = tree((FOLDER, "d" * 100, inner))
    commit_of(tree((FILE, "a.py", blob(BUG)), (FOLDER, "d", inner)))
    write(a=BUG)
    found, notes = new(capsys, "--diff", "old")
    assert found == []
    assert "it lies more than 200 folders deep" in notes[0]


def test_hashes_that_are_longer(planted_repository: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main", "--object-format", "sha256", "other")
    monkeypatch.chdir("other")
    Path("inner").mkdir()
    write(a=BUG, **{"inner/b": f"y = 1\n{BUG}"})
    commit()
    write(a=BUG + BUG, **{"inner/b": f"z = 1\n{BUG}"})
    assert new(capsys) == (["a.py:2 AX001"], already(2))


def test_names_that_are_no_text(planted_repository: Path, outside: Path, capsys):
    name = os.fsdecode(b"na\xefve")
    write(**{name: BUG})
    commit()
    write(**{name: f"y = 1\n{BUG}{BUG}"})
    found, notes = new(capsys)
    assert len(found) == 1
    assert notes == already(1)


def test_modes_as_other_programs_write_them(planted_repository: Path, outside: Path, capsys):
    inner = tree(("0100755", "a.py", blob(BUG)), ("9", "b.py", blob(BUG)), ("x", "c.py", blob("")))
    commit_of(tree(("040000", "inner", inner)))
    Path("inner").mkdir()
    write(**{"inner/a": BUG})
    assert new(capsys, "--diff", "old") == ([], already(1, "old"))


def test_names_that_would_move_the_cursor(planted_repository: Path, outside: Path, capsys):
    commit_of(tree((FILE, "../\x1b[2J.py", blob(BUG))))
    write(a="x = 1\n")
    assert new(capsys, "--diff", "old")[1] == [note(r"'../\x1b[2J.py'", UNSAFE)]


def test_what_git_lfs_keeps(planted_repository: Path, capsys):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    commit_of(tree((FILE, "n.ipynb", blob(pointer))))
    write(a="x = 1\n")
    why = "Git LFS keeps its content elsewhere"
    assert new(capsys, "--diff", "old")[1] == [note("n.ipynb", why)]


def test_only_what_is_asked_for_or_read_with_it_is_told(repository: Path, capsys):
    pointer = blob("version https://git-lfs.github.com/spec/v1\n")
    caller = "import jax\nimport library\n"
    inner = tree((FILE, "a.py", blob(caller)), (FILE, "n.ipynb", pointer))
    beside = [(FILE, "library.py", pointer), (FILE, "other.py", pointer)]
    commit_of(tree((FOLDER, "inner", inner), *beside))
    Path("inner").mkdir()
    write(library="x = 1\n", other="x = 1\n", **{"inner/a": f"{caller}library.x\n"})
    told = note("library.py and inner/n.ipynb", "Git LFS keeps its content elsewhere")
    assert new(capsys, "inner", "--diff", "old") == ([], [told])


def test_a_work_tree_beside_the_first(
    planted_repository: Path, tmp_path: Path, capsys, monkeypatch
):
    write(a=BUG)
    commit()
    git("worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path / "other")
    write(a=BUG + BUG)
    assert new(capsys) == (["a.py:2 AX001"], already(1))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_nothing_is_left_after_a_signal(tmp_path: Path, name: str):
    program = (
        "import time\nfrom pathlib import Path\nfrom verax.audit.scratch import temporary_folder\n"
        "with temporary_folder() as folder:\n"
        "    Path(folder, 'a').mkdir()\n    print(folder, flush=True)\n    time.sleep(600)\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.parent == tmp_path.resolve()
        assert folder.stat().st_mode & 0o077 == 0
        process.send_signal(getattr(signal, name))
    assert process.returncode == -getattr(signal, name)
    assert not folder.exists()


def test_a_trace_of_the_earlier_version_ends_with_the_audit(repository: Path, tmp_path: Path):
    """And nothing of it is left."""
    started = tmp_path / "started"
    step = "def step(x):\n    return x\n"
    slow = (
        f"import os, pathlib, time\npathlib.Path({str(started)!r}).write_text(str(os.getpid()))\n"
    )
    write(train=f"{slow}time.sleep(600)\n{step}")
    commit()
    write(train=step)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    call = ["audit", "train.py:step", "--in", "x=f32[a=2]", "--diff", "main"]
    with subprocess.Popen(
        [sys.executable, "-m", "verax", *call], env=os.environ | {"TMPDIR": str(temporary)}
    ) as process:
        while not started.exists() or not started.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        assert list(temporary.iterdir())
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert not list(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
