"""`pytest --verax`: what tests do with JAX is audited, in one process or in several."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import jax
import jax.numpy as jnp
import numpy as np
import pytest


@jax.jit
def noisy(key, x):
    return x + jax.random.normal(key, x.shape) * jax.random.uniform(key, x.shape)


def total(x):
    return jnp.sum(x**2)


@pytest.mark.parametrize("size", [3, 4])
def test_noise(size):
    assert noisy(jax.random.key(0), jnp.ones(size)).shape == (size,)


def test_gradient():
    assert jnp.array_equal(jax.grad(total)(jnp.ones(3)), 2 * jnp.ones(3))


def test_scan():
    def body(carry, x):
        return carry + x, carry

    last, _ = jax.lax.scan(body, 0.0, jnp.arange(4.0))
    assert last == 6
"""

# A module apart from tests, in which reuse of a key is an issue and not a warning.
MODEL = TESTS.partition("@pytest")[0].replace("import pytest\n", "")
OF_MODEL = "from model import noisy\n" + TESTS.replace("@jax.jit\n", "").replace(
    "def noisy(key, x):\n    return x + jax.random.normal(key, x.shape) * "
    "jax.random.uniform(key, x.shape)\n",
    "",
)


@pytest.fixture
def suite(tmp_path: Path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "test_model.py").write_text(OF_MODEL)

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def findings(output: str) -> list[str]:
    return re.findall(r"^(\S+:\d+):\d+: (RK001) (?:critical|warning): ", output, re.MULTILINE)


def test_nothing_happens_unless_asked_for(suite):
    done = suite()
    assert done.returncode == 0, done.stdout
    assert "verax" not in done.stdout


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_findings_are_in_the_summary(suite, options):
    done = suite("--verax", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert findings(done.stdout) == [("model.py:9", "RK001")]
    assert "4 passed" in done.stdout


def test_findings_can_fail_a_run(suite):
    assert suite("--verax", "--verax-fail-on", "critical").returncode == 1
    done = suite("--verax", "--verax-fail-on", "critical", "--verax-select", "AX")
    assert (done.returncode, findings(done.stdout)) == (0, [])


def test_what_is_no_rule_is_said_in_one_line(suite):
    done = suite("--verax", "--verax-select", "XX999")
    assert done.returncode == 4
    assert "--verax-select" in done.stderr
    assert "Traceback" not in done.stderr
