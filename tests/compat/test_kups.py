"""Code with the import paths of kUPS runs on verax, each in an interpreter of its own."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import verax.compat.kups
from dataclasses import replace
import jax, jax.numpy as jnp
from kups.core.assertion import runtime_assert, with_runtime_assertions
from kups.core.capacity import LensCapacity
from kups.core.lens import lens
from kups.core.result import as_result_function
from kups.core.utils.jax import dataclass, field
import kups.core.utils.jax

@dataclass
class SimState:
    max_edges: int = field(static=True)
    positions: jax.Array

def simulate(state):
    edges = lens(lambda s: s.max_edges, cls=SimState)
    LensCapacity(size=state.max_edges, size_lens=edges).generate_assertion(jnp.array(150))
    return state.positions.sum()

state = SimState(max_edges=100, positions=jnp.ones((10, 3)))
print(as_result_function(simulate)(state).fix_or_raise(state).max_edges)
print(kups.core.utils.jax.tree_stack is verax.state.tree_stack)
"""


def run(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with `path` in front of everything that is installed."""
    code = f"import sys; sys.path.insert(0, {str(path)!r})\n{program}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_code_for_kups_runs_unchanged(tmp_path: Path) -> None:
    done = run(PROGRAM, tmp_path)
    assert (done.stdout.split(), done.stderr) == (["256", "True"], "")


def test_a_real_kups_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "kups").mkdir()
    (tmp_path / "kups" / "__init__.py").write_text("")
    done = run("import verax.compat.kups", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: verax.compat.kups gives verax's")
    assert "uninstall kups" in done.stderr


def test_nothing_happens_without_the_import(tmp_path: Path) -> None:
    done = run("import verax.runtime, kups", tmp_path)
    assert "No module named 'kups'" in done.stderr
