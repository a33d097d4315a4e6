"""`verax hook`, as assistants and git run it."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from verax.assist.event import Event, parse_event
from verax.audit.errors import UsageError
from verax.cli import main

from ..audit.source.repositories import commit, git, write

FINE = "import jax\n\n\ndef f(key):\n    return jax.random.normal(key)\n"
WRONG = "import jax\n\n\ndef f(key):\n    return jax.random.normal(key) * jax.random.normal(key)\n"
# The same, and something that another change has brought.
MORE = WRONG + "\n\ndef g(key):\n    return jax.random.uniform(key) * jax.random.normal(key)\n"
# What costs time, and makes nothing wrong.
MINOR = """\
import jax


def f(xs):
    for x in xs:
        step = jax.jit(lambda x: x + 1)
        x = step(x)
    return x
"""
HOOK = [sys.executable, "-m", "verax", "hook"]


class Said(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def places(self) -> list[str]:
        return [line.split(" ")[0] for line in self.stderr.split("\n") if " critical" in line]


def hook(*arguments: str, event: object = None, stdin: str = "") -> Said:
    """What the command says to whoever runs it, which gives it nothing else to read."""
    given = stdin if event is None else json.dumps(event)
    ran = subprocess.run([*HOOK, *arguments], input=given, capture_output=True, text=True)
    return Said(ran.returncode, ran.stdout, ran.stderr)


SILENT = Said(0, "", "")


def edited(file: str, **more: object) -> dict[str, object]:
    """What Claude Code sends after an edit."""
    return {
        "session_id": "abc",
        "transcript_path": "/tmp/transcript.py",
        "cwd": os.getcwd(),
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": os.path.abspath(file), "old_string": "a", "new_string": "b"},
        "tool_response": {"filePath": os.path.abspath(file), "success": True},
        **more,
    }


def test_a_finding_is_told_on_stderr_with_its_place_reason_and_fix(folder: Path):
    write(a=WRONG)
    assert hook("a.py") == Said(
        2,
        "",
        "verax: this change brings 1 finding\n"
        "a.py:5:37: RK001 critical: A random key is used more than once, in f\n"
        "  why: `key` is drawn from again here, after it was drawn from at line 5 | "
        "expected: each key is consumed once: drawn from, or split | "
        "because `key` is drawn from here (a.py:5); and drawn from here (a.py:5)\n"
        "  fix: split `key` and give each use a key of its own, unless equal draws are meant\n"
        "`verax explain CODE` says more. "
        "To suppress a finding: `# verax: ignore[CODE] reason`\n",
    )


def test_nothing_is_said_where_nothing_is_wrong(folder: Path):
    write(a=FINE)
    assert hook("a.py") == SILENT
    assert hook(event=edited("a.py")) == SILENT


def test_only_what_the_change_brings(repository: Path):
    write(a=WRONG)
    commit()
    write(a=f"# moved\n{WRONG}")
    assert hook("a.py") == SILENT
    write(a=f"# moved\n{MORE}")
    assert hook("a.py").places == ["a.py:10:38:"]


def test_files_that_are_staged(repository: Path):
    write(a=WRONG, b=WRONG)
    git("add", "a.py")
    assert hook().places == ["a.py:5:37:"]
    git("commit", "--quiet", "--message", "a")
    assert hook() == SILENT
    git("rm", "--quiet", "a.py")
    assert hook() == SILENT


def test_what_is_staged_counts_and_not_what_the_work_tree_holds(repository: Path):
    write(a=FINE, b=FINE, library=FINE)
    commit()
    write(a=WRONG, b="import numpy\n")
    git("add", "--all")
    write(a=FINE, b=WRONG)
    assert hook().places == ["a.py:5:37:"]
    Path("a.py").unlink()
    assert hook().places == ["a.py:5:37:"]
    git("reset", "--quiet")
    git("checkout", "--quiet", ".")
    # A staged file imports another one, which is staged as well, and has changed since.
    uses = (
        "import jax\nimport library\n\n\ndef sample(key):\n"
        "    first, second = library.split(key)\n"
        "    return jax.random.normal(first), jax.random.uniform(second)\n"
    )
    write(a=uses, library="def split(key):\n    return key, key\n")
    git("add", "--all")
    write(library="import jax\n\n\ndef split(key):\n    return jax.random.split(key)\n")
    assert hook().places == ["a.py:7:38:"]
    git("add", "--all")
    write(library="def split(key):\n    return key, key\n")
    assert hook() == SILENT


def test_the_first_commit(folder: Path):
    git("init", "--quiet")
    write(a=WRONG, b=WRONG)
    git("add", "a.py")
    assert hook().places == ["a.py:5:37:"]


@pytest.mark.parametrize("what", [("--all",), ("a.py",)])
def test_git_runs_it_before_a_commit(repository: Path, what: tuple[str, ...]):
    """With these options git has an index of its own while the hook runs."""
    command = " ".join(HOOK)
    script = Path(".git/hooks/pre-commit")
    write(a=FINE)
    commit()
    script.write_text(f"#!/bin/sh\nexec {command}\n")
    script.chmod(0o755)
    write(a=WRONG)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        git("commit", "--quiet", "--message", "wrong", *what)
    assert "a.py:5:37: RK001" in refused.value.stderr
    write(a=FINE.replace("normal", "uniform"))
    git("commit", "--quiet", "--message", "right", *what)


def test_a_file_that_git_ignores_has_no_history(repository: Path):
    Path(".gitignore").write_text("scratch.py\n")
    write(scratch=WRONG)
    commit()
    assert hook("scratch.py").places == ["scratch.py:5:37:"]


def test_files_of_several_repositories_and_of_none(repository: Path):
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "a.py").write_text(WRONG)
    git("-C", "one", "init", "--quiet")
    git("-C", "one", "add", ".")
    git("-C", "one", "commit", "--quiet", "--message", "one")
    Path(repository.parent, "a.py").write_text(WRONG)
    said = hook("one/a.py", "two/a.py", "../a.py")
    assert said.places == [f"{repository.parent}/a.py:5:37:", "two/a.py:5:37:"]


def test_an_assistant_has_edited_a_file(repository: Path, monkeypatch):
    write(a=WRONG)
    event = edited("a.py")
    monkeypatch.chdir("/")
    assert hook(event=event).places == ["a.py:5:37:"]


def test_an_assistant_has_stopped(repository: Path):
    write(a=WRONG, b=FINE)
    commit()
    write(a=WRONG, b=WRONG, c=WRONG)
    stopped = {"hook_event_name": "Stop", "cwd": os.getcwd(), "stop_hook_active": False}
    assert hook(event=stopped).places == ["b.py:5:37:", "c.py:5:37:"]
    # It goes on because of that, and stops again: now it may.
    assert hook(event={**stopped, "stop_hook_active": True}) == SILENT


def test_filters_of_a_repository_are_not_run(repository: Path):
    Path(".gitattributes").write_text("*.py filter=own diff=own\n")
    write(a=FINE)
    commit()
    for setting in ("filter.own.clean", "filter.own.smudge", "diff.own.textconv"):
        git("config", setting, "touch ran; cat")
    git("config", "diff.external", "touch ran; true")
    git("config", "core.fsmonitor", "touch ran; false")
    # As long as before: git would have to look at the content to know whether it has changed.
    write(a=FINE.replace("normal", "cauchy"))
    assert hook(event={"hook_event_name": "Stop", "cwd": os.getcwd()}) == SILENT
    git("-c", "filter.own.clean=cat", "-c", "core.fsmonitor=false", "add", "a.py")
    assert hook() == SILENT
    assert not Path("ran").exists()


def test_what_is_not_python_is_passed_over(repository: Path):
    Path("notes.md").write_text("import jax\n")
    Path("folder.py").mkdir()
    assert hook("notes.md", "folder.py", "gone.py") == SILENT


def test_settings_count(folder: Path):
    write(a=WRONG)
    Path("pyproject.toml").write_text("[tool.verax]\nignore = ['RK']\n")
    assert hook("a.py") == SILENT
    Path("pyproject.toml").write_text("[tool.verax]\nexclude = ['generated/']\n")
    Path("generated").mkdir()
    Path("generated/b.py").write_text(WRONG)
    assert hook("a.py", "generated/b.py").places == ["a.py:5:37:"]
    Path("pyproject.toml").write_text("[tool.verax]\nbaseline = 'known.json'\n")
    assert main(["audit", "a.py", "--write-baseline", "known.json"]) == 0
    assert hook("a.py") == SILENT


def test_what_does_not_count_is_told_and_stops_nobody(folder: Path):
    write(a=MINOR)
    said = hook("a.py")
    assert said.code == 0
    assert " minor" in said.stderr
    assert hook("a.py", "--fail-on", "minor").code == 2
    Path("pyproject.toml").write_text("[tool.verax]\nfail-on = 'minor'\n")
    assert hook("a.py").code == 2


def test_of_many_findings_the_first_are_shown(folder: Path):
    functions = (WRONG.partition("\n\n\n")[2].replace("def f", f"def f{at}") for at in range(25))
    write(a="import jax\n\n\n" + "\n\n".join(functions))
    said = hook("a.py")
    assert said.code == 2
    assert said.stderr.startswith("verax: this change brings 25 findings\n")
    assert len(said.places) == 20
    assert "\nand 5 more, which `verax audit` shows\n" in said.stderr


def test_a_comment_suppresses_a_finding(folder: Path):
    write(
        a=WRONG.replace(
            "* jax.random.normal(key)",
            "* jax.random.normal(key)  # verax: ignore[RK001] equal draws are meant",
        )
    )
    assert hook("a.py") == SILENT


def test_a_file_that_cannot_be_read_stops_nobody(folder: Path):
    write(a="import jax\n\n\ndef f(:\n")
    code, out, err = hook("a.py")
    assert (code, out) == (0, "")
    assert err.startswith("verax: error: a.py:4: cannot be read: invalid syntax")
    assert err.count("\n") == 1


def test_a_failure_of_verax_stops_nobody(folder: Path, monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("no idea\nat all")

    write(a=WRONG)
    monkeypatch.setattr("verax.audit.command.audit_targets", fail)
    assert main(["hook", "a.py"]) == 0
    assert capsys.readouterr() == (
        "",
        "verax: error: verax itself failed, and the change was not audited: "
        "RuntimeError: no idea at all\n",
    )


def test_a_version_that_cannot_be_compared_stops_nobody(repository: Path, monkeypatch, capsys):
    def too_much(*_, **__):
        raise UsageError("the Python files of the commit have more than 1 GB")

    write(a=WRONG)
    monkeypatch.setattr("verax.audit.command.audit_change", too_much)
    assert main(["hook", "a.py"]) == 0
    message = "verax: error: the Python files of the commit have more than 1 GB\n"
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "lies in no git repository; name the files that have changed"),
        (("--fail-on", "x", "a.py"), "invalid choice: 'x'"),
        (("--bogus",), "unrecognized arguments: --bogus"),
    ],
)
def test_a_wrong_call_is_for_the_user(folder: Path, arguments: tuple[str, ...], message: str):
    code, out, err = hook(*arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["refs/heads/main 1234", "[1]", "{" * 99_999, "\xff", '{"a":' * 9999]
)
def test_what_is_no_event_stops_nobody(folder: Path, text: str):
    code, out, err = hook(stdin=text)
    assert (code, out) == (0, "")
    assert err.startswith("verax: error: standard input describes no event (")
    assert err.count("\n") == 1


def test_nobody_writes_to_standard_input(repository: Path):
    """It may be a pipe that somebody else has left open."""
    write(a=WRONG)
    git("add", "a.py")
    with subprocess.Popen(HOOK, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stderr is not None
        assert "a.py:5:37: RK001" in ran.stderr.read()
        assert ran.wait() == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such numbers")
def test_silence_costs_at_most_half_a_second(repository: Path):
    write(**{f"module{number}": f"import numpy\nx = {number}\n" for number in range(200)})
    git("add", "--all")
    write(jaxless="import numpy\n")

    def cost(**how: object) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert hook(**how) == SILENT  # pyright: ignore[reportArgumentType]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    for event in (None, edited("jaxless.py"), {"hook_event_name": "Stop", "cwd": os.getcwd()}):
        assert min(cost(event=event) for _ in range(3)) < 0.5


def test_the_engine_is_loaded_only_for_jax(folder: Path):
    write(a="import numpy\n", b="import optax\n")
    program = (
        "import sys; from verax.cli import main; main(['hook', sys.argv[1]]);"
        "print('verax.audit.source.engine' in sys.modules, 'jax' in sys.modules)"
    )

    def loaded(file: str) -> str:
        command = [sys.executable, "-c", program, file]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    assert loaded("a.py") == "False False\n"
    assert loaded("b.py") == "True False\n"


def parsed(event: object) -> Event:
    return parse_event(json.dumps(event).encode())


@pytest.mark.parametrize(
    ("event", "files"),
    [
        # Claude Code
        ({"hook_event_name": "PostToolUse", "tool_name": "Write",
          "tool_input": {"file_path": "/w/a.py", "content": "file_path = 1"}}, ["/w/a.py"]),
        ({"hook_event_name": "PostToolUse", "tool_name": "NotebookEdit",
          "tool_input": {"notebook_path": "/w/a.ipynb"}}, ["/w/a.ipynb"]),
        # Codex, whose edits are patches
        ({"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_input": {"command":
          "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@\n-x\n+y\n"
          "*** Add File: c.py\n+z\n*** Delete File: d.py\n*** End Patch"}},
         ["src/a.py", "src/b.py", "c.py"]),
        # Cursor
        ({"hook_event_name": "afterFileEdit", "file_path": "/w/a.py",
          "edits": [{"old_string": "a", "new_string": "b"}], "workspace_roots": ["/w"]},
         ["/w/a.py"]),
        # Gemini CLI
        ({"hook_event_name": "AfterTool", "tool_name": "write_file",
          "tool_input": {"file_path": "a.py"}}, ["a.py"]),
        # Copilot CLI
        ({"toolName": "edit", "toolArgs": '{"path": "a.py"}', "cwd": "/w"}, ["a.py"]),
        # shapes that nobody has promised
        ({"tool": {"changes": [{"filePath": "a.py"}, {"uri": "file:///w/b%20c.py"}]}},
         ["a.py", "/w/b c.py"]),
        ({"files": ["a.py", "b.py", "a.py", 3, None]}, ["a.py", "b.py"]),
        ({}, []),
        ({"toolArgs": "{no JSON"}, []),
    ],
)  # fmt: skip
def test_files_of_an_event(event: object, files: list[str]):
    assert parsed(event).files == tuple(files)


@pytest.mark.parametrize(
    "event",
    [
        {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}},
        {"hook_event_name": "UserPromptSubmit", "prompt": "x"},
        {"hook_event_name": "SessionStart"},
        {"hook_event_name": "beforeReadFile", "file_path": "a.py"},
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "Read",
            "tool_input": {"file_path": "a.py"},
        },
        {"hook_event_name": "PostToolUse", "tool_name": "Grep", "tool_input": {"path": "a.py"}},
    ],
)
def test_events_after_which_nothing_has_changed(event: object):
    assert parsed(event).files == ()


def test_an_event_that_names_no_file_is_about_all_that_has_changed():
    assert parsed({"hook_event_name": "SubagentStop"}).files is None
    ran = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "sed"}}
    assert parsed(ran).files is None


def test_the_folder_of_an_event():
    assert parsed({"cwd": "/w"}).folder == "/w"
    assert parsed({"workspace_roots": ["/w", "/v"]}).folder == "/w"
    assert parsed({"cwd": 3, "workspace_roots": []}).folder == ""


def test_a_file_is_read_whatever_it_is_called(repository: Path):
    """`train.py:main.py` would be a function to `verax audit`, which imports what it traces."""
    Path("train.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    Path("train.py:main.py").write_text(WRONG)
    git("add", "--all")
    assert hook().places == ["train.py:main.py:5:37:"]
    assert not Path("ran").exists()
