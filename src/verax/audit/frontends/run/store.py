"""The store: files in `.verax/`, in the folder where a program was started.

Each run writes one file of its own, whole or not at all, so that runs side by side never meet. A
file is read as what somebody else may have written: see `stored_json`.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import UsageError
from ...files import read_bytes
from ...output import write_file
from . import FOLDER
from .observations import Observations, united
from .stored_json import NotStoredError, of_json, to_json

# An audit looks at so many files, the latest ones, of so many bytes together.
_MOST_FILES, _MOST_BYTES = 100, 50_000_000


def write(seen: Observations, folder: str) -> str:
    """Write observations into the store of a folder, and return the new file's name.

    Raises:
        UsageError: They cannot be written.
    """
    own = os.path.join(folder, FOLDER)
    # Somebody else's link would have us write elsewhere.
    if os.path.islink(own) or (os.path.exists(own) and not os.path.isdir(own)):
        raise UsageError(f"{FOLDER} is no folder of its own: what was seen is not kept")
    try:
        os.makedirs(own, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{FOLDER} cannot be made: {error.strerror}") from None
    ignore = os.path.join(own, ".gitignore")
    if not os.path.lexists(ignore):
        write_file(ignore, "*\n", FOLDER)
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds))
    name = f"run-{stamp}.{rest // 1000:06}-{secrets.token_hex(4)}.json"
    write_file(os.path.join(own, name), to_json(seen), FOLDER)
    return os.path.join(FOLDER, name)


def files_in(folder: str) -> list[str]:
    """The files of a folder's store, the latest first."""
    with suppress(OSError):
        own = Path(folder, FOLDER)
        names = (it.name for it in own.iterdir() if not own.is_symlink())
        runs = (it for it in names if it.startswith("run-") and it.endswith(".json"))
        return [os.path.join(folder, FOLDER, it) for it in sorted(runs, reverse=True)]
    return []


def read(file: str) -> Observations:
    """What is kept in a file.

    Raises:
        UsageError: It cannot be read, or is none of ours.
    """
    try:
        return of_json(read_bytes(file))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
    except NotStoredError as error:
        raise UsageError(f"{file}: {error}") from None


def read_all(files: Iterable[str]) -> Observations:
    """What is kept in several files, together.

    Raises:
        UsageError: One of them cannot be read, or is none of ours.
    """
    return united(map(read, files))


def read_store(folder: str) -> tuple[Observations, Sequence[str]]:
    """What the store of a folder holds, and why some of its files are left out."""
    found: list[Observations] = []
    problems: list[str] = []
    size = 0
    for file in files_in(folder)[:_MOST_FILES]:
        with suppress(OSError):
            size += os.path.getsize(file)
        if size > _MOST_BYTES:
            break
        try:
            found.append(read(file))
        except UsageError as error:
            problems.append(str(error))
    return united(found), problems
