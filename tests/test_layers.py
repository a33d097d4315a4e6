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
}


def rooms_imported(source: str, package: str) -> set[str]:
    """The rooms of verax that a module of `package` imports; "verax" for the top level itself."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            # `from verax import state` names a room, `from verax import lens` does not.
            modules += [f"{base}.{alias.name}" if base == "verax" else base for alias in node.names]
    inside = [module.split(".") for module in modules if module.split(".")[0] == "verax"]
    return {parts[1] if parts[1:] and parts[1] in ARROWS else "verax" for parts in inside}


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path):
    inner = path.relative_to(ROOT).with_suffix("").parts
    room, package = inner[0], ".".join(("verax", *inner[:-1]))
    assert rooms_imported(path.read_text(), package) <= ARROWS[room] | {room}


@pytest.mark.parametrize(
    ("statement", "room"),
    [
        ("import verax", "verax"),
        ("import verax.runtime.capacity", "runtime"),
        ("from verax import state", "state"),
        ("from verax import lens", "verax"),
        ("from verax.state import lens", "state"),
        ("from .. import runtime", "runtime"),
        ("from ..runtime.capacity import Capacity", "runtime"),
        ("from ._collect import collect", "channel"),
        ("def f():\n    from .. import lens", "verax"),
    ],
)
def test_meta(statement: str, room: str):
    """Every way to write an import is seen."""
    assert rooms_imported(f"import jax, numpy as np\n{statement}", "verax.channel") == {room}
