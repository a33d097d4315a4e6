"""The user's key, by which the cache knows what this user's own audits have written.

It is 32 random bytes in a file that only the user can read. Whoever cannot read it can write no
entry that counts.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_FILE = "cache.key"
_BYTES = 32


def secret(folder: Path | None) -> bytes | None:
    """The key in a folder, made if there is none; `None` where none can be kept."""
    if folder is None:
        return None
    file = folder / _FILE
    found = _read(file)
    if found is not None:
        return found
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(file)
    return _read(file)


def _read(file: Path) -> bytes | None:
    """What is in the file, if it is the user's alone."""
    # A link is not followed, and a pipe does not keep us waiting.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(file, flags)
    except OSError:
        return None
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
            return None
        key = stream.read(_BYTES + 1)
    return key if len(key) == _BYTES else None


def _make(file: Path) -> None:
    """Write a new key: the file is there whole or not at all, and of several runs one wins."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=_FILE)  # for nobody else to read
    try:
        with open(handle, "wb") as stream:
            stream.write(secrets.token_bytes(_BYTES))
        try:
            os.link(name, file)
        except OSError:
            # What is there is no key, unless another run has just made it; or links are unknown.
            if _read(file) is None:
                os.replace(name, file)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
