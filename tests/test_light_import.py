"""`import verax` stays light: nothing slow is imported before something needs it."""

import subprocess
import sys

import pytest

SLOW = {"jax", "jaxlib", "numpy", "rich"}


def slow_imports(program: str) -> set[str]:
    """Those of `SLOW` that a fresh Python has loaded after running `program`."""
    program += "\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True
    )
    return SLOW.intersection(done.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import verax",
        "import verax; dir(verax)",
        "import verax; hasattr(verax, 'nope')",
        "import verax; verax.audit.Report('t').to_json()",
        "from verax.audit.rules.registry import all_rules; all_rules()",
        "import verax.audit.source.shapes",
    ],
)
def test_slow_packages_stay_out(program: str):
    assert slow_imports(program) == set()


def test_meta():
    """The check can fail."""
    assert slow_imports("import verax, jax, rich") == SLOW
    assert "jax" in slow_imports("import verax; verax.runtime_assert")
