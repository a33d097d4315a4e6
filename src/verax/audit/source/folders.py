"""Where the cache lies and the key to it, and where a cache must not lie.

The key is not beside the cache: a cache may come from elsewhere, in a repository or from another
machine, and what comes with it must not be able to vouch for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the cache lies: in `VERAX_CACHE_DIR`, or where the platform keeps caches."""
    if own := environment.get("VERAX_CACHE_DIR"):
        return Path(own)
    return _platform_folder(environment, "XDG_CACHE_HOME", ".cache", "Caches", "Cache")


def state_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the user's own key lies, which is no cache: it cannot be made again."""
    data = "Application Support"
    return _platform_folder(environment, "XDG_STATE_HOME", ".local/state", data, "State")


def _platform_folder(
    environment: Mapping[str, str], variable: str, other: str, mac: str, windows: str
) -> Path | None:
    # By its specification, a relative one does not count.
    named = environment.get(variable, "")
    if os.path.isabs(named) and sys.platform != "win32":
        return Path(named, "verax")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local or home / "AppData" / "Local", "verax", windows)
    if sys.platform == "darwin":
        return home / "Library" / mac / "verax"
    return home / other / "verax"


def refusal(folder: Path) -> str:
    """Why a cache must not lie in a folder; empty where it may.

    A repository can bring a cache along, or a link that leads to another program's files.
    """
    path = os.path.abspath(folder)
    top = _work_tree(path)
    while True:
        if os.path.islink(path):
            return f"{path} is a link"
        if top is None or len(path) <= len(top):
            break
        path = os.path.dirname(path)
    if top is None:
        return ""
    from ..git import tracked

    return tracked(str(folder), top)


def _work_tree(path: str) -> str | None:
    """The top of the repository that a folder lies in, as its path is written."""
    while not os.path.lexists(os.path.join(path, ".git")):
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above
    return path
