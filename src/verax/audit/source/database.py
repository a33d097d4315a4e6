"""The cache's file: a database of SQLite that is never worth an error.

Runs at the same time do not disturb each other, and what is written is there whole or not at all.
A file that is damaged is built anew; one that cannot be used (locked, read-only, on a full disk) is
left alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_DAY = 86_400
_FORGET_AFTER = 30 * _DAY

# The second where a damaged file's bytes get into what SQLite says is wrong with it.
_FAILURES = (sqlite3.Error, UnicodeError)

_TABLES = """
    CREATE TABLE IF NOT EXISTS outcomes (
        key TEXT PRIMARY KEY, depends TEXT, state TEXT, outcome TEXT, checksum TEXT, used INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sections (key TEXT PRIMARY KEY, packed BLOB) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, stamp TEXT, digest TEXT) WITHOUT ROWID;
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


class FileEntry(NamedTuple):
    """A file's content, by what its times say."""

    path: str
    stamp: str
    digest: str


class Database:
    """Entries by key. Where there is no database, nothing is found and nothing kept."""

    def __init__(self, file: Path):
        self._file = file
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
                    connection.execute("INSERT OR REPLACE INTO sections VALUES (?, ?)", sections)
                connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", files)
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
            self._file.parent.mkdir(parents=True, exist_ok=True)
            return _connect(self._file)
        except OSError:
            return None
        except _FAILURES as error:
            if not _is_damage(error):
                return None
        try:
            self._remove()
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
        for suffix in ("", "-wal", "-shm"):
            self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=5, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
        # A file of another form shows it here.
        connection.execute(f"SELECT {', '.join(Entry._fields)} FROM outcomes LIMIT 1")
        connection.execute(f"SELECT {', '.join(SectionsEntry._fields)} FROM sections LIMIT 1")
        connection.execute(f"SELECT {', '.join(FileEntry._fields)} FROM files LIMIT 1")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_damage(error: Exception) -> bool:
    """Whether the file is broken, and not only locked, read-only or on a full disk."""
    if isinstance(error, sqlite3.OperationalError):
        # Bytes that are no text come as this one, too.
        return any(words in str(error) for words in ("no such", "decode to UTF-8"))
    return isinstance(error, (sqlite3.DatabaseError, UnicodeError))
