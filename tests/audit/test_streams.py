"""Standard streams that are closed, full or not there, and files to write to."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import verax

PROGRAMS = ("other.py", "book.ipynb", "script", "stub.pyi", "window.pyw", "LOUD.PY")
STEP = "def step(x):\n    return x * 2\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(verax.__file__).parents[1]))
    (tmp_path / "train.py").write_text(STEP)
    return tmp_path


def shell(command: str, **options) -> subprocess.CompletedProcess[str]:
    """A command line, in which `verax` is this one."""
    text = command.replace("verax ", f"{sys.executable} -P -m verax ", 1)
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, **options)


def refused(command: str) -> str:
    """The one line on stderr that says why it was not done."""
    done = shell(command)
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done
    return done.stderr.removeprefix("verax: error: ").removesuffix("\n")


@pytest.mark.parametrize("call", ["audit train.py", "rules", "explain RK001", "--help"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_stdout_that_is_full(call: str):
    assert refused(f"verax {call} >/dev/full") == (
        "stdout: cannot be written: No space left on device"
    )


@pytest.mark.parametrize("call", ["audit train.py", "rules", "--help"])
def test_stdout_that_is_closed(call: str):
    assert refused(f"verax {call} >&-") == "stdout is closed; write to a file, with -o"


def test_closed_streams_are_no_place_for_other_files(project: Path):
    done = shell("verax audit train.py:step --in x=3 --format json -o report.json <&- >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((project / "report.json").read_text())["target"] == "train.py:step"


def test_stderr_that_is_closed_does_not_make_errors_output():
    done = shell("verax audit gone.py 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_note_that_nobody_can_read_is_no_part_of_the_report(
    project: Path, stderr: str, monkeypatch
):
    (project / "cache").symlink_to(".")
    monkeypatch.setenv("VERAX_CACHE_DIR", "cache")
    subprocess.run(["git", "init", "--quiet"], check=True)
    assert shell("verax audit train.py").stderr.startswith("verax: note: there is no cache")
    done = shell(f"verax audit train.py --format json {stderr}")
    assert (done.returncode, json.loads(done.stdout)["failures"]) == (0, [])


def test_stdin_that_is_closed_or_cannot_be_read():
    assert refused("verax audit - <&-") == "target '-': standard input is closed"
    message = refused("verax audit - 0>file")
    assert message == "target '-': standard input cannot be read: Bad file descriptor"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Unix")
def test_stdin_without_an_end():
    done = shell("verax audit - --format concise </dev/zero")
    assert done.returncode == 2
    assert "larger than 2 MB" in done.stdout


@pytest.mark.parametrize("seconds", ["1e300", "1e10", "9223372037"])
def test_a_limit_of_time_beyond_what_the_system_can_wait(seconds: str):
    done = shell(f"verax audit train.py:step --in x=3 --timeout {seconds} --format concise")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("target", ["x" * 5000, "x/" * 5000, "x" * 300 + ".py", "y" * 300 + ":f"])
def test_a_target_longer_than_a_name_may_be(target: str):
    assert refused(f"verax audit {target}")


def test_a_working_directory_that_is_gone(project: Path):
    (project / "gone").mkdir()
    message = refused(f"cd gone; rmdir {project / 'gone'}; verax audit .")
    assert message.startswith("the working directory cannot be read: ")


@pytest.mark.parametrize("text", ["'no JSON\\n'", "'{}\\n'", "'[1]\\n'", "b'\\xff\\n'"])
@pytest.mark.parametrize("place", ["import", "trace"])
def test_a_program_that_writes_to_our_pipe(project: Path, text: str, place: str):
    """Whatever it finds open, in the import and in the trace."""
    (project / "train.py").write_text(
        f"import os\ntext = {text}\n"
        "def write():\n"
        "    for number in range(3, 30):\n"
        "        try: os.write(number, text if isinstance(text, bytes) else text.encode())\n"
        "        except OSError: pass\n"
        f"def step(x):\n    write()\n    return x\n{'write()' * (place == 'import')}\n"
    )
    message = refused("verax audit train.py:step --in x=3")
    assert message.endswith(": it wrote to a file that verax has open")


@pytest.mark.parametrize("file", ["train.py", *PROGRAMS])
@pytest.mark.parametrize("option", ["-o", "--write-baseline"])
def test_a_program_is_never_replaced(project: Path, option: str, file: str):
    for name in PROGRAMS:
        (project / name).write_text("{}")
    before = (project / file).read_text()
    message = refused(f"verax audit train.py script {option} ./{file}")
    assert message.startswith(f"{option} ./{file}: would replace ")
    assert (project / file).read_text() == before


def test_links_are_not_followed(project: Path):
    (project / "secret").write_text("kept")
    for name, end in (("link", "secret"), ("loose", "nowhere"), ("out", ".")):
        (project / name).symlink_to(end)
        assert refused(f"verax audit train.py -o {name}") == (
            f"-o {name}: is a link; name the file that it leads to"
        )
    assert (project / "secret").read_text() == "kept"
    assert not (project / "nowhere").exists()


def test_the_mode_of_a_file_is_kept_and_a_new_one_has_the_usual(project: Path):
    (project / "old").write_text("")
    (project / "old").chmod(0o606)
    for name in ("old", "new"):
        shell(f"umask 027; verax audit train.py -o {name}")
    assert stat.S_IMODE((project / "old").stat().st_mode) == 0o606
    assert stat.S_IMODE((project / "new").stat().st_mode) == 0o640
    assert (project / "old").read_text().startswith("train.py")


def test_no_part_is_left_where_it_cannot_be_written(project: Path):
    (project / "full").mkdir()
    assert "Is a directory" in refused("verax audit train.py -o full")
    assert "cannot be written: File name too long" in refused(
        f"verax audit train.py -o {'x' * 300}"
    )
    assert sorted(os.listdir(project)) == ["full", "train.py"]


def test_a_pipe_that_somebody_reads():
    done = shell("verax audit train.py --format concise -o >(cat); wait $!")
    assert done.stdout == "no issues, no warnings, 0 verified\n"


def test_a_pipe_that_nobody_reads(project: Path):
    os.mkfifo(project / "pipe")
    assert refused("verax audit train.py -o pipe").startswith("-o pipe: cannot be written: ")
