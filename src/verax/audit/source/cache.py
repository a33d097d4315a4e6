"""What earlier audits have told, kept for as long as no file that it depends on changes.

One database in the user's cache folder serves all projects. It holds JSON, nothing that could run,
and each entry has a checksum that only this user's audits can make: see `secret`. An entry that
somebody else wrote is none. Whatever goes wrong with the database costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from . import reading, stored
from .disk import kind_of
from .folders import refusal, state_folder
from .outcome import Outcome
from .secret import secret
from .stored import NO_SECTIONS, Stored

if TYPE_CHECKING:
    from .database import Database, Entry, FileEntry, SectionsEntry

_FILE = "source-2.sqlite3"  # the number changes with the tables
MAX_BYTES = 256_000_000
_DAY = 86_400
_WRITE_EVERY = 256  # entries; what is written survives an interrupt
# A file that was changed so lately may change again without its times showing it.
_SETTLED_NS = 2_000_000_000


def engine_state() -> str:
    """What identifies the code that audits: this version of verax, as it is, on this Python."""
    digest = hashlib.blake2b(sys.version.encode(), digest_size=16)
    for file in _engine_files():
        digest.update(f"{file}\0".encode(errors="surrogateescape"))
        with open(file, "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()


def _engine_files() -> Iterator[str]:
    auditor = Path(__file__).parents[1]
    yield str(auditor.parent / "__init__.py")
    for folder, folders, names in os.walk(auditor):
        # Tracing is another engine.
        folders[:] = sorted(it for it in folders if it not in ("trace", "__pycache__"))
        yield from (os.path.join(folder, it) for it in sorted(names) if it.endswith(".py"))


def _engine_stamp() -> str:
    """What changes with the engine, as far as the times of its files tell."""
    stamps = {file: _stamp(file) for file in _engine_files()}
    times = [tuple(map(int, it.split(":")[:2])) for it in stamps.values() if it]
    modified, changed = (max(it) for it in zip(*times, strict=True))
    content = _checksum(sys.version, *stamps, *stamps.values())
    return f"{modified}:{changed}:{int(content, 16)}"


class Cache:
    """Outcomes by file, in a database in `folder`; without a folder it keeps nothing.

    `settings` are all else that the outcomes depend on, besides the files and the engine; `besides`
    has, by file, what the outcome of that one alone depends on. Use it with `with`: what was put in
    is written at the end, also after an interrupt. `notes` say what is wrong with the folder or the
    database.
    """

    def __init__(
        self,
        folder: Path | None,
        settings: Sequence[str] = (),
        besides: Mapping[str, str] | None = None,
    ):
        self._besides = besides or {}
        self._now = time.time()
        self._refusal = "" if folder is None else refusal(folder)
        self._secret = b""
        self._database = None if folder is None or self._refusal else self._open(folder / _FILE)
        self._digests: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._entries: list[tuple[Entry, SectionsEntry]] = []
        self._files: dict[str, FileEntry] = {}
        self._used: list[str] = []
        self._settings = json.dumps([self._engine() if self._database else "", *settings])

    def _open(self, file: Path) -> Database | None:
        key = secret(state_folder())
        if key is None:
            return None
        self._secret = key
        try:
            from .database import Database
        except ImportError:  # some builds of Python lack SQLite
            return None
        return Database(file)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the cache, which is no part of what files tell."""
        if self._refusal:
            advice = "set VERAX_CACHE_DIR to a folder of your own outside of the repository"
            return (f"there is no cache, since {self._refusal}; {advice}",)
        return () if self._database is None else tuple(self._database.notes)

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._database is not None:
            self._write(self._database)
            self._database.prune(MAX_BYTES, int(self._now))
            self._database.close()

    def get(self, path: str, sections: bool = True) -> Outcome | None:
        """What a file told, if nothing has changed since; perhaps without how data flows."""
        if self._database is None:
            return None
        entry = self._database.entry(self._key(path))
        if entry is None:
            return None
        try:
            if not self._is_ours(entry.checksum, *entry[:4]):
                return None
            if _checksum(*self._answers(*json.loads(entry.depends))) != entry.state:
                return None
            text = Stored(entry.outcome, NO_SECTIONS)
            if sections:
                packed = self._database.sections(entry.key)
                if packed is None or not self._is_ours(
                    packed.checksum, entry.checksum, packed.packed
                ):
                    return None
                text = text._replace(sections=_unpacked(packed.packed))
            outcome = stored.decode(text)
            if entry.used < self._now - _DAY:
                self._used.append(entry.key)
        except (ValueError, TypeError, AttributeError, RecursionError, zlib.error):
            return None  # damaged
        return outcome

    def put(self, path: str, outcome: Outcome, text: Stored | None = None) -> None:
        """Keep what a file told; `text` is the outcome encoded, where that is at hand."""
        if self._database is None or outcome.failed or not os.path.isfile(path):
            return
        from .database import Entry, SectionsEntry

        text = stored.encode(outcome) if text is None else text
        depends = json.dumps([list(outcome.digests), list(outcome.kinds)])
        state = _checksum(*outcome.digests.values(), *outcome.kinds.values())
        key, now = self._key(path), int(self._now)
        checksum = self._signed(key, depends, state, text.findings)
        entry = Entry(key, depends, state, text.findings, checksum, now)
        packed = _packed(text.sections)
        sections = SectionsEntry(key, packed, self._signed(checksum, packed))
        self._entries.append((entry, sections))
        for file, digest in outcome.digests.items():
            if file not in self._files:
                self._remember(file, digest, _stamp(file))
        if len(self._entries) >= _WRITE_EVERY:
            self._write(self._database)

    def _write(self, database: Database) -> None:
        if self._entries or self._files or self._used:
            database.write(self._entries, self._files.values(), self._used, int(self._now))
        self._entries, self._files, self._used = [], {}, []

    def _key(self, path: str) -> str:
        return _checksum(self._settings, path, self._besides.get(path, ""))

    def _signed(self, *parts: str | bytes) -> str:
        """A checksum that nobody can make without the user's key."""
        return _checksum(*parts, key=self._secret)

    def _is_ours(self, checksum: str, *parts: str | bytes) -> bool:
        """Whether parts of an entry were written, together, by an audit of this user's."""
        return hmac.compare_digest(self._signed(*parts).encode(), checksum.encode())

    def _answers(self, contents: list[str], kinds: list[str]) -> Iterator[str]:
        """What is now at the paths that an outcome depends on: see `disk`."""
        yield from map(self._digest, contents)
        yield from map(self._kind, kinds)

    def _kind(self, path: str) -> str:
        if path not in self._kinds:
            self._kinds[path] = kind_of(path)
        return self._kinds[path]

    def _engine(self) -> str:
        """The state of the engine, whose files are all read again only if their times differ."""
        return self._digest_by(os.path.dirname(__file__), _engine_stamp(), engine_state)

    def _digest(self, path: str) -> str:
        """The digest of a file as it is now; one whose times are the same is not read again."""
        if path not in self._digests:
            self._digests[path] = self._digest_by(
                path, _stamp(path), lambda: reading.digest_of_file(path)
            )
        return self._digests[path]

    def _digest_by(self, path: str, stamp: str, read: Callable[[], str]) -> str:
        known = self._database and self._database.file(_text(path))
        if known and stamp and known.stamp == stamp and self._is_known(known):
            return known.digest
        digest = read()
        self._remember(path, digest, stamp)
        return digest

    def _is_known(self, entry: FileEntry) -> bool:
        try:
            return self._is_ours(entry.checksum, *entry[:3])
        except (ValueError, TypeError, AttributeError):
            return False  # damaged

    def _remember(self, path: str, digest: str, stamp: str) -> None:
        """Keep the digest of a file by its times, if it has not changed since well before us.

        Whether it can be read depends on more than the file.
        """
        if not stamp or not reading.is_of_content(digest):
            return
        from .database import FileEntry

        modified, changed, *_ = map(int, stamp.split(":"))
        if max(modified, changed) < self._now * 1e9 - _SETTLED_NS:
            name = _text(path)
            self._files[path] = FileEntry(name, stamp, digest, self._signed(name, stamp, digest))


def _packed(text: str) -> bytes:
    """A text in a tenth of its size, or nothing for what is empty."""
    return b"" if text.strip() == NO_SECTIONS else zlib.compress(text.strip().encode(), 1)


def _unpacked(packed: bytes) -> str:
    return NO_SECTIONS if packed == b"" else zlib.decompress(packed).decode()


def _stamp(path: str) -> str:
    """What changes with a file's content, as far as its times tell; empty where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"


def _checksum(*parts: str | bytes, key: bytes = b"") -> str:
    digest = hashlib.blake2b(digest_size=16, key=key)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def _text(path: str) -> str:
    """A path as what SQLite can hold, which is no half of a character."""
    return path.encode("utf-8", "surrogateescape").hex() if not path.isprintable() else path
