"""What a change breaks: `--diff`, in small repositories."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.cli import main

from .repositories import already, commit, error_of, git, new, write

# A helper before and after a change, and a caller that the change breaks.
SPLITS = """\
import jax


def split(key):
    return jax.random.split(key)
"""
KEEPS = """\
import jax


def split(key):
    return key, key
"""
USES = """\
import jax
import library


def sample(key):
    first, second = library.split(key)
    return jax.random.normal(first), jax.random.uniform(second)
"""


def test_a_caller_that_has_not_changed(repository: Path, capsys):
    write(library=SPLITS, caller=USES)
    commit()
    assert new(capsys)[0] == []
    write(library=KEEPS)
    assert new(capsys)[0] == ["caller.py:7 RK001"]
    assert new(capsys, "caller.py", "--diff", "main")[0] == ["caller.py:7 RK001"]


def test_a_bug_that_was_there_is_not_shown_when_its_helper_changes(repository: Path, capsys):
    write(library=KEEPS, caller=USES)
    commit()
    write(library="# A comment moves every line.\n" + KEEPS)
    assert new(capsys) == ([], already(1))


def test_files_beside_those_that_are_audited_are_read_as_they_were(repository: Path, capsys):
    """Where imports start counts, too: in `src`, and in the folder of the audit."""
    Path("src").mkdir()
    Path("app").mkdir()
    Path("src", "library.py").write_text(KEEPS)
    Path("app", "caller.py").write_text(USES)
    commit()
    Path("src", "library.py").write_text(f"# moved\n{KEEPS}")
    assert new(capsys, "app", "--diff", "main") == ([], already(1))
    Path("src", "library.py").write_text(SPLITS)
    commit()
    Path("src", "library.py").write_text(KEEPS)
    assert new(capsys, "app", "--diff", "main") == (["app/caller.py:7 RK001"], [])


def test_a_repository_that_is_a_package(repository: Path, capsys):
    """Its files import each other by the name of the folder that it lies in."""
    write(
        __init__="",
        library=KEEPS,
        caller=USES.replace("import library", "from project import library"),
    )
    commit()
    write(library=f"# moved\n{KEEPS}")
    assert new(capsys) == ([], already(1))


def test_lines_that_move_stay_known(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\ny = 1\n")
    commit()
    write(a="\nz = 2  # BUG AX001\ny = 1\nif y:\n    x =  1  # BUG AX001\n")
    assert new(capsys) == (["a.py:2 AX001"], already(1))


def test_warnings_and_other_codes(planted_repository: Path, capsys):
    write(a="x = 1  # SMELL AX001\n")
    commit()
    write(a="x = 1  # SMELL AX001\ny = 1  # SMELL RK001\n")
    assert new(capsys) == (["a.py:2 RK001"], already(1))


def test_one_more_of_the_same(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\n" * 2)
    commit()
    write(a="x = 1  # BUG AX001\n" * 3)
    assert new(capsys) == (["a.py:3 AX001"], already(2))


def test_files_that_get_another_name(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\ny = 1\n")
    commit()
    Path("a.py").rename("b.py")
    assert new(capsys) == ([], already(1))
    write(b="z = 1  # BUG AX001\nx = 1  # BUG AX001\n")
    assert new(capsys) == (["b.py:1 AX001"], already(1))


def test_functions_that_move_to_another_file(repository: Path, capsys):
    reused = "\n\ndef {name}(key):\n    return jax.random.normal(key) + jax.random.normal(key)\n"
    write(a="import jax" + reused.format(name="f"), b="import jax\n")
    commit()
    write(a="import jax\n", b="import jax" + reused.format(name="f"))
    assert new(capsys) == ([], already(1))
    # Another function with the same line is another bug.
    write(b="import jax" + reused.format(name="g"))
    assert new(capsys) == (["b.py:4 RK001"], [])


def test_a_copy_is_new(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\n")
    commit()
    write(b="x = 1  # BUG AX001\n")
    assert new(capsys) == (["b.py:1 AX001"], already(1))


def test_only_since_the_work_has_left_a_branch(planted_repository: Path, capsys):
    """What was mended on main meanwhile is not what this change breaks."""
    write(a="x = 1  # BUG AX001\n")
    commit()
    left = git("rev-parse", "HEAD")[:8]
    git("switch", "--quiet", "--create", "topic")
    write(b="y = 1  # BUG AX001\n")
    commit()
    git("switch", "--quiet", "main")
    write(a="x = 1\n")
    commit()
    git("switch", "--quiet", "topic")
    assert new(capsys) == (["b.py:1 AX001"], already(1, f"{left}, where main was left"))


def test_any_revision_and_the_work_tree_as_it_is(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\n")
    commit()
    git("tag", "--annotate", "v1", "--message", "one")
    write(a="x = 1  # BUG AX001\ny = 1  # BUG AX001\n")
    commit()
    write(a="x = 1  # BUG AX001\ny = 1  # BUG AX001\nz = 1  # BUG AX001\n")
    git("add", "a.py")
    write(untracked="w = 1  # BUG RK001\n")
    both = ["a.py:3 AX001", "untracked.py:1 RK001"]
    assert new(capsys, "--diff", "HEAD") == (both, already(2, "HEAD"))
    assert new(capsys, "--diff", "v1") == (["a.py:2 AX001", *both], already(1, "v1"))
    assert new(capsys, "--diff", "HEAD~1")[0] == ["a.py:2 AX001", *both]


def test_the_repository_stays_as_it_is(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\n")
    commit()
    write(a="y = 1\n")

    def state() -> dict[str, tuple[bytes, int]]:
        files = (path for path in planted_repository.rglob("*") if path.is_file())
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = state()
    new(capsys)
    assert state() == before


def test_filters_of_the_repository_are_not_run(planted_repository: Path, capsys):
    Path(".gitattributes").write_text("*.py filter=own export-ignore\n")
    write(a="x = 1  # BUG AX001\n")
    commit()
    git("config", "filter.own.smudge", "touch ran; cat")
    git("config", "core.fsmonitor", "touch ran; false")
    write(a="x = 1  # BUG AX001\ny = 1  # BUG AX001\n")
    assert new(capsys) == (["a.py:2 AX001"], already(1))
    assert not Path("ran").exists()


def test_part_of_a_repository(planted_repository: Path, capsys, monkeypatch):
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "a.py").write_text("x = 1  # BUG AX001\n")
    commit()
    for name in ("one", "two"):
        Path(name, "a.py").write_text("x = 1  # BUG AX001\ny = 1  # BUG AX001\n")
    assert new(capsys, "one", "--diff", "main") == (["one/a.py:2 AX001"], already(1))
    monkeypatch.chdir("two")
    assert new(capsys) == (["a.py:2 AX001"], already(1))
    assert new(capsys, "../one/a.py", "--diff", "main")[1] == already(1)
    monkeypatch.chdir(planted_repository.parent)
    found = new(capsys, "project/one", "project/two", "--diff", "main")
    assert found == (["project/one/a.py:2 AX001", "project/two/a.py:2 AX001"], already(2))


def test_through_a_link(planted_repository: Path, capsys, monkeypatch):
    write(a="x = 1  # BUG AX001\n")
    commit()
    link = planted_repository.parent / "link"
    link.symlink_to(planted_repository)
    write(a="x = 1  # BUG AX001\ny = 1  # BUG AX001\n")
    assert new(capsys, str(link), "--diff", "main") == (
        [f"{link}/a.py:2 AX001"],
        already(1),
    )


def test_links_in_the_repository(planted_repository: Path, capsys):
    Path("inner").mkdir()
    Path("inner", "real.py").write_text("x = 1  # BUG AX001\n")
    Path("link.py").symlink_to("inner/real.py")
    commit()
    Path("inner", "real.py").write_text("x = 1  # BUG AX001\ny = 1  # BUG AX001\n")
    assert new(capsys, "link.py", "--diff", "main") == (["link.py:2 AX001"], already(1))


def test_submodules(planted_repository: Path, tmp_path: Path, capsys, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    git("init", "--quiet", "--initial-branch", "main")
    write(a="x = 1  # BUG AX001\n")
    commit()
    monkeypatch.chdir(planted_repository)
    git("submodule", "--quiet", "add", str(other), "inner")
    commit()
    Path("inner", "a.py").write_text("x = 1  # BUG AX001\ny = 1  # BUG AX001\n")
    assert new(capsys) == (["inner/a.py:2 AX001"], already(1))


def test_what_is_generated_has_no_history(repository: Path, capsys):
    """A module that git ignores was as it is."""
    Path(".gitignore").write_text("/library.py\n")
    write(library=KEEPS, caller=USES)
    commit()
    write(caller=f"# moved\n{USES}")
    assert new(capsys) == ([], already(1))


def test_comments_answer_then_as_now(planted_repository: Path, capsys):
    write(a="# verax: ignore-file[AX001] fine\nx = 1  # BUG AX001\n")
    commit()
    write(a="x = 1  # BUG AX001\n")
    assert new(capsys) == (["a.py:1 AX001"], [])


def test_notebooks(planted_repository: Path, capsys):
    def write_cells(*cells: str) -> None:
        code = [{"cell_type": "code", "source": cell} for cell in cells]
        Path("n.ipynb").write_text(json.dumps({"cells": code}))

    write_cells("x = 1  # BUG AX001")
    commit()
    write_cells("y = 1", "z = 1  # BUG AX001\nx = 1  # BUG AX001")
    assert new(capsys) == (["n.ipynb:1 AX001"], already(1))


def test_a_file_that_could_not_be_read_then(planted_repository: Path, capsys):
    write(a="x = (\n")
    commit()
    write(a="x = 1  # BUG AX001\n")
    assert new(capsys) == (["a.py:1 AX001"], [])


def test_with_a_baseline(planted_repository: Path, capsys):
    """What either knows is not shown, and each counts as if it were alone."""
    write(a="x = 1  # BUG AX001\n", b="y = 1  # BUG AX001\n")
    assert main(["audit", "a.py", "--write-baseline", "known.json"]) == 0
    capsys.readouterr()
    commit()
    write(a="x = 1  # BUG AX001\n" * 2)
    found, notes = new(capsys, "--diff", "main", "--baseline", "known.json")
    assert found == ["a.py:2 AX001"]
    assert notes == ["1 finding known in known.json", *already(1)]


def test_the_exit_code(planted_repository: Path, capsys):
    write(a="x = 1  # BUG AX001\n")
    commit()
    assert main(["audit", "--diff", "main", "--fail-on", "minor"]) == 0
    write(a="x = 1  # BUG AX001\ny = 1  # BUG RK001\n")
    assert main(["audit", "--diff", "main"]) == 1
    assert main(["audit", "--diff", "main", "--ignore", "RK"]) == 0
    assert main(["audit", "--diff", "main", "--fail-on", "never"]) == 0


@pytest.mark.parametrize("format", ["text", "concise", "markdown", "html", "sarif", "github"])
def test_every_format_shows_only_what_is_new(planted_repository: Path, capsys, format: str):
    write(a="x = 1  # BUG AX001\n")
    commit()
    write(b="y = 1  # BUG RK001\n")
    main(["audit", "--diff", "main", "--format", format])
    out = capsys.readouterr().out
    assert "b.py" in out
    assert "a.py" not in out


def test_revisions_that_are_not_there(repository: Path, capsys):
    git("update-ref", "refs/remotes/origin/release", "HEAD")
    none = "there is no such revision"
    assert error_of(capsys, "--diff", "mian") == f"--diff mian: {none}; did you mean main?"
    remote = f"--diff release: {none}; did you mean origin/release?"
    assert error_of(capsys, "--diff", "release") == remote
    assert error_of(capsys, "--diff", "v17.3") == f"--diff v17.3: {none}"
    assert error_of(capsys, "--diff=--help") == f"--diff --help: {none}"
    assert error_of(capsys, "--diff", "") == f"--diff : {none}"


def test_a_clone_without_history(repository: Path, tmp_path: Path, capsys, monkeypatch):
    commit()
    git("clone", "--quiet", "--depth", "1", repository.as_uri(), str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    assert error_of(capsys, "--diff", "HEAD~1") == (
        "--diff HEAD~1: there is no such revision; "
        "this clone has no history, which `git fetch --unshallow` brings"
    )


TRACED = """\
import jax.numpy as jnp
import helper


