"""A cache that came from elsewhere changes no report, harms no file, and holds nobody up."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from verax.audit.source.cache import _checksum
from verax.audit.source.engine import Options, audit_paths
from verax.audit.source.folders import state_folder
from verax.audit.source.secret import secret

NAME = "source-2.sqlite3"
Codes = Callable[[], list[str]]


@pytest.fixture
def codes(planted: Path) -> Codes:
    """Audits a file with one bug, and says what was found."""
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    return lambda: [it.code for it in audit_paths(["a.py"], Options(jobs=1)).issues]


@pytest.fixture
def as_another(monkeypatch) -> Callable[[], None]:
    """Become a user with another key."""
    return lambda: monkeypatch.setenv("XDG_STATE_HOME", os.environ["XDG_STATE_HOME"] + "2")


@pytest.fixture
def without_findings(monkeypatch) -> Callable[[], None]:
    """Write entries, as far as that is possible without the key, in which nothing is found."""

    def forge() -> None:
        file = Path(os.environ["VERAX_CACHE_DIR"], NAME)
        with sqlite3.connect(file) as database:
            query = "SELECT key, depends, state, outcome FROM outcomes"
            *place, text = database.execute(query).fetchone()
            outcome = json.loads(text)
            outcome["report"] |= {"issues": [], "verified": []}
            outcome["paths"]["issues"] = []
            text = json.dumps(outcome)
            values = [text, _checksum(*place, text)]
            database.execute("UPDATE outcomes SET outcome = ?, checksum = ?", values)
        database.close()

    return forge


def test_an_entry_that_was_changed_is_none(codes: Codes, without_findings):
    assert codes() == ["AX001"]
    without_findings()
    assert codes() == ["AX001"]


def test_entries_of_somebody_else_are_none(codes: Codes, as_another, monkeypatch):
    """Somebody runs verax, changed so that it finds nothing, and commits the cache."""
    with monkeypatch.context() as patch:
        patch.setattr("verax.audit.source.one_file.analyse", _finds_nothing)
        assert codes() == []
    assert codes() == []  # What the forger's own cache says, with the forger's key.
    as_another()
    assert codes() == ["AX001"]


def _finds_nothing(path: str, project, *_):
    from verax.audit import Report
    from verax.audit.source.analyse import Analysis

    project.disk.start()
    project.disk.read(path)
    return Analysis(Report(path), project.disk.contents())


def test_an_entry_does_not_count_for_another_file(planted: Path, codes: Codes, own_cache: Path):
    (planted / "fine.py").write_text("x = 1\n")
    audit_paths(["fine.py"], Options(jobs=1))
    assert codes() == ["AX001"]
    with sqlite3.connect(own_cache / NAME) as database:
        rows = database.execute("SELECT key, outcome FROM outcomes").fetchall()
        (bad,) = (key for key, outcome in rows if "AX001" in outcome)
        database.execute("DELETE FROM outcomes WHERE key = ?", [bad])
        database.execute("UPDATE outcomes SET key = ?", [bad])
        database.execute("DELETE FROM sections WHERE key = ?", [bad])
        database.execute("UPDATE sections SET key = ?", [bad])
    database.close()
    assert codes() == ["AX001"]


def test_a_forged_digest_hides_no_change(planted: Path, codes: Codes, own_cache: Path, monkeypatch):
    """The digests of files are kept, too, and one of them could say that nothing has changed."""
    monkeypatch.setattr("verax.audit.source.cache._SETTLED_NS", -10_000_000_000)
    (planted / "a.py").write_text("x = 1\n")
    assert not audit_paths(["a.py"], Options(jobs=1)).issues
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    status = (planted / "a.py").stat()
    stamp = f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"
    with sqlite3.connect(own_cache / NAME) as database:
        of_file = "WHERE path LIKE '%a.py'"
        assert database.execute(f"UPDATE files SET stamp = ? {of_file}", [stamp]).rowcount == 1
    database.close()
    assert codes() == ["AX001"]


def test_the_key_is_the_users_alone(codes: Codes):
    codes()
    folder = state_folder()
    assert folder is not None
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_bytes()) == 32
    assert secret(folder) == file.read_bytes()


@pytest.mark.parametrize("spoil", ["readable by others", "too short", "a link", "a pipe"])
def test_what_is_no_key_is_replaced(tmp_path: Path, spoil: str):
    first = secret(tmp_path)
    file = tmp_path / "cache.key"
    if spoil == "readable by others":
        file.chmod(0o644)
    elif spoil == "too short":
        file.write_bytes(b"short")
    else:
        file.unlink()
        (tmp_path / "elsewhere").write_bytes(b"x" * 32)
        (tmp_path / "elsewhere").chmod(0o600)
        file.symlink_to("elsewhere") if spoil == "a link" else os.mkfifo(file)
    second = secret(tmp_path)
    assert second is not None
    assert second not in (first, b"x" * 32)
    assert secret(tmp_path) == second
    assert not file.is_symlink()
    assert {it.name for it in tmp_path.iterdir()} <= {"cache.key", "elsewhere"}


def test_without_a_place_for_the_key_there_is_no_cache(codes: Codes, own_cache: Path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
    assert codes() == ["AX001"]
    assert list(own_cache.iterdir()) == []


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_a_tracked_cache_is_left_alone(planted: Path, codes: Codes, capsys, monkeypatch):
    monkeypatch.setenv("VERAX_CACHE_DIR", ".verax-cache")
    codes()
    _git(planted, "init")
    assert codes() == ["AX001"]
    assert capsys.readouterr().err == ""  # It lies in a repository, which does not hold it.
    _git(planted, "add", "--force", ".verax-cache")
    before = (planted / ".verax-cache" / NAME).read_bytes()
    assert codes() == ["AX001"]
    assert (planted / ".verax-cache" / NAME).read_bytes() == before
    assert capsys.readouterr().err == (
        "verax: note: there is no cache, since .verax-cache is tracked by git; "
        "set VERAX_CACHE_DIR to a folder of your own outside of the repository\n"
    )


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda index: index.write_bytes(b"no index"), "git says "),
        (os.mkfifo, "git ls-files has not ended within 0.5 s"),
    ],
)
def test_a_cache_that_may_be_tracked_is_left_alone(
    planted: Path, codes: Codes, capsys, monkeypatch, spoil, reason: str
):
    monkeypatch.setenv("VERAX_CACHE_DIR", ".verax-cache")
    monkeypatch.setattr("verax.audit.git._PATIENCE", 0.5)
    _git(planted, "init")
    codes()
    _git(planted, "add", "--force", ".verax-cache")
    before = (planted / ".verax-cache" / NAME).read_bytes()
    (planted / ".git" / "index").unlink()
    spoil(planted / ".git" / "index")
    capsys.readouterr()
    assert codes() == ["AX001"]
    assert (planted / ".verax-cache" / NAME).read_bytes() == before
    note = capsys.readouterr().err
    assert note.startswith(
        "verax: note: there is no cache, since it is not known whether .verax-cache is tracked by "
        f"git ({reason}"
    )
    assert note.count("\n") == 1


@pytest.mark.parametrize("without", ["git", "repository"])
def test_a_cache_that_nothing_can_track_counts(
    planted: Path, codes: Codes, capsys, monkeypatch, without: str
):
    monkeypatch.setenv("VERAX_CACHE_DIR", ".verax-cache")
    if without == "git":
        _git(planted, "init")
        monkeypatch.setenv("PATH", str(planted))
    else:
        (planted / ".git").mkdir()
    assert codes() == ["AX001"]
    assert capsys.readouterr().err == ""
    assert (planted / ".verax-cache" / NAME).exists()


@pytest.mark.parametrize("inside", [".verax-cache", "caches/verax"])
def test_a_link_to_a_folder_is_not_followed(
    planted: Path, codes: Codes, capsys, monkeypatch, tmp_path_factory, inside: str
):
    other = tmp_path_factory.mktemp("other")
    (other / "verax").mkdir()
    _git(planted, "init")
    (planted / inside.partition("/")[0]).symlink_to(other)
    monkeypatch.setenv("VERAX_CACHE_DIR", inside)
    assert codes() == ["AX001"]
    assert list(other.rglob("*")) == [other / "verax"]
    assert "is a link" in capsys.readouterr().err


@pytest.fixture
def other_database(tmp_path_factory) -> Path:
    """What another program keeps."""
    file = tmp_path_factory.mktemp("other") / "places.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE outcomes (key TEXT PRIMARY KEY)")
        database.execute("INSERT INTO outcomes VALUES ('precious')")
    database.close()
    return file


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_link_to_a_file_is_not_followed(
    codes: Codes, own_cache: Path, capsys, other_database: Path, suffix: str
):
    codes()
    file = own_cache / f"{NAME}{suffix}"
    file.unlink(missing_ok=True)
    file.symlink_to(other_database)
    before = other_database.read_bytes()
    assert codes() == ["AX001"]
    assert other_database.read_bytes() == before
    assert [it.name for it in other_database.parent.iterdir()] == ["places.sqlite"]
    assert f"{file} is a link; move it away" in capsys.readouterr().err


@pytest.mark.parametrize("place", [shutil.copyfile, os.link])
def test_another_programs_database_is_not_written_to(
    codes: Codes, own_cache: Path, capsys, other_database: Path, place
):
    place(other_database, own_cache / NAME)
    before = other_database.read_bytes()
    assert codes() == ["AX001"]
    assert (own_cache / NAME).read_bytes() == before
    assert other_database.read_bytes() == before
    assert [it.name for it in own_cache.iterdir()] == [NAME]
    assert f"{NAME} is another program's database; move it away" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_pipe_holds_nobody_up(codes: Codes, own_cache: Path, capsys, suffix: str):
    codes()
    file = own_cache / f"{NAME}{suffix}"
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert codes() == ["AX001"]
    assert f"{file} is no file; move it away" in capsys.readouterr().err


def test_a_journal_is_not_played_back(codes: Codes, own_cache: Path, capsys):
    """A journal can name another one, which SQLite deletes once it is done."""
    codes()
    (own_cache / f"{NAME}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600)
    assert codes() == ["AX001"]
    assert "was damaged, and is made anew" in capsys.readouterr().err
    assert not (own_cache / f"{NAME}-journal").exists()


def test_what_is_damaged_is_made_anew_with_a_note(codes: Codes, own_cache: Path, capsys):
    codes()
    file = own_cache / NAME
    data = file.read_bytes()
    file.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    assert codes() == ["AX001"]
    note = f"verax: note: the cache {file} was damaged, and is made anew\n"
    assert capsys.readouterr().err == note
    assert codes() == ["AX001"]
    assert capsys.readouterr().err == ""
