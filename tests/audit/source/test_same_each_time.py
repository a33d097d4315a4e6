"""An audit says the same in the same order, however Python hashes its strings."""

import os
import subprocess
import sys
from pathlib import Path

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

    def report(seed: int) -> str:
        command = [sys.executable, "-m", "verax", "audit", ".", "--flow", "--format", "json"]
        return subprocess.run(
            [*command, "--no-cache", "--jobs", "1"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    first = report(1)
    assert "RK001" in first
    assert all(report(seed) == first for seed in (2, 3, 4))