def step(x):
    return helper.centre(x)


def example():
    return (jnp.ones((4, 4)),)
"""
HELPER = """\
def centre(x):
    return x - x.mean(axis=1, keepdims=True)
"""
# Each row minus every row's mean, which only a trace sees.
BROADCASTS = HELPER.replace("(axis=1, keepdims=True)", "(axis=1)")
STEP = ("train.py:step", "--inputs", "example", "--axes", "AXES", "--diff", "main")


def test_functions_are_traced_as_they_were(repository: Path, capsys):
    axes = 'AXES = {"x": "batch feat"}\n'
    write(train=TRACED + axes, helper=HELPER)
    commit()
    assert new(capsys, *STEP) == ([], [])
    write(helper=BROADCASTS)
    found, notes = new(capsys, *STEP)
    assert found
    assert {it.partition(":")[0] for it in found} == {"helper.py"}
    assert notes == []
    commit()
    write(helper=f"# moved\n{BROADCASTS}")
    assert new(capsys, *STEP) == ([], already(len(found)))


def test_functions_that_cannot_be_traced_as_they_were(repository: Path, capsys):
    write(train=TRACED.replace("step", "stop") + "AXES = {}\n", helper=BROADCASTS)
    commit()
    write(train=TRACED + "AXES = {}\n")
    assert new(capsys, *STEP)[1] == [
        "train.py:step could not be traced as it was (train.py has no 'step'; did you mean stop?) "
        "at main"
    ]
    Path("train.py").rename("other.py")
    assert new(capsys, "other.py:step", *STEP[1:])[1] == [
        "other.py:step could not be traced as it was (it was not there) at main"
    ]


def test_the_present_version_is_not_taken_for_the_earlier_one(
    repository: Path, capsys, monkeypatch
):
    """As where a package is installed from the work tree."""
    Path("lib").mkdir()
    Path("lib", "helper.py").write_text(HELPER)
    insert = f"import sys\nsys.path.insert(0, {str(repository / 'lib')!r})\n"
    write(train=insert + TRACED + "AXES = {}\n")
    commit()
    Path("lib", "helper.py").write_text(f"# moved\n{HELPER}")
    assert new(capsys, *STEP)[1] == [
        "train.py:step could not be traced as it was (parts of it are installed from the work "
        "tree, as they are now) at main"
    ]


def test_what_has_no_earlier_version(repository: Path, tmp_path: Path, capsys, monkeypatch):
    assert error_of(capsys, "-", "--diff", "main") == (
        "--diff main: standard input has no earlier version; name a file"
    )
    assert error_of(capsys, "nowhere:step", "--diff", "main") == (
        "--diff main: target 'nowhere:step': there is no module nowhere"
    )
    assert error_of(capsys, ".", "--diff", "main", "--write-baseline", "known.json") == (
        "--write-baseline writes all findings; leave out --diff"
    )
    monkeypatch.chdir(tmp_path)
    assert error_of(capsys, "--diff", "main") == "--diff main: . lies in no git repository"


def test_two_repositories(repository: Path, tmp_path: Path, capsys, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    git("init", "--quiet")
    assert error_of(capsys, str(repository), ".", "--diff", "main") == (
        f"--diff main: {repository} and . lie in different repositories"
    )


def test_without_git(repository: Path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    assert error_of(capsys, "--diff", "main") == "--diff main: there is no git on the path"


def test_what_git_itself_says(repository: Path, capsys):
    Path(".git", "config").write_text("[core\n")
    assert error_of(capsys, "--diff", "main").startswith("--diff main: git says 'bad config line 1")


def test_no_target_and_no_revision(repository: Path, capsys):
    assert error_of(capsys) == (
        "name a file or a folder to audit, as in `verax audit src/`; see verax audit --help"
    )


_LINES = st.lists(st.sampled_from(["x = 1  # BUG AX001", "y = 1  # BUG AX001", "z = 1", ""]))


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=_LINES, after=_LINES)
def test_new_is_what_there_is_more_of(
    planted_repository: Path, capsys, before: list[str], after: list[str]
):
    """However lines were moved: by counting, which knows no places."""
    write(a="\n".join(before))
    commit()
    write(a="\n".join(after))
    bugs = {line for line in after if "BUG" in line}
    expected = sum(max(0, after.count(bug) - before.count(bug)) for bug in bugs)
    assert len(new(capsys)[0]) == expected
