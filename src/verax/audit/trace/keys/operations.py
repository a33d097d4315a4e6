"""Keys through operations: which draw, which make new keys, which move them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..moves import MOVES
from ..program import Step
from .analysis import Keys
from .identity import LIMIT, WORDS, Use, folds_like_splits, may_hold_keys, words
from .picking import dynamic_slice, gather


def _draw(known: Keys, step: Step) -> None:
    known.use(step, "draw")


def _split(known: Keys, step: Step) -> None:
    parents = known.array(step.inputs[0])
    out = step.outputs[0]
    known.use(step, "split")
    if parents is None or np.prod(out.shape, dtype=int) > LIMIT:
        known.arrays[out] = known.fresh("unknown", out, step)
        return
    shape = tuple(step.params["shape"])
    codes = np.empty((*parents.shape, *shape), np.int64)
    for position in np.ndindex(*codes.shape):
        parent = known.made[int(parents[position[: parents.ndim]])]
        child = int(np.ravel_multi_index(position[parents.ndim :], shape)) if shape else 0
        key = known.key((parent, child), "child", parents=(parent,), index=child, step=step)
        codes[position] = key.number
    known.arrays[out] = codes


def _fold_in(known: Keys, step: Step) -> None:
    parents, data, out = known.array(step.inputs[0]), step.inputs[1], step.outputs[0]
    if parents is None or parents.shape != out.shape:
        known.arrays[out] = known.fresh("unknown", out, step)
        return
    number = known.numbers.identity(data)
    constant = known.numbers.constant(data)
    is_child = constant is not None and folds_like_splits(out)
    codes = np.empty(parents.shape, np.int64)
    for position in np.ndindex(*codes.shape):
        parent = known.made[int(parents[position])]
        key = known.key(
            (parent, constant) if is_child else (parent, number, position if data.shape else ()),
            "folded",
            alias="child" if is_child else None,
            parents=(parent,),
            index=(number, (data,)),
            step=step,
        )
        codes[position] = key.number
        known.folds.append(Use(parent, "fold", step))
    known.arrays[out] = codes


def _seed(known: Keys, step: Step) -> None:
    (seed,), out = step.inputs, step.outputs[0]
    number = known.numbers.identity(seed)
    if out.shape:
        known.arrays[out] = known.fresh("unknown", out, step)
        return
    key = known.key(number, "seed", index=(number, (seed,)), step=step)
    known.arrays[out] = np.array(key.number)


def _clone(known: Keys, step: Step) -> None:
    """A key that gives the same numbers once more, on purpose: of distinct ones nothing is said."""
    known.arrays[step.outputs[0]] = known.fresh("clone", step.outputs[0], step)
    known.complete = False


def _wrap(known: Keys, step: Step) -> None:
    numbers, out = known.array(step.inputs[0]), step.outputs[0]
    if numbers is None:
        return
    first = numbers[..., 0]
    if (numbers == words(first // WORDS, numbers.shape[-1])).all():
        known.arrays[out] = first // WORDS


def _unwrap(known: Keys, step: Step) -> None:
    codes, out = known.array(step.inputs[0]), step.outputs[0]
    known.arrays[out] = None if codes is None else words(codes, out.shape[-1])


def _structural(known: Keys, step: Step) -> None:
    """An operation that moves elements and makes none."""
    if not any(may_hold_keys(value) for value in step.outputs):
        return
    codes = [known.array(value) for value in step.inputs]
    if not codes or any(code is None for code in codes):
        return
    moved = MOVES[step.primitive](step.params, *codes)
    several = moved if isinstance(moved, list) else [moved]
    for out, part in zip(step.outputs, several, strict=True):
        known.arrays[out] = part if part.size <= LIMIT * WORDS else None


def _select(known: Keys, step: Step) -> None:
    which, *cases = step.inputs
    if may_hold_keys(step.outputs[0]):
        known.arrays[step.outputs[0]] = known.choice(
            step, which, step.outputs[0], [known.array(case) for case in cases]
        )


RULES: dict[str, Callable[[Keys, Step], None]] = {
    "random_bits": _draw,
    "random_clone": _clone,
    "random_gamma": _draw,
    "random_split": _split,
    "random_fold_in": _fold_in,
    "random_seed": _seed,
    "random_wrap": _wrap,
    "random_unwrap": _unwrap,
    "dynamic_slice": dynamic_slice,
    "gather": gather,
    "select_n": _select,
    **dict.fromkeys(MOVES, _structural),
}
