"""Which files a target means."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from verax.audit import Place
from verax.audit.report import Unread
from verax.audit.source.discover import discover


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def found(*targets: str, **options) -> list[str]:
    here = os.getcwd()
    return [os.path.relpath(file, here) for file in discover(targets, **options).files]


def test_python_files_and_notebooks_below_a_folder_in_order(project: Path):
    write(project, "b.py", "a.py", "a/z.py", "a/b/c.ipynb", "types.pyi", "notes.txt", "c.py.bak")
    assert found(".") == ["a.py", "b.py", "a/z.py", "a/b/c.ipynb"]


def test_a_file_that_is_named_is_audited_whatever_it_is(project: Path):
    write(project, "script", "build/x.py", "ignored.py")
    (project / ".gitignore").write_text("ignored.py\n")
    assert found("script", "ignored.py", "build/x.py") == ["script", "ignored.py", "build/x.py"]
    assert found("build") == ["build/x.py"]
    assert found(".") == []


def test_what_is_named_twice_is_found_once(project: Path):
    write(project, "a/b.py", "a/c.py")
    assert found("a/c.py", "a", "./a/../a") == ["a/c.py", "a/b.py"]


def test_nobody_wants_these(project: Path):
    write(
        project, ".venv/x.py", "own/lib/y.py", "__pycache__/x.py", "node_modules/a/x.py",
        "build/x.py", "a/dist/x.py", "a/site-packages/x.py", ".git/hooks/x.py", "x.py",
    )  # fmt: skip
    (project / "own" / "pyvenv.cfg").write_text("")
    assert found(".") == ["x.py"]


def test_a_package_may_be_called_build(project: Path):
    write(project, "src/build/__init__.py", "src/build/x.py")
    assert found(".") == ["src/build/__init__.py", "src/build/x.py"]


def test_exclude_wins_over_defaults_and_gitignore(project: Path):
    write(project, "a/x.py", "a/y.py", "build/z.py", "hidden.py")
    (project / ".gitignore").write_text("hidden.py\n")
    assert found(".", exclude=["a/x.py"]) == ["a/y.py"]
    assert found(".", exclude=["/a", "!build/", "!hidden.py"]) == ["hidden.py", "build/z.py"]
    assert found(".", exclude=["/x.py"], base=str(project / "a")) == ["a/y.py"]


def test_a_repository_counts_from_its_top_and_not_above(project: Path):
    write(project, "repo/src/a.py", "repo/src/b.py", "repo/src/c.py")
    (project / ".gitignore").write_text("c.py\n")
    (project / "repo" / ".gitignore").write_text("/src/a.py\n")
    assert found("repo/src") == ["repo/src/a.py", "repo/src/b.py", "repo/src/c.py"]
    subprocess.run(["git", "init", "-q", "repo"], check=True)
    assert found("repo/src") == ["repo/src/b.py", "repo/src/c.py"]
    Path("repo/.git/info").mkdir(exist_ok=True)
    Path("repo/.git/info/exclude").write_text("b.py\n")
    assert found("repo/src") == ["repo/src/c.py"]


def test_links(project: Path):
    write(project, "real/a.py", "other/b.py")
    (project / "real" / "loop").symlink_to(project / "real")
    (project / "real" / "up").symlink_to(project)
    (project / "real" / "z.py").symlink_to(project / "real" / "a.py")  # the same file again
    (project / "real" / "linked.py").symlink_to(project / "other" / "b.py")
    (project / "real" / ".#a.py").symlink_to("somebody@somewhere")
    (project / "real" / "self.py").symlink_to("self.py")
    (project / "real" / "gone.py").symlink_to("nowhere")
    (project / "link").symlink_to(project / "real")
    assert found("real") == ["real/a.py", "real/linked.py"]
    assert found("link") == ["link/a.py", "link/linked.py"]
    assert [str(it) for it in discover(["real"]).unread] == [
        f"{project}/real/gone.py: cannot be read: the link leads nowhere",
        f"{project}/real/self.py: cannot be read: Too many levels of symbolic links",
    ]


def test_what_would_block_is_not_opened(project: Path):
    os.mkfifo(project / "pipe.py")
    os.mkfifo(project / "pipe")
    (project / "device.py").symlink_to("/dev/zero")
    (project / "folder.py").mkdir()
    (project / "link.py").symlink_to(project / "folder.py")
    write(project, "folder.py/a.py")
    assert found(".") == ["folder.py/a.py"]
    assert [str(it) for it in discover(["."]).unread] == [
        f"{project}/device.py: cannot be read: it is no ordinary file",
        f"{project}/pipe.py: cannot be read: it is no ordinary file",
    ]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do all")
def test_a_folder_that_cannot_be_searched_is_noted(project: Path):
    write(project, "a/x.py", "b/y.py")
    (project / "a").chmod(0)
    try:
        result = discover([str(project)])
    finally:
        (project / "a").chmod(0o700)
    assert result.files == (str(project / "b" / "y.py"),)
    assert result.unread == (Unread(Place(str(project / "a"), 0), "Permission denied"),)


def test_a_folder_that_is_gone_meanwhile_is_noted(project: Path, monkeypatch):
    write(project, "a/x.py", "b/y.py")
    scan = os.scandir

    def scandir(path):
        if path == str(project / "a"):
            raise FileNotFoundError(2, "No such file or directory")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = discover(["."])
    assert [os.path.basename(file) for file in result.files] == ["y.py"]
    assert result.unread == (Unread(Place(str(project / "a"), 0), "No such file or directory"),)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_names_that_are_no_text(project: Path):
    name = os.fsdecode(b"\xff\xfe.py")
    (project / name).write_text("")
    assert found(".") == [name]
