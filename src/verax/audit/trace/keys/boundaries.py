"""Keys across the boundaries of steps that hold bodies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..program import Loop, Mapping, Sharding, Step, Value
from .analysis import Keys
from .identity import LIMIT, WORDS, Use, is_typed, key_shape, may_hold_keys, words


def _call(known: Keys, step: Step) -> None:
    known.body(step.bodies[0])


def _cond(known: Keys, step: Step) -> None:
    for branch in step.bodies:
        known.body(branch)
    for index, out in enumerate(step.outputs):
        if may_hold_keys(out):
            cases = [known.array(branch.outputs[index]) for branch in step.bodies]
            known.arrays[out] = known.choice(step, step.inputs[0], out, cases)


def _derivative(known: Keys, step: Step) -> None:
    """The derivative of what was drawn already: it takes the keys along, and uses none."""


def _derive(known: Keys, step: Step) -> None:
    for outer, inner in step.detail.differentiated:
        known.arrays[inner] = known.array(outer)
    known.body(step.bodies[0])


def _map(known: Keys, step: Step) -> None:
    mapping: Mapping = step.detail
    for outer, inner, axis in mapping.mapped:
        known.arrays[inner] = _each(known, step, outer, inner, axis)
    known.body(step.bodies[0])
    for outer, inner, axis in mapping.results:
        if axis is None:
            known.arrays[outer] = known.array(inner)
        else:
            known.arrays[outer] = _lanes(known, step, outer, inner, axis, mapping.size)


def _shard(known: Keys, step: Step) -> None:
    sharding: Sharding = step.detail
    for outer, inner, _ in sharding.inputs:
        if outer is not inner:
            known.arrays[inner] = _piece(known, step, outer, inner)
    known.body(step.bodies[0])
    for outer, _, _ in sharding.outputs:
        known.arrays[outer] = known.fresh("unknown", outer, step)


def _piece(known: Keys, step: Step, outer: Value, inner: Value) -> np.ndarray | None:
    """The keys of one shard: copies of one key are the same everywhere, others are not known."""
    codes = known.array(outer)
    if codes is None or not codes.size or key_shape(inner) is None:
        return known.fresh("unknown", inner, step)
    first = codes.ravel()[0] if is_typed(inner) else codes.reshape(-1, codes.shape[-1])[0]
    if not (codes == first).all():
        return known.fresh("unknown", inner, step)
    return np.broadcast_to(first, inner.shape)


def _loop(known: Keys, step: Step) -> None:
    loop: Loop = step.detail
    for outer, inner in zip(loop.scanned, loop.slices, strict=True):
        known.arrays[inner] = _each(known, step, outer, inner, 0)
    for initial, carry in zip(loop.initial, loop.carry, strict=True):
        known.arrays[carry] = _carry(known, step, initial, carry)
    before = len(known.uses)
    for body in step.bodies:
        known.body(body)
    for initial, carry, carried, final in zip(
        loop.initial, loop.carry, loop.carried, loop.final, strict=True
    ):
        _close(known, step, initial, carry, carried, final)
    _use_of_initial(known, step, before)
    for inner, outer in zip(loop.stacks, loop.stacked, strict=True):
        known.arrays[outer] = _lanes(known, step, outer, inner, 0, loop.length or 0)


def _carry(known: Keys, step: Step, initial: Value, carry: Value) -> np.ndarray | None:
    start = known.array(initial)
    shape = key_shape(carry)
    if start is None or shape is None:
        return known.fresh("unknown", carry, step) if is_typed(carry) else None
    typed = is_typed(carry)
    codes = np.empty(shape, np.int64)
    flat = start if typed else start[..., 0] // WORDS
    for position in np.ndindex(*shape):
        parent = known.made[int(flat[position])]
        key = known.key((carry, position), "carry", parents=(parent,), value=carry, step=step)
        codes[position] = key.number
    return codes if typed else words(codes, carry.shape[-1])


def _close(
    known: Keys, step: Step, initial: Value, carry: Value, carried: Value, final: Value
) -> None:
    """Say what becomes of a carried key."""
    codes, ends = known.array(carry), known.array(carried)
    if codes is None:
        return
    typed = is_typed(carry)
    starts = codes if typed else codes[..., 0] // WORDS
    same = ends is not None and (codes == ends).all()
    for position in np.ndindex(*starts.shape):
        key = known.made[int(starts[position])]
        end = None if ends is None else ends[position] if typed else ends[position][0] // WORDS
        known.carried[key] = None if end is None else known.made[int(end)]
    known.arrays[final] = known.array(initial) if same else _final(known, step, carry, final)


def _final(known: Keys, step: Step, carry: Value, final: Value) -> np.ndarray:
    """What a carried key has become after its loop."""
    codes, typed = known.array(carry), is_typed(final)
    assert codes is not None
    starts = codes if typed else codes[..., 0] // WORDS
    ends = np.empty(starts.shape, np.int64)
    for position in np.ndindex(*starts.shape):
        start = known.made[int(starts[position])]
        key = known.key((final, position), "final", parents=(start,), value=final, step=step)
        ends[position] = key.number
    return ends if typed else words(ends, final.shape[-1])


def _use_of_initial(known: Keys, step: Step, before: int) -> None:
    """A loop that consumes its carry consumes, at first, the key that it starts with."""
    consumed = dict.fromkeys(
        use.key for use in known.uses[before:] if use.key.kind == "carry" and use.key.step is step
    )
    known.uses += [Use(key.parents[0], "loop", step) for key in consumed]
    handed_on = [known.carried.get(key) for key in consumed]
    known.uses += [Use(key, "next", step) for key in handed_on if key and key not in consumed]


def _each(known: Keys, step: Step, outer: Value, inner: Value, axis: int) -> np.ndarray | None:
    """The keys of one lane or iteration."""
    codes = known.array(outer)
    if codes is None or key_shape(inner) is None:
        return known.fresh("unknown", inner, step) if is_typed(inner) else None
    codes = np.moveaxis(codes, axis, 0)
    if len(codes) and (codes == codes[0]).all():
        return codes[0]
    typed = is_typed(inner)
    numbers = codes if typed else codes[..., 0] // WORDS
    also = frozenset(known.variation.of(outer))
    each = np.empty(numbers.shape[1:], np.int64)
    for position in np.ndindex(*each.shape):
        column = numbers[(slice(None), *position)]
        key = known.key(
            (column.tobytes(), step),
            "each",
            parents=(known.made[int(column[0])],),
            index=(step, also),
            value=outer,
            step=step,
        )
        known._members[key] = frozenset(column.tolist())
        each[position] = key.number
    return each if typed else words(each, inner.shape[-1])


def _lanes(
    known: Keys, step: Step, outer: Value, inner: Value, axis: int, size: int
) -> np.ndarray | None:
    """The keys of all lanes or iterations, from those of one."""
    codes = known.array(inner)
    if codes is None or not may_hold_keys(outer) or codes.size * size > LIMIT:
        return known.fresh("unknown", outer, step) if is_typed(outer) else None
    typed = is_typed(outer)
    numbers = codes if typed else codes[..., 0] // WORDS
    lanes = np.empty((size, *numbers.shape), np.int64)
    for lane, *position in np.ndindex(*lanes.shape):
        key = known.made[int(numbers[tuple(position)])]
        if known.changes(key, step):
            key = known.key(
                (key, lane, step), "lane", parents=(key,), index=lane, value=outer, step=step
            )
        lanes[(lane, *position)] = key.number
    full = lanes if typed else words(lanes, inner.shape[-1])
    return np.moveaxis(full, 0, axis)


KINDS: dict[str, Callable[[Keys, Step], None]] = {
    "call": _call,
    "cond": _cond,
    "derive": _derive,
    "derivative": _derivative,
    "map": _map,
    "shard": _shard,
    "scan": _loop,
    "while": _loop,
}
