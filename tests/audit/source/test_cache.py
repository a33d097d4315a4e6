"""A second audit reads only what has changed."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import verax
from verax.audit import Report
from verax.audit.source import cache as cache_module
from verax.audit.source.cache import Cache
from verax.audit.source.engine import Options, audit_paths
from verax.audit.source.folders import cache_folder, state_folder
from verax.audit.source.outcome import Outcome
from verax.audit.source.reading import digest_of

from ..reports import reports

# The first hundred bytes of our databases, as far as they say whose they are.
OURS = b"SQLite format 3\0\x10\0\2\2".ljust(68, b"\0") + b"verx".ljust(32, b"\0")


@pytest.fixture
def analysed(planted: Path, monkeypatch):
    """Audits the folder, and tells which files were analysed for it, and what was found."""
    log = planted.parent / f"{planted.name}.log"
    monkeypatch.setenv("VERAX_TEST_LOG", str(log))

    def audit(**options) -> tuple[list[str], list[str]]:
        log.write_text("")
        report = audit_paths(["."], Options(jobs=1, **options))
        return log.read_text().split(), [Path(it.place.file).name for it in report.issues]

    return audit


def test_what_has_not_changed_is_not_analysed_again(planted: Path, analysed):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    (planted / "b.py").write_text("x = 1\n")
    assert analysed() == (["a.py", "b.py"], ["a.py"])
    assert analysed() == ([], ["a.py"])
    (planted / "b.py").write_text("x = 2  # BUG AX001\n")
    assert analysed() == (["b.py"], ["a.py", "b.py"])
    assert analysed(cache=False) == (["a.py", "b.py"], ["a.py", "b.py"])
    assert analysed(max_bytes=1000) == (["a.py", "b.py"], ["a.py", "b.py"])


def test_what_a_file_depends_on_counts_as_itself(planted: Path, analysed):
    (planted / "a.py").write_text("import helper\nimport missing\n")
    (planted / "helper.py").write_text("x = 1\n")
    assert analysed() == (["a.py", "helper.py"], [])
    (planted / "helper.py").write_text("x = 1  # BUG AX001\n")
    assert analysed() == (["a.py", "helper.py"], ["helper.py"])
    assert analysed() == ([], ["helper.py"])
    (planted / "missing.py").write_text("y = 1  # BUG AX001\n")
    assert analysed() == (["a.py", "missing.py"], ["helper.py", "missing.py"])
    (planted / "missing.py").unlink()
    assert analysed() == (["a.py"], ["helper.py"])


def test_a_change_that_times_do_not_show_is_seen(planted: Path, analysed):
    """Same size, same time of modification: what some tools and fast edits do."""
    path = planted / "a.py"
    path.write_text("x = 1  # BUG AX001\n")
    status = path.stat()
    assert analysed() == (["a.py"], ["a.py"])
    path.write_text("x = 1  # ant AX001\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert analysed() == (["a.py"], [])


def test_a_settled_file_is_not_even_read(planted: Path, analysed, monkeypatch):
    (planted / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(cache_module, "_SETTLED_NS", -10_000_000_000)
    analysed()
    monkeypatch.setattr("verax.audit.source.reading.digest_of_file", lambda path: pytest.fail(path))
    monkeypatch.setattr("verax.audit.source.reading.read", lambda path, _: pytest.fail(path))
    assert analysed() == ([], [])


def test_a_file_that_changed_lately_is_read_again(planted: Path, analysed):
    (planted / "a.py").write_text("x = 1\n")
    analysed()
    folder = cache_folder()
    assert folder is not None
    with sqlite3.connect(folder / "source-2.sqlite3") as database:
        of_project = "SELECT count(*) FROM files WHERE path LIKE '%.py'"
        assert database.execute(of_project).fetchone() == (0,)
    database.close()


def test_another_version_of_the_engine_starts_anew(planted: Path, analysed, monkeypatch):
    (planted / "a.py").write_text("x = 1\n")
    analysed()
    assert analysed()[0] == []
    monkeypatch.setattr(cache_module, "engine_state", lambda: "other")
    assert analysed()[0] == []  # Its files have the same times, and are not read again.
    monkeypatch.setattr(cache_module, "_engine_stamp", lambda: "1:1:1")
    assert analysed()[0] == ["a.py"]
    monkeypatch.undo()


def test_what_failed_is_tried_again(planted: Path, analysed):
    (planted / "a.py").write_text("x = 'CRASH'\n")
    assert analysed()[0] == ["a.py"]
    assert analysed()[0] == ["a.py"]


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, OURS + b"\xff" * 9000])
def test_a_damaged_file_is_built_anew(planted: Path, analysed, own_cache: Path, content: bytes):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    (own_cache / "source-2.sqlite3").write_bytes(content)
    assert analysed() == (["a.py"], ["a.py"])
    assert analysed() == ([], ["a.py"])


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE files",
        "ALTER TABLE outcomes ADD COLUMN something",
        "CREATE TRIGGER t AFTER INSERT ON outcomes BEGIN DELETE FROM outcomes; END",
        "PRAGMA journal_mode = DELETE",
    ],
)
def test_a_database_of_another_form_is_built_anew(
    planted: Path, analysed, own_cache: Path, capsys, statement: str
):
    (planted / "a.py").write_text("x = 1\n")
    analysed()
    with sqlite3.connect(own_cache / "source-2.sqlite3") as database:
        database.execute(statement)
    database.close()
    assert capsys.readouterr().err == ""
    assert analysed()[0] == ["a.py"]
    assert "was damaged, and is made anew" in capsys.readouterr().err
    assert analysed()[0] == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("column", ["depends", "state", "outcome", "checksum"])
@pytest.mark.parametrize("value", ["''", "NULL", "x'ff00'", "'{}'", "3"])
def test_a_damaged_entry_is_analysed_again(
    planted: Path, analysed, own_cache: Path, column: str, value: str
):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    analysed()
    with sqlite3.connect(own_cache / "source-2.sqlite3") as database:
        database.execute(f"UPDATE outcomes SET {column} = {value}")
    database.close()
    assert analysed() == (["a.py"], ["a.py"])
    assert analysed() == ([], ["a.py"])


@pytest.mark.parametrize("value", ["NULL", "x'ff00'", "'{}'", "3"])
def test_damaged_sections_are_analysed_again(planted: Path, analysed, own_cache: Path, value: str):
    (planted / "a.py").write_text("x = 1\n")
    analysed()
    with sqlite3.connect(own_cache / "source-2.sqlite3") as database:
        database.execute(f"UPDATE sections SET packed = {value}")
    database.close()
    assert analysed(sections=False)[0] == []
    assert analysed()[0] == ["a.py"]
    assert analysed()[0] == []


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(at=st.integers(0, 20_000), junk=st.binary(min_size=1, max_size=300))
def test_any_damage_costs_only_time(planted: Path, analysed, own_cache: Path, at, junk):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    assert analysed()[1] == ["a.py"]
    file = own_cache / "source-2.sqlite3"
    data = bytearray(file.read_bytes())
    data[at % len(data) :] = junk + data[at % len(data) + len(junk) :]
    file.write_bytes(data)
    assert analysed()[1] == ["a.py"]


def test_where_nothing_can_be_written_nothing_is_kept(planted: Path, analysed, monkeypatch):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    monkeypatch.setenv("VERAX_CACHE_DIR", "/dev/null/cache")
    assert analysed() == (["a.py"], ["a.py"])
    assert analysed() == (["a.py"], ["a.py"])


def test_a_locked_database_holds_nobody_up(planted: Path, analysed, own_cache: Path, monkeypatch):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    analysed()
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda file, **options: connect(file, **{**options, "timeout": 0.1})
    )
    blocker = connect(own_cache / "source-2.sqlite3", isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    (planted / "b.py").write_text("x = 1  # BUG AX001\n")
    assert analysed()[1] == ["a.py", "b.py"]
    blocker.close()


def test_without_sqlite(planted: Path, analysed, monkeypatch):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    monkeypatch.delitem(sys.modules, "verax.audit.source.database", raising=False)
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    assert analysed() == (["a.py"], ["a.py"])


def test_it_stays_small(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache_module, "MAX_BYTES", 400_000)
    for run in range(6):
        with Cache(tmp_path, [str(run)]) as cache:
            for number in range(40):
                path = str(tmp_path / f"{number}.py")
                outcome = Outcome(Report(path, notes=("x" * 3000,)), {path: digest_of(b"")})
                cache.put(path, outcome)
        assert (tmp_path / "source-2.sqlite3").stat().st_size < 500_000


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None
)
@given(report=reports, comments=st.booleans())
def test_what_comes_out_is_what_went_in(tmp_path: Path, report, comments: bool):
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    outcome = Outcome(report, {str(path): digest_of(path.read_bytes())}, comments)
    with Cache(tmp_path / "cache") as cache:
        cache.put(str(path), outcome)
    with Cache(tmp_path / "cache") as cache:
        assert cache.get(str(path)) == outcome


def test_two_runs_at_once(planted: Path, own_cache: Path):
    for number in range(60):
        (planted / f"m{number}.py").write_text("def f(:\n" if number % 9 == 0 else "x = 1\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(verax.__file__).parents[1]),
        "VERAX_CACHE_DIR": str(own_cache),
    }
    command = [sys.executable, "-m", "verax", "audit", ".", "--format", "json"]
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        for _ in range(4)
    ]
    outputs = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [2] * 4  # some of the files cannot be read
    assert len(set(outputs)) == 1
    assert outputs[0][0].count(b"cannot be read") == 7
    assert outputs[0][1].count(b"cannot be read") == 3  # the others are counted


def test_where_it_lies(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder({"VERAX_CACHE_DIR": "/x"}) == Path("/x")
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder({"XDG_CACHE_HOME": "/y"}) == Path("/y/verax")
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache" / "verax"
    assert cache_folder({}) == tmp_path / ".cache" / "verax"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder({}) == tmp_path / "Library" / "Caches" / "verax"
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder({"LOCALAPPDATA": "/l"}) == Path("/l/verax/Cache")


def test_the_key_lies_elsewhere(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        key, cache = state_folder({}), cache_folder({})
        assert key is not None
        assert cache is not None
        assert not key.is_relative_to(cache)
        assert state_folder({"VERAX_CACHE_DIR": "/x"}) == key
