"""Which random key is which: identities of keys through a program, and what consumes them.

Every element of a key array has an identity (`Key`): an input, the i-th child of a split, what
`fold_in` makes of a key and a number, a lane of an array that is mapped over. Equal identities are
equal keys. Arrays of keys are arrays of identities, so that slicing, stacking and broadcasting keys
is slicing, stacking and broadcasting identities. Keys of the old style (two words of `uint32`) are
followed word by word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import jax
import numpy as np

from .moves import MOVES
from .numbers import Numbers
from .program import Body, Loop, Mapping, Program, Sharding, Step, Value
from .variation import Variation

# Of larger arrays no element is told from another.
_LIMIT = 4096
# The word `w` of key `k` is the number `k * _WORDS + w`.
_WORDS = 8


@dataclass(eq=False, frozen=True)
class Key:
    """An identity of a key.

    `kind` says how it comes about: "input", "constant", "seed", "child" (of a split), "folded",
    "each" (lane or iteration of an array of keys), "carry", "final" (a carry after its loop),
    "lane" (of a result of a map or loop), "picked" (with an index that is not known), "choice"
    (one of several), "unknown". `index` is the child's number. `step` made it.
    """

    number: int
    kind: str
    parents: tuple[Key, ...] = ()
    index: Any = None
    value: Value | None = None
    step: Step | None = None

    def line(self) -> list[Key]:
        """This key and the keys that it is derived from, nearest first; the first parent only."""
        found: list[Key] = [self]
        while found[-1].parents:
            found.append(found[-1].parents[0])
        return found


@dataclass(frozen=True, eq=False)
class Use:
    """A step that consumes a key.

    Its `kind` is "draw", "split", "loop" (which does so in its first iteration), or "next": a loop
    hands the key on, and the next iteration consumes it.
    """

    key: Key
    kind: str
    step: Step


@dataclass(frozen=True, eq=False)
class Clamped:
    """An index beyond the end of an array of keys: JAX takes the last key instead."""

    step: Step
    index: int
    count: int
    keys: tuple[Key, ...]


class Keys:
    """The identities of all keys of a program, and their uses in its order."""

    def __init__(self, program: Program, variation: Variation):
        self.uses: list[Use] = []
        self.clamped: list[Clamped] = []
        # Whether everything that takes a key is understood.
        self.complete: bool = True
        self._variation = variation
        self._numbers = Numbers()
        self._keys: list[Key] = []
        self._known: dict[Any, Key] = {}
        self._arrays: dict[Value, np.ndarray | None] = {}
        self._members: dict[Key, frozenset[int]] = {}
        self._carried: dict[Key, Key | None] = {}
        for value in program.body.inputs:
            self._arrays[value] = self._fresh("input", value)
        self._body(program.body)

    # --- what rules ask

    def of(self, value: Value) -> Key | None:
        """The identity of a value that is one key, typed or not."""
        codes = self._array(value)
        if codes is None or not codes.size:
            return None
        if is_typed(value):
            return self._keys[int(codes.flat[0])] if codes.size == 1 else None
        key = self._keys[int(codes.flat[0]) // _WORDS]
        return key if codes.ndim == 1 else None

    def members(self, key: Key) -> frozenset[int]:
        """The numbers of the keys that a key of kind "each" stands for."""
        return self._members.get(key, frozenset())

    def children(self, key: Key) -> list[Key]:
        """The keys that splitting a key gave."""
        return [it for it in self._keys if it.kind == "child" and it.parents[0] is key]

    def advances(self, carry: Key) -> bool:
        """Whether a carried key is another one in the next iteration."""
        return self._carried.get(carry) is not carry

    def changes(self, key: Key, over: Step) -> bool:
        """Whether a key differs between iterations, lanes or shards of a step."""
        return self._changes(key, over, set())

    def _changes(self, key: Key, over: Step, seen: set[Key]) -> bool:
        if key in seen:
            return False
        seen.add(key)
        if key.kind == "carry":
            if key.step is over and self.advances(key):
                return True
            carried = self._carried.get(key)
            return any(
                self._changes(it, over, seen) for it in (*key.parents, carried) if it is not None
            )
        if key.kind == "each":
            return key.index[0] is over or over in key.index[1]
        if key.kind in ("folded", "seed", "picked", "choice") and any(
            self._variation.changes(it, over) for it in key.index[1]
        ):
            return True
        if key.kind in ("unknown", "final", "lane") and key.value is not None:
            return self._variation.changes(key.value, over)
        return any(self._changes(parent, over, seen) for parent in key.parents)

    # --- identities

    def _key(self, identity: Any, kind: str, alias: str | None = None, **parts: Any) -> Key:
        """The key with this identity among those of its kind, made when it is first met."""
        known = (alias or kind, identity)
        found = self._known.get(known)
        if found is None:
            found = Key(len(self._keys), kind, **parts)
            self._known[known] = found
            self._keys.append(found)
        return found

    def _fresh(self, kind: str, value: Value, step: Step | None = None) -> np.ndarray | None:
        """New identities for all keys in a value; `None` if it holds none, or too many."""
        shape = key_shape(value)
        if shape is None or np.prod(shape, dtype=int) > _LIMIT:
            return None
        codes = np.empty(shape, np.int64)
        for position in np.ndindex(*shape):
            index = position if shape else None
            key = self._key((value, position), kind, index=index, value=value, step=step)
            codes[position] = key.number
        return codes if is_typed(value) else _words(codes, value.shape[-1])

    def _array(self, value: Value) -> np.ndarray | None:
        if value not in self._arrays:
            constant = value.constant is not None
            self._arrays[value] = self._fresh("constant", value) if constant else None
        return self._arrays[value]

    def keys_in(self, value: Value) -> list[Key] | None:
        """The keys in a typed array, in order."""
        codes = self._array(value)
        return None if codes is None else [self._keys[int(code)] for code in codes.flat]

    # --- the walk

    def _body(self, body: Body) -> None:
        for step in body.steps:
            kind = self._KINDS.get(step.kind)
            if kind is not None:
                kind(self, step)
            else:
                self._operation(step)

    def _operation(self, step: Step) -> None:
        rule = self._RULES.get(step.primitive)
        if rule is not None:
            rule(self, step)
        elif any(is_typed(value) for value in step.inputs):
            self.complete = False
        for value in step.outputs:
            if value not in self._arrays and key_shape(value) is not None and is_typed(value):
                self._arrays[value] = self._fresh("unknown", value, step)

    def _use(self, step: Step, kind: str) -> None:
        keys = self.keys_in(step.inputs[0])
        if keys is None:
            self.complete = False
            return
        self.uses += [Use(key, kind, step) for key in dict.fromkeys(keys)]

    def _draw(self, step: Step) -> None:
        self._use(step, "draw")

    def _split(self, step: Step) -> None:
        parents = self._array(step.inputs[0])
        out = step.outputs[0]
        self._use(step, "split")
        if parents is None or np.prod(out.shape, dtype=int) > _LIMIT:
            self._arrays[out] = self._fresh("unknown", out, step)
            return
        shape = tuple(step.params["shape"])
        codes = np.empty((*parents.shape, *shape), np.int64)
        for position in np.ndindex(*codes.shape):
            parent = self._keys[int(parents[position[: parents.ndim]])]
            child = int(np.ravel_multi_index(position[parents.ndim :], shape)) if shape else 0
            key = self._key((parent, child), "child", parents=(parent,), index=child, step=step)
            codes[position] = key.number
        self._arrays[out] = codes

    def _fold_in(self, step: Step) -> None:
        parents, data, out = self._array(step.inputs[0]), step.inputs[1], step.outputs[0]
        if parents is None or parents.shape != out.shape:
            self._arrays[out] = self._fresh("unknown", out, step)
            return
        number = self._numbers.identity(data)
        constant = self._numbers.constant(data)
        is_child = constant is not None and _folds_like_splits(out)
        codes = np.empty(parents.shape, np.int64)
        for position in np.ndindex(*codes.shape):
            parent = self._keys[int(parents[position])]
            key = self._key(
                (parent, constant)
                if is_child
                else (parent, number, position if data.shape else ()),
                "folded",
                alias="child" if is_child else None,
                parents=(parent,),
                index=(number, (data,)),
                step=step,
            )
            codes[position] = key.number
        self._arrays[out] = codes

    def _seed(self, step: Step) -> None:
        (seed,), out = step.inputs, step.outputs[0]
        number = self._numbers.identity(seed)
        if out.shape:
            self._arrays[out] = self._fresh("unknown", out, step)
            return
        key = self._key(number, "seed", index=(number, (seed,)), step=step)
        self._arrays[out] = np.array(key.number)

    def _wrap(self, step: Step) -> None:
        words, out = self._array(step.inputs[0]), step.outputs[0]
        if words is None:
            return
        first = words[..., 0]
        if (words == _words(first // _WORDS, words.shape[-1])).all():
            self._arrays[out] = first // _WORDS

    def _unwrap(self, step: Step) -> None:
        codes, out = self._array(step.inputs[0]), step.outputs[0]
        self._arrays[out] = None if codes is None else _words(codes, out.shape[-1])

    def _structural(self, step: Step) -> None:
        """An operation that moves elements and makes none."""
        if not any(_may_hold_keys(value) for value in step.outputs):
            return
        codes = [self._array(value) for value in step.inputs]
        if not codes or any(code is None for code in codes):
            return
        moved = MOVES[step.primitive](step.params, *codes)
        several = moved if isinstance(moved, list) else [moved]
        for out, part in zip(step.outputs, several, strict=True):
            self._arrays[out] = part if part.size <= _LIMIT * _WORDS else None

    def _dynamic_slice(self, step: Step) -> None:
        codes = self._array(step.inputs[0])
        if codes is None:
            return
        sizes = tuple(step.params["slice_sizes"])
        starts = [self._numbers.constant(value) for value in step.inputs[1:]]
        if any(start is None for start in starts):
            self._pick(step, codes, step.inputs[1:])
            return
        limits = [size - cut for size, cut in zip(codes.shape, sizes, strict=True)]
        clipped = [
            min(max(int(start or 0), 0), limit) for start, limit in zip(starts, limits, strict=True)
        ]
        taken = codes[tuple(slice(a, a + n) for a, n in zip(clipped, sizes, strict=True))]
        self._arrays[step.outputs[0]] = taken
        if int(starts[0] or 0) > limits[0]:
            self._note_clamped(step, int(starts[0] or 0), codes.shape[0], taken)

    def _gather(self, step: Step) -> None:
        codes = self._array(step.inputs[0])
        if codes is None:
            return
        out, indices = step.outputs[0], step.inputs[1]
        numbers = step.params["dimension_numbers"]
        along_first = tuple(numbers.start_index_map) == (0,) == tuple(
            numbers.collapsed_slice_dims
        ) and not getattr(numbers, "operand_batching_dims", ())
        index = self._numbers.constant(indices)
        if along_first and index is not None and out.shape == codes.shape[1:]:
            last = codes.shape[0] - 1
            taken = codes[min(max(int(index), 0), last)]
            self._arrays[out] = taken
            if int(index) > last:
                self._note_clamped(step, int(index), codes.shape[0], taken)
            return
        self._pick(step, codes, [indices])

    def _pick(self, step: Step, codes: np.ndarray, indices: Sequence[Value]) -> None:
        """Elements at indices that are not known: the same indices pick the same keys."""
        out = step.outputs[0]
        shape = key_shape(out)
        if shape is None or np.prod(shape, dtype=int) > _LIMIT:
            return
        numbers = tuple(self._numbers.identity(value) for value in indices)
        typed = is_typed(out)
        parents = tuple(
            self._keys[int(code)]
            for code in dict.fromkeys((codes if typed else codes // _WORDS).flat)
        )
        picked = np.empty(shape, np.int64)
        for position in np.ndindex(*shape):
            key = self._key(
                (parents, numbers, position, shape),
                "picked",
                parents=parents,
                index=(numbers, tuple(indices)),
                step=step,
            )
            picked[position] = key.number
        self._arrays[out] = picked if typed else _words(picked, out.shape[-1])
        self._check_counter(step, indices[0], codes.shape[0], parents)

    def _check_counter(self, step: Step, index: Value, count: int, keys: tuple[Key, ...]) -> None:
        last = last_of_counter(index)
        if last is not None and last >= count:
            self.clamped.append(Clamped(step, last, count, keys))

    def _note_clamped(self, step: Step, index: int, count: int, taken: np.ndarray) -> None:
        codes = taken if is_typed(step.outputs[0]) else taken // _WORDS
        keys = tuple(self._keys[int(code)] for code in dict.fromkeys(codes.flat))
        self.clamped.append(Clamped(step, index, count, keys))

    def _select(self, step: Step) -> None:
        which, *cases = step.inputs
        if _may_hold_keys(step.outputs[0]):
            self._arrays[step.outputs[0]] = self._choice(
                step, which, step.outputs[0], [self._array(case) for case in cases]
            )

    def _choice(
        self, step: Step, which: Value, out: Value, cases: Sequence[np.ndarray | None]
    ) -> np.ndarray | None:
        arrays = [case for case in cases if case is not None]
        if len(arrays) != len(cases) or not arrays:
            return self._fresh("unknown", out, step) if is_typed(out) else None
        number = self._numbers.identity(which)
        stacked = np.stack(arrays)
        if (stacked == stacked[0]).all():
            return stacked[0]
        typed = is_typed(out)
        options = stacked if typed else stacked[..., 0] // _WORDS
        chosen = np.empty(options.shape[1:], np.int64)
        for position in np.ndindex(*chosen.shape):
            parents = tuple(self._keys[int(code)] for code in options[(slice(None), *position)])
            identity = (number, parents, position if which.shape else ())
            key = self._key(
                identity, "choice", parents=parents, index=(number, (which,)), step=step
            )
            chosen[position] = key.number
        return chosen if typed else _words(chosen, out.shape[-1])

    # --- boundaries

    def _call(self, step: Step) -> None:
        self._body(step.bodies[0])

    def _cond(self, step: Step) -> None:
        for branch in step.bodies:
            self._body(branch)
        for index, out in enumerate(step.outputs):
            if _may_hold_keys(out):
                cases = [self._array(branch.outputs[index]) for branch in step.bodies]
                self._arrays[out] = self._choice(step, step.inputs[0], out, cases)

    def _derivative(self, step: Step) -> None:
        """The derivative of what was drawn already: it takes the keys along, and uses none."""

    def _derive(self, step: Step) -> None:
        for outer, inner in step.detail.differentiated:
            self._arrays[inner] = self._array(outer)
        self._body(step.bodies[0])

    def _map(self, step: Step) -> None:
        mapping: Mapping = step.detail
        for outer, inner, axis in mapping.mapped:
            self._arrays[inner] = self._each(step, outer, inner, axis)
        self._body(step.bodies[0])
        for outer, inner, axis in mapping.results:
            if axis is None:
                self._arrays[outer] = self._array(inner)
            else:
                self._arrays[outer] = self._lanes(step, outer, inner, axis, mapping.size)

    def _shard(self, step: Step) -> None:
        sharding: Sharding = step.detail
        for outer, inner, _ in sharding.inputs:
            if outer is not inner:
                self._arrays[inner] = self._fresh("unknown", inner, step)
        self._body(step.bodies[0])
        for outer, _, _ in sharding.outputs:
            self._arrays[outer] = self._fresh("unknown", outer, step)

    def _loop(self, step: Step) -> None:
        loop: Loop = step.detail
        for outer, inner in zip(loop.scanned, loop.slices, strict=True):
            self._arrays[inner] = self._each(step, outer, inner, 0)
        for initial, carry in zip(loop.initial, loop.carry, strict=True):
            self._arrays[carry] = self._carry(step, initial, carry)
        before = len(self.uses)
        for body in step.bodies:
            self._body(body)
        for initial, carry, carried, final in zip(
            loop.initial, loop.carry, loop.carried, loop.final, strict=True
        ):
            self._close(step, initial, carry, carried, final)
        self._use_of_initial(step, before)
        for inner, outer in zip(loop.stacks, loop.stacked, strict=True):
            self._arrays[outer] = self._lanes(step, outer, inner, 0, loop.length or 0)

    def _carry(self, step: Step, initial: Value, carry: Value) -> np.ndarray | None:
        start = self._array(initial)
        shape = key_shape(carry)
        if start is None or shape is None:
            return self._fresh("unknown", carry, step) if is_typed(carry) else None
        typed = is_typed(carry)
        codes = np.empty(shape, np.int64)
        flat = start if typed else start[..., 0] // _WORDS
        for position in np.ndindex(*shape):
            parent = self._keys[int(flat[position])]
            key = self._key((carry, position), "carry", parents=(parent,), value=carry, step=step)
            codes[position] = key.number
        return codes if typed else _words(codes, carry.shape[-1])

    def _close(
        self, step: Step, initial: Value, carry: Value, carried: Value, final: Value
    ) -> None:
        """Say what becomes of a carried key."""
        codes, ends = self._array(carry), self._array(carried)
        if codes is None:
            return
        typed = is_typed(carry)
        starts = codes if typed else codes[..., 0] // _WORDS
        same = ends is not None and (codes == ends).all()
        for position in np.ndindex(*starts.shape):
            key = self._keys[int(starts[position])]
            end = None if ends is None else ends[position] if typed else ends[position][0] // _WORDS
            self._carried[key] = None if end is None else self._keys[int(end)]
        self._arrays[final] = self._array(initial) if same else self._fresh("final", final, step)

    def _use_of_initial(self, step: Step, before: int) -> None:
        """A loop that consumes its carry consumes, at first, the key that it starts with."""
        consumed = dict.fromkeys(
            use.key
            for use in self.uses[before:]
            if use.key.kind == "carry" and use.key.step is step and use.kind != "loop"
        )
        self.uses += [Use(key.parents[0], "loop", step) for key in consumed]
        handed_on = [self._carried.get(key) for key in consumed]
        self.uses += [Use(key, "next", step) for key in handed_on if key and key not in consumed]

    def _each(self, step: Step, outer: Value, inner: Value, axis: int) -> np.ndarray | None:
        """The keys of one lane or iteration."""
        codes = self._array(outer)
        if codes is None or key_shape(inner) is None:
            return self._fresh("unknown", inner, step) if is_typed(inner) else None
        codes = np.moveaxis(codes, axis, 0)
        if len(codes) and (codes == codes[0]).all():
            return codes[0]
        typed = is_typed(inner)
        numbers = codes if typed else codes[..., 0] // _WORDS
        also = frozenset(self._variation.of(outer))
        each = np.empty(numbers.shape[1:], np.int64)
        for position in np.ndindex(*each.shape):
            column = numbers[(slice(None), *position)]
            key = self._key(
                (column.tobytes(), step),
                "each",
                parents=(self._keys[int(column[0])],),
                index=(step, also),
                value=outer,
                step=step,
            )
            self._members[key] = frozenset(column.tolist())
            each[position] = key.number
        return each if typed else _words(each, inner.shape[-1])

    def _lanes(
        self, step: Step, outer: Value, inner: Value, axis: int, size: int
    ) -> np.ndarray | None:
        """The keys of all lanes or iterations, from those of one."""
        codes = self._array(inner)
        if codes is None or not _may_hold_keys(outer) or codes.size * size > _LIMIT:
            return self._fresh("unknown", outer, step) if is_typed(outer) else None
        typed = is_typed(outer)
        numbers = codes if typed else codes[..., 0] // _WORDS
        lanes = np.empty((size, *numbers.shape), np.int64)
        for lane, *position in np.ndindex(*lanes.shape):
            key = self._keys[int(numbers[tuple(position)])]
            if self.changes(key, step):
                key = self._key(
                    (key, lane, step), "lane", parents=(key,), index=lane, value=outer, step=step
                )
            lanes[(lane, *position)] = key.number
        full = lanes if typed else _words(lanes, inner.shape[-1])
        return np.moveaxis(full, 0, axis)

    _RULES: ClassVar[dict[str, Callable[[Keys, Step], None]]] = {
        "random_bits": _draw,
        "random_gamma": _draw,
        "random_split": _split,
        "random_fold_in": _fold_in,
        "random_seed": _seed,
        "random_wrap": _wrap,
        "random_unwrap": _unwrap,
        "dynamic_slice": _dynamic_slice,
        "gather": _gather,
        "select_n": _select,
        **dict.fromkeys(MOVES, _structural),
    }

    _KINDS: ClassVar[dict[str, Callable[[Keys, Step], None]]] = {
        "call": _call,
        "cond": _cond,
        "derive": _derive,
        "derivative": _derivative,
        "map": _map,
        "shard": _shard,
        "scan": _loop,
        "while": _loop,
    }


def is_typed(value: Value) -> bool:
    """Whether a value holds keys of the new style."""
    return _dtype_name(value.dtype).startswith("key<")


@cache
def _dtype_name(dtype: Any) -> str:
    return str(dtype)


def _folds_like_splits(value: Value) -> bool:
    """Whether `fold_in(key, i)` is the same key as `split(key)[i]`, as it is by default."""
    partitionable = getattr(jax.config, "jax_threefry_partitionable", True)
    return bool(partitionable) and _dtype_name(value.dtype) == "key<fry>"


def key_shape(value: Value) -> tuple[int, ...] | None:
    """The shape of an array of keys, without their words; `None` if it holds no whole keys."""
    if is_typed(value):
        return value.shape
    if _dtype_name(value.dtype) == "uint32" and value.shape and value.shape[-1] in (2, 4):
        return value.shape[:-1]
    return None


def _may_hold_keys(value: Value) -> bool:
    return is_typed(value) or _dtype_name(value.dtype) == "uint32"


def _words(numbers: np.ndarray, count: int) -> np.ndarray:
    return numbers[..., None] * _WORDS + np.arange(count)


def last_of_counter(index: Value) -> int | None:
    """The largest number that an index reaches, if it counts the iterations of a scan from zero."""
    while index.producer is not None and index.producer.kind == "operation":
        step = index.producer
        if step.primitive in ("convert_element_type", "squeeze", "reshape", "broadcast_in_dim"):
            index = step.inputs[0]
        elif step.primitive == "select_n" and len(step.inputs) == 3:
            index = step.inputs[1]  # JAX's own `i + n` where `i` is negative
        else:
            return None
    step = index.producer
    if step is None or not isinstance(step.detail, Loop):
        return None
    loop = step.detail
    for slices, scanned in zip(loop.slices, loop.scanned, strict=True):
        if slices is index and scanned.producer is not None:
            is_range = scanned.producer.primitive == "iota" and len(scanned.shape) == 1
            return scanned.shape[0] - 1 if is_range else None
    for carry, initial, carried in zip(loop.carry, loop.initial, loop.carried, strict=True):
        if carry is index and loop.length is not None and _counts_up(carry, carried):
            start = Numbers().constant(initial)
            return None if start is None else int(start) + loop.length - 1
    return None


def _counts_up(carry: Value, carried: Value) -> bool:
    step = carried.producer
    if step is None or step.primitive != "add" or carry not in step.inputs:
        return False
    other = next((it for it in step.inputs if it is not carry), None)
    return other is not None and Numbers().constant(other) == 1
