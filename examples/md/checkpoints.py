"""Checkpoints with orbax: complete or not there at all, and checked when they are read.

Orbax writes into a temporary folder and renames it when all is on disk, so a process that is
killed while it saves leaves the checkpoints from before. What is saved beside the arrays: the
static sizes, without which the arrays would not fit, the records, and a checksum of everything.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from .records import Records
from .state import State, with_room

KEEP = 3  # the newest, and two to fall back to


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
        arrays = _to_arrays(checkpoint.state)
        about: dict[str, Any] = {
            "sizes": _sizes(checkpoint.state),
            "records": asdict(checkpoint.records),
        }
        about["checksum"] = _checksum(arrays, about)
        self._manager.save(
            checkpoint.step,
            args=ocp.args.Composite(
                arrays=ocp.args.StandardSave(arrays), about=ocp.args.JsonSave(about)
            ),
        )

    def newest(self, like: State) -> Checkpoint | None:
        """The newest checkpoint that is not damaged; None if none was saved.

        Args:
            like: A state of the same run, with any sizes and values.
        """
        steps = sorted(self._manager.all_steps(), reverse=True)
        for step in steps:
            try:
                return self._read(step, like)
            except Exception as error:  # Whatever a damaged file makes orbax or NumPy raise.
                self._set_aside(step, error)
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
        if _checksum(arrays, about) != about["checksum"]:
            raise ValueError("its checksum is not that of its contents")
        return Checkpoint(step, _from_arrays(arrays, like), Records(**about["records"]))

    def _set_aside(self, step: int, error: Exception) -> None:
        """Out of the way of a later checkpoint of the same step, but not deleted."""
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        place = _free_name(self._folder / f"damaged_{step}")
        warnings.warn(
            f"the checkpoint of step {step} is damaged and was moved to {place} ({reason}); "
            "the one before it is used",
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


def _checksum(arrays: dict[str, Any], about: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    rest = {name: value for name, value in about.items() if name != "checksum"}
    digest.update(json.dumps(rest, sort_keys=True).encode())
    return digest.hexdigest()
