"""The cache's file: a database of SQLite that is never worth an error.

Runs at the same time do not disturb each other, and what is written is there whole or not at all.
A file that is damaged is built anew; one that cannot be used (locked, read-only, on a full disk) is
left alone, and so is one that is not ours: a link, a pipe, or another program's database. What a
database is shows in its header, which is read before SQLite sees the file.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_DAY = 86_400
_FORGET_AFTER = 30 * _DAY

# The second where a damaged file's bytes get into what SQLite says is wrong with it.
_FAILURES = (sqlite3.Error, UnicodeError)

# By which a database of SQLite says whose it is: "verx".
_APPLICATION = 0x76657278
_MAGIC = b"SQLite format 3\0"
_WAL = b"\2\2"  # how it is written and read
# For what another process holds; longer than it takes to write entries.
_PATIENCE = 2.0  # seconds
_SUFFIXES = ("", "-wal", "-shm", "-journal")

_TABLES = """
    CREATE TABLE outcomes (
        key TEXT PRIMARY KEY, depends TEXT, state TEXT, outcome TEXT, checksum TEXT, used INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE sections (
        key TEXT PRIMARY KEY, packed BLOB, checksum TEXT
    ) WITHOUT ROWID;
    CREATE TABLE files (
        path TEXT PRIMARY KEY, stamp TEXT, digest TEXT, checksum TEXT
    ) WITHOUT ROWID;
"""


class Entry(NamedTuple):
    """What is kept of one audited file: see `cache`."""

    key: str
    depends: str
    state: str
    outcome: str
    checksum: str
    used: int


class SectionsEntry(NamedTuple):
    """The part of an entry that is large and seldom read."""

    key: str
    packed: bytes
    checksum: str


class FileEntry(NamedTuple):
    """A file's content, by what its times say."""

    path: str
    stamp: str
    digest: str
    checksum: str


class Database:
    """Entries by key. Where there is no database, nothing is found and nothing kept.

    `notes` say why there is none, or that it was damaged.
    """

    def __init__(self, file: Path):
        self._file = file
        self.notes: list[str] = []
        self._connection = self._open()

    def entry(self, key: str) -> Entry | None:
        """What is kept under a key."""
        row = self._row("SELECT * FROM outcomes WHERE key = ?", key)
        return None if row is None else Entry(*row)

    def sections(self, key: str) -> SectionsEntry | None:
        """The sections that are kept under a key."""
        row = self._row("SELECT * FROM sections WHERE key = ?", key)
        return None if row is None else SectionsEntry(*row)

    def file(self, path: str) -> FileEntry | None:
        """What is known of a file."""
        row = self._row("SELECT * FROM files WHERE path = ?", path)
        return None if row is None else FileEntry(*row)

    def write(
        self,
        entries: Iterable[tuple[Entry, SectionsEntry]],
        files: Iterable[FileEntry],
        used: Iterable[str],
        now: int,
    ) -> None:
        """Keep entries and files, and that the keys `used` were of use."""
        if self._connection is None:
            return
        try:
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                for entry, sections in entries:
                    connection.execute(
                        "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", entry
                    )
                    connection.execute("INSERT OR REPLACE INTO sections VALUES (?, ?, ?)", sections)
                connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", files)
                connection.executemany(
                    "UPDATE outcomes SET used = ? WHERE key = ?", [(now, key) for key in used]
                )
        except _FAILURES as error:
            self._give_up(error)

    def prune(self, max_bytes: int, now: int) -> None:
        """If there is too much, forget what was not used for long, and half of the rest."""
        if self._connection is None:
            return
        try:
            if self._size(self._connection) <= max_bytes:
                return
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DELETE FROM outcomes WHERE used < ?", [now - _FORGET_AFTER])
                connection.execute(
                    "DELETE FROM outcomes WHERE key IN (SELECT key FROM outcomes ORDER BY used "
                    "LIMIT (SELECT (count(*) + 1) / 2 FROM outcomes))"
                )
                connection.execute(
                    "DELETE FROM sections WHERE key NOT IN (SELECT key FROM outcomes)"
                )
                connection.execute("DELETE FROM files")
            self._connection.execute("VACUUM")
        except _FAILURES:
            pass  # another run is at it

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            with suppress(*_FAILURES):
                self._connection.close()
        self._connection = None

    @staticmethod
    def _size(connection: sqlite3.Connection) -> int:
        # The file itself may lag behind what was written.
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        return pages * size

    def _row(self, query: str, key: str) -> tuple[Any, ...] | None:
        if self._connection is None:
            return None
        try:
            return self._connection.execute(query, [key]).fetchone()
        except _FAILURES as error:
            self._give_up(error)
            return None

    def _open(self) -> sqlite3.Connection | None:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if reason := _refusal(self._file):
                self.notes.append(f"there is no cache, since {reason}; move it away")
                return None
            if not self._file.exists():
                _create(self._file)
            elif _is_whole(self._file):
                return _connect(self._file)
            else:
                self._remove()
        except OSError:
            return None
        except _FAILURES as error:
            if not _is_damage(error):
                return None
            with suppress(OSError):
                self._remove()
        try:
            if not self._file.exists():
                _create(self._file)
            return _connect(self._file)
        except (OSError, *_FAILURES):
            return None

    def _give_up(self, error: Exception) -> None:
        self.close()
        if _is_damage(error):
            with suppress(OSError):
                self._remove()
            self._connection = self._open()

    def _remove(self) -> None:
        self.notes.append(f"the cache {self._file} was damaged, and is made anew")
        for suffix in _SUFFIXES:
            _beside(self._file, suffix).unlink(missing_ok=True)


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _refusal(file: Path) -> str:
    """Why a file is not to be touched, nor one that SQLite puts beside it; empty where it may."""
    for path in (_beside(file, suffix) for suffix in _SUFFIXES):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            return f"{path} is a link"
        if not stat.S_ISREG(mode):
            return f"{path} is no file"
    head = _head(file)
    is_other = head.startswith(_MAGIC) and head[68:72] != _APPLICATION.to_bytes(4, "big")
    return f"{file} is another program's database" if is_other else ""


def _is_whole(file: Path) -> bool:
    """Whether a file may be a database as we make them.

    They never have a journal, which could name a file for SQLite to delete.
    """
    head = _head(file)
    has_journal = _beside(file, "-journal").exists()
    return head.startswith(_MAGIC) and head[18:20] == _WAL and not has_journal


def _head(file: Path) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read(100)
    except FileNotFoundError:
        return b""


def _create(file: Path) -> None:
    """Make a database, which is there whole or not at all; of several runs one wins."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}.")
    os.close(handle)
    new = Path(name)
    try:
        connection = sqlite3.connect(new, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)
        finally:
            connection.close()
        try:
            os.link(new, file)
        except FileExistsError:
            pass
        except OSError:  # not every system of files has links
            os.replace(new, file)
    finally:
        for suffix in _SUFFIXES:
            _beside(new, suffix).unlink(missing_ok=True)


def _connect(file: Path) -> sqlite3.Connection:
    """Open a database that is there.

    Raises:
        sqlite3.Error: It cannot be used now, is damaged, or holds something else than our tables.
    """
    address = f"{file.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute(_SCHEMA).fetchall() != _schema():
            raise sqlite3.DatabaseError("it has other tables, or does more than to hold them")
    except BaseException:
        connection.close()
        raise
    return connection


# Triggers and views, which could run something, stand there as well.
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"


@cache
def _schema() -> list[tuple[object, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_TABLES)
        return connection.execute(_SCHEMA).fetchall()
    finally:
        connection.close()


def _is_damage(error: Exception) -> bool:
    """Whether the file is broken, and not only locked, read-only or on a full disk."""
    if isinstance(error, sqlite3.OperationalError):
        # Bytes that are no text come as this one, too.
        return any(words in str(error) for words in ("no such", "decode to UTF-8"))
    return isinstance(error, (sqlite3.DatabaseError, UnicodeError))
