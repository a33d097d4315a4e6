"""Checkpoints of the molecular dynamics example: killed, interrupted, damaged."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import verax
from examples.md.__main__ import main
from examples.md.checkpoints import (
    Checkpoint,
    CheckpointError,
    Checkpoints,
    DamagedCheckpointWarning,
)
from examples.md.records import Records
from examples.md.simulation import Settings, make_step, start
from examples.md.state import State, with_room

ROOT = Path(__file__).parents[2]
# Those of the shared runs, so that nothing is compiled twice.
ARGUMENTS = "--atoms 300 --density 0.6 --ensemble langevin --time-step 0.004".split()
INTERVALS = "--report-every 25 --save-every 50".split()


@cache
def like() -> State:
    """A state of the form that those of the shared runs have."""
    return start(Settings(atoms=300, density=0.6))


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Checkpoints]:
    checkpoints = Checkpoints(folder)
    try:
        yield checkpoints
    finally:
        checkpoints.close()


def newest(folder: Path) -> Checkpoint:
    with opened(folder) as checkpoints:
        found = checkpoints.newest(like())
    assert found is not None
    return found


def leaves(state: State) -> list[np.ndarray]:
    key = jax.random.key_data(state.key)
    state = jax.tree.map(lambda leaf: key if leaf is state.key else leaf, state)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state)]


def assert_same(one: State, other: State) -> None:
    """To the last bit, with buffers, sizes and random key."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for left, right in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.fixture
def after(from_small_buffers: Callable[[str], Any]) -> Callable[[int], State]:
    """What a run is like that nothing interrupted."""
    run = from_small_buffers("langevin")
    return lambda steps: verax.propagate(make_step(run.settings), run.begin.state, steps).state


def test_a_run_that_is_killed_goes_on_to_the_same_trajectory(
    tmp_path: Path, after: Callable[[int], State]
):
    saved = tmp_path / "checkpoints"
    command = [sys.executable, "-m", "examples.md", *ARGUMENTS, *INTERVALS]
    process = subprocess.Popen([*command, "--steps", "1000000", "--out", tmp_path], cwd=ROOT)
    while not (saved / "150/seal.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()

    last = max(int(seal.parent.name) for seal in saved.glob("*/seal.json"))
    arguments = ["--resume", *INTERVALS, "--steps", str(last + 75), "--out", str(tmp_path)]
    assert main(arguments) == 0
    end = newest(saved)
    assert end.step == last + 75
    assert_same(end.state, after(last + 75))
    assert [row[0] for row in end.records.energies] == list(range(0, last + 76, 25))


def test_a_run_that_is_interrupted_goes_on_to_the_same_trajectory(
    tmp_path: Path,
    after: Callable[[int], State],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    save = Checkpoints.save

    def save_and_interrupt(self: Checkpoints, checkpoint: Checkpoint) -> None:
        save(self, checkpoint)
        if checkpoint.step == 100:
            signal.raise_signal(signal.SIGINT)

    out = ["--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save", save_and_interrupt)
        assert main([*ARGUMENTS, *INTERVALS, "--steps", "200", *out]) == 130
    assert "--resume" in capsys.readouterr().err
    assert main([*INTERVALS, "--resume", "--steps", "160", *out]) == 0
    assert "resumed at step 100" in capsys.readouterr().err
    # A step that is no multiple of anything, and on from there.
    assert main([*INTERVALS, "--resume", "--steps", "200", *out]) == 0
    end = newest(tmp_path / "checkpoints")
    assert_same(end.state, after(200))
    assert [row[0] for row in end.records.energies] == list(range(0, 201, 25))


@pytest.fixture
def two_saved(tmp_path: Path) -> Path:
    folder = tmp_path / "two"
    with opened(folder) as checkpoints:
        for step in (10, 20):
            records = Records([[step, 0.1, -1.0, 1.0, 0.0, 1.5]], [{"step": step}])
            checkpoints.save(Checkpoint(step, with_room(like(), step, step, step), records))
    return folder


def test_a_checkpoint_has_everything(two_saved: Path):
    found = newest(two_saved)
    assert found.step == 20
    assert_same(found.state, with_room(like(), 20, 20, 20))
    assert found.records == Records([[20, 0.1, -1.0, 1.0, 0.0, 1.5]], [{"step": 20}])


def test_no_checkpoint_is_not_an_error(tmp_path: Path):
    with opened(tmp_path / "new") as checkpoints:
        assert checkpoints.newest(like()) is None


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [flipped, truncated, Path.unlink])
def test_damage_to_any_file_is_noticed(two_saved: Path, damage: Callable[[Path], None]):
    files = [path for path in (two_saved / "20").rglob("*") if path.is_file()]
    files = [path.relative_to(two_saved) for path in files if path.stat().st_size]
    assert len(files) > 5
    for file in files:
        copy = two_saved.with_name("copy")
        shutil.copytree(two_saved, copy)
        damage(copy / file)
        with pytest.warns(DamagedCheckpointWarning, match="the checkpoint of step 20 is damaged"):
            found = newest(copy)
        assert_same(found.state, with_room(like(), 10, 10, 10))
        assert found.records.repairs == [{"step": 10}]
        shutil.rmtree(copy)


def test_a_damaged_checkpoint_is_told_and_set_aside(two_saved: Path):
    (largest,) = sorted((two_saved / "20").rglob("d/*"), key=lambda path: path.stat().st_size)[-1:]
    truncated(largest)
    with pytest.warns(DamagedCheckpointWarning, match=r"damaged \(.* has changed\) and was moved"):
        assert newest(two_saved).step == 10
    assert (two_saved / "damaged_20").is_dir()
    with opened(two_saved) as checkpoints:
        checkpoints.save(Checkpoint(20, with_room(like(), 20, 20, 20), Records()))
    assert newest(two_saved).step == 20


def test_all_checkpoints_damaged_is_an_error(two_saved: Path):
    for path in two_saved.rglob("about/metadata"):
        truncated(path)
    with (
        pytest.warns(DamagedCheckpointWarning),
        pytest.raises(CheckpointError, match="none of the checkpoints"),
        opened(two_saved) as checkpoints,
    ):
        checkpoints.newest(like())


def test_what_a_kill_leaves_while_saving_is_cleared_away(two_saved: Path):
    unfinished = two_saved / "30.orbax-checkpoint-tmp"
    shutil.copytree(two_saved / "20" / "about", unfinished / "about")
    assert newest(two_saved).step == 20
    assert not unfinished.exists()


def test_a_checkpoint_without_its_seal_was_not_finished(two_saved: Path):
    (two_saved / "20/seal.json").unlink()
    with pytest.warns(DamagedCheckpointWarning, match=r"20 is damaged \(it was not finished\)"):
        assert newest(two_saved).step == 10
