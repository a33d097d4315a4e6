"""Operations that only move elements, on NumPy arrays: what stands for an element moves with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _broadcast(params: dict[str, Any], codes: np.ndarray, *_: Any) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for source, target in enumerate(params["broadcast_dimensions"]):
        shape[target] = codes.shape[source]
    return np.broadcast_to(codes.reshape(shape), params["shape"])


def _slice(params: dict[str, Any], codes: np.ndarray) -> np.ndarray:
    strides = params["strides"] or (1,) * codes.ndim
    limits = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return codes[tuple(slice(*it) for it in limits)]


def _split(params: dict[str, Any], codes: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum(params["sizes"])[:-1]
    return list(np.split(codes, ends, axis=params["axis"]))


# From primitive to a function of its parameters and arrays.
MOVES: dict[str, Callable[..., Any]] = {
    "slice": _slice,
    "squeeze": lambda params, x: np.squeeze(x, axis=tuple(params["dimensions"])),
    "expand_dims": lambda params, x: np.expand_dims(x, tuple(params["dimensions"])),
    "reshape": lambda params, x: x.reshape(params["new_sizes"]),
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "rev": lambda params, x: np.flip(x, tuple(params["dimensions"])),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda params, *xs: np.concatenate(xs, axis=params["dimension"]),
    "stack": lambda params, *xs: np.stack(xs, axis=params["axis"]),
    "tile": lambda params, x: np.tile(x, params["reps"]),
    "split": _split,
    "unstack": lambda params, x: list(np.moveaxis(x, params["axis"], 0)),
    "copy": lambda params, x: x,
    "copy_p": lambda params, x: x,
    "optimization_barrier": lambda params, x: x,
    "sharding_constraint": lambda params, x: x,
    "device_put": lambda params, x: x,
    "convert_element_type": lambda params, x: x,
}
