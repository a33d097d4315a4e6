"""Checkpoints with orbax: complete or not there at all, and checked before they are read.

Orbax writes into a temporary folder and renames it when all is on disk, so a process that is
killed while it saves leaves the checkpoints from before. What is saved beside the arrays: the
static sizes, without which the arrays would not fit, and the records. Last of all comes a seal,
with a checksum of every file: orbax itself would not notice each flipped bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import orbax.checkpoint as ocp

from .records import Records
from .state import State, with_room

KEEP = 3  # the newest, and two to fall back to
SEAL = "seal.json"


class CheckpointError(Exception):
    """No checkpoint can be read."""


class DamagedCheckpointWarning(UserWarning):
    """A checkpoint cannot be read, and an older one is used."""


class Checkpoint(NamedTuple):
    """A moment of a run."""

    step: int
    state: State
    records: Records


class Checkpoints:
    """The checkpoints of one run, in a folder of their own."""

    def __init__(self, folder: Path):
        self._folder = folder.resolve()
        options = ocp.CheckpointManagerOptions(
            max_to_keep=KEEP, enable_async_checkpointing=False, cleanup_tmp_directories=True
        )
        self._manager = ocp.CheckpointManager(self._folder, options=options)

    def save(self, checkpoint: Checkpoint) -> None:
        """Returns when the checkpoint is on disk. One that is there already stays."""
        if checkpoint.step in self._manager.all_steps():
            return
        about = {"sizes": _sizes(checkpoint.state), "records": asdict(checkpoint.records)}
        self._manager.save(
            checkpoint.step,
            args=ocp.args.Composite(
                arrays=ocp.args.StandardSave(_to_arrays(checkpoint.state)),
                about=ocp.args.JsonSave(about),
            ),
        )
        folder = self._folder / str(checkpoint.step)
        write_atomically(folder / SEAL, json.dumps(_checksums(folder), indent=2))

    def newest(self, like: State) -> Checkpoint | None:
        """The newest checkpoint that is not damaged; None if none was saved.

        Args:
            like: A state of the same run, with any sizes and values.
        """
        steps = sorted(self._manager.all_steps(), reverse=True)
        for step in steps:
            reason = _damage(self._folder / str(step))
            if reason is None:
                return self._read(step, like)
            self._set_aside(step, reason)
        if steps:
            raise CheckpointError(
                f"none of the checkpoints in {self._folder} can be read; start anew with another "
                "--out"
            )
        return None

    def close(self) -> None:
        """Let go of the folder."""
        self._manager.close()

    def _read(self, step: int, like: State) -> Checkpoint:
        kinds = ocp.args.Composite(about=ocp.args.JsonRestore())
        about = self._manager.restore(step, args=kinds)["about"]
        like = with_room(like, **about["sizes"])
        shapes = jax.tree.map(_described, _to_arrays(like))
        kinds = ocp.args.Composite(arrays=ocp.args.StandardRestore(shapes))
        arrays = self._manager.restore(step, args=kinds)["arrays"]
        return Checkpoint(step, _from_arrays(arrays, like), Records(**about["records"]))

    def _set_aside(self, step: int, reason: str) -> None:
        """Out of the way of a later checkpoint of the same step, but not deleted."""
        place = _free_name(self._folder / f"damaged_{step}")
        warnings.warn(
            f"the checkpoint of step {step} is damaged ({reason}) and was moved to {place}; the "
            "one before it is used",
            DamagedCheckpointWarning,
            stacklevel=3,
        )
        (self._folder / str(step)).rename(place)
        self._manager.reload()


def _free_name(path: Path) -> Path:
    number = 1
    while path.exists():
        path = path.with_name(f"{path.name.partition('.')[0]}.{number}")
        number += 1
    return path


def _sizes(state: State) -> dict[str, int]:
    room = state.neighbours
    return {"cell": room.cell_room, "row": room.row_room, "edges": room.edge_room}


def _to_arrays(state: State) -> dict[str, Any]:
    """Leaves by name, random keys as the numbers inside: plain data without our classes."""
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {_name(path): jax.random.key_data(x) if _is_key(x) else x for path, x in leaves}


def _from_arrays(arrays: dict[str, Any], like: State) -> State:
    def leaf(path: Any, model: Any) -> Any:
        array = arrays[_name(path)]
        if _is_key(model):
            return jax.random.wrap_key_data(array, impl=jax.random.key_impl(model))
        return array

    return jax.tree_util.tree_map_with_path(leaf, like)


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path).lstrip(".")


def _described(array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)


def _damage(folder: Path) -> str | None:
    """What is wrong with a checkpoint's files; None if nothing is."""
    try:
        expected = json.loads((folder / SEAL).read_bytes())
    except FileNotFoundError:
        return "it was not finished"
    except ValueError:
        return f"{SEAL} cannot be read"
    found = _checksums(folder)
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            return f"{name} is missing"
        if expected.get(name) != found[name]:
            return f"{name} has changed"
    return None


def _checksums(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != SEAL]
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def write_atomically(path: Path, text: str) -> None:
    """Under another name first, renamed when it is on disk: there is never half a file."""
    unfinished = path.with_name(path.name + ".tmp")
    with unfinished.open("w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
