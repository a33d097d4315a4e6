"""Imports inside verax point one way, as docs/architecture.md draws them."""

import ast
from importlib.util import resolve_name
from pathlib import Path

import pytest

import verax

ROOT = Path(verax.__file__).parent

# What each room may import besides itself.
ARROWS = {
    "_jax": set(),
    "channel": {"_jax"},
    "state": {"_jax"},
    "transforms": {"_jax"},
    "runtime": {"_jax", "channel", "state"},
    "compat": {"runtime", "state", "transforms"},
    "audit": {"_jax", "channel"},
    "assist": {"audit", "verax"},
    "cli": {"assist", "audit", "verax"},  # the top level: for the version
    "pytest_plugin": {"audit"},
    "__main__": {"cli"},
}


def imported(source: str, package: str) -> set[str]:
    """What a module of `package` imports from verax, as rooms.

    "verax" stands for the top level itself; a private part of another room is named in full.
    """
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names += [f"{base}.{alias.name}" for alias in node.names]

    rooms: set[str] = set()
    for name in names:
        top, room, *inner = [*name.split("."), ""]
        if top != "verax":
            continue
        private = any(part.startswith("_") for part in inner)
        if room not in ARROWS:
            rooms.add("verax")
        elif private and not f"{package}.".startswith(f"verax.{room}."):
            rooms.add(name)
        else:
            rooms.add(room)
    return rooms


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path):
    inner = path.relative_to(ROOT).with_suffix("").parts
    room, package = inner[0], ".".join(("verax", *inner[:-1]))
    assert imported(path.read_text(), package) <= ARROWS[room] | {room}


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import verax", "verax"),
        ("import verax.runtime.capacity", "runtime"),
        ("from verax import state", "state"),
        ("from verax import lens", "verax"),
        ("from verax.state import lens", "state"),
        ("from .. import runtime", "runtime"),
        ("from ..runtime.capacity import Capacity", "runtime"),
        ("from ._collect import collect", "channel"),
        ("from .. import _jax", "_jax"),
        ("from .._jax import scan_parts", "_jax"),
        ("from ..state import _path", "verax.state._path"),
        ("from ..state._path import Path", "verax.state._path.Path"),
        ("def f():\n    from .. import lens", "verax"),
    ],
)
def test_meta(statement: str, found: str):
    """Every way to write an import is seen."""
    assert imported(f"import jax, numpy as np\n{statement}", "verax.channel") == {found}
