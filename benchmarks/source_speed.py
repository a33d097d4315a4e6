"""How long it takes to audit files by reading them, next to pyflakes on the same files.

Both run as commands in processes of their own, on installed packages that use JAX: `cold` in one
process without a cache, `warm` a second time with it. All run from bytecode, as what is installed
does: compiling verax anew takes longer than auditing a file.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from .timing import Claim, Effort, Outcome, race

PACKAGES = ("optax", "equinox", "chex", "jax_md", "jax")


def folder_of(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def lines_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


def command(*words: str, cache: str) -> Callable[[], None]:
    environment = {
        **os.environ,
        "VERAX_CACHE_DIR": cache,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": os.path.join(cache, "bytecode"),
    }

    def run() -> None:
        # Findings make an exit code of their own.
        subprocess.run(
            [sys.executable, "-m", *words], env=environment, capture_output=True, check=False
        )

    return run


def contestants(folder: Path, cache: str) -> dict[str, Callable[[], None]]:
    audit = ("verax", "audit", str(folder), "--format", "github")
    return {
        "pyflakes": command("pyflakes", str(folder), cache=cache),
        "cold": command(*audit, "--no-cache", "--jobs", "1", cache=cache),
        "warm": command(*audit, "--jobs", "1", cache=cache),
    }


def run(effort: Effort) -> Iterator[Outcome]:
    for package in PACKAGES[:1] if effort.quick else PACKAGES:
        folder = folder_of(package)
        if folder is None or importlib.util.find_spec("pyflakes") is None:
            continue
        with tempfile.TemporaryDirectory() as cache:
            calls = contestants(folder, cache)
            calls["warm"]()  # fills the cache, and writes bytecode
            calls["pyflakes"]()
            claims = (Claim("cold", "pyflakes", 1.0), Claim("warm", "cold", 0.1))
            name = f"{package}, {lines_in(folder):,} lines"
            yield race(name, calls, effort, claims=claims, rounds=3)
