"""An audit says the same in the same order, in whatever process and however it is started."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAM = """
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Weather:
    days: jax.Array
    rain: jax.Array
    wind: jax.Array
    frost: jax.Array
    snow: jax.Array


def weather(start):
    return Weather(jnp.ones(3), start, jnp.ones(5), jnp.zeros(6), jnp.ones(7))


def lane(key, weather):
    return jax.random.normal(key, (3,)) * weather.days[0], jax.random.uniform(key)


def forecast(keys, is_warm):
    own = weather(jnp.ones(4)) if is_warm else weather(jnp.zeros(4))
    return jax.vmap(lane, in_axes=(0, None))(keys, own)
"""


def test_the_order_of_sets_changes_nothing(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)

    first = _audit(["."], tmp_path, "json", "--jobs", "1", seed=1)
    assert "RK001" in first
    for seed in (2, 3, 4):
        assert _audit(["."], tmp_path, "json", "--jobs", "1", seed=seed) == first


OF_ITEMS = """
import jax
import jax.numpy as jnp


@jax.jit
def table(x, i):
    row = x[i + 1]
    other = x[i * 2]
    return jnp.zeros((row.shape[1], other.shape[0])), jnp.ones(row.shape[0] * other.shape[0])
"""


def test_a_size_that_is_not_known_is_shown_as_the_program_writes_it(tmp_path: Path):
    (tmp_path / "program.py").write_text(OF_ITEMS)
    report = _audit(["program.py"], tmp_path, "text")
    assert "f32[x[i + 1].shape[1],x[i * 2].shape[0]]" in report


OWN = Path(__file__).parents[3]
# What of it shows most: data flows of whole programs, and warnings in tests.
SHOWN = ("examples", "src/verax/runtime", "tests/audit/programs")


@pytest.mark.parametrize("format", ["text", "json"])
def test_reports_about_our_own_code_are_the_same_byte_by_byte(format: str):
    first = _audit(SHOWN, OWN, format, "--jobs", "1", seed=1)
    assert len(first) > 100_000
    assert _audit(SHOWN[::-1], OWN, format, "--jobs", "2", seed=2) == first


def _audit(targets: Sequence[str], folder: Path, format: str, *options: str, seed: int = 0) -> str:
    command = [sys.executable, "-m", "verax", "audit", *targets, "--flow", "--format", format]
    return subprocess.run(
        [*command, "--no-cache", *options],
        cwd=folder,
        env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(OWN / "src")},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
