"""The identities of all keys of a program, and what consumes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..numbers import Numbers
from ..program import Body, Program, Step, Value
from ..variation import Variation
from .identity import LIMIT, WORDS, Clamped, Key, Use, is_typed, key_shape, words


class Keys:
    """The identities of all keys of a program, and their uses in its order."""

    def __init__(self, program: Program, variation: Variation):
        self.uses: list[Use] = []
        # Where a number is folded into a key, which does not consume it.
        self.folds: list[Use] = []
        self.clamped: list[Clamped] = []
        # Whether everything that takes a key is understood.
        self.complete: bool = True
        self.variation: Variation = variation
        self.numbers: Numbers = Numbers()
        self.made: list[Key] = []
        self._known: dict[Any, Key] = {}
        self.arrays: dict[Value, np.ndarray | None] = {}
        self._members: dict[Key, frozenset[int]] = {}
        self.carried: dict[Key, Key | None] = {}
        for value in program.body.inputs:
            self.arrays[value] = self.fresh("input", value)
        self.body(program.body)

    # --- what rules ask

    def of(self, value: Value) -> Key | None:
        """The identity of a value that is one key, typed or not."""
        codes = self.array(value)
        if codes is None or not codes.size:
            return None
        if is_typed(value):
            return self.made[int(codes.flat[0])] if codes.size == 1 else None
        key = self.made[int(codes.flat[0]) // WORDS]
        return key if codes.ndim == 1 else None

    def members(self, key: Key) -> frozenset[int]:
        """The numbers of the keys that a key of kind "each" stands for."""
        return self._members.get(key, frozenset())

    def children(self, key: Key) -> list[Key]:
        """The keys that splitting a key gave."""
        return [it for it in self.made if it.kind == "child" and it.parents[0] is key]

    def advances(self, carry: Key) -> bool:
        """Whether a carried key is another one in the next iteration."""
        return self.carried.get(carry) is not carry

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
            carried = self.carried.get(key)
            return any(
                self._changes(it, over, seen) for it in (*key.parents, carried) if it is not None
            )
        if key.kind == "each":
            return key.index[0] is over or over in key.index[1]
        if key.kind == "clone":  # one that each iteration makes may be used in each
            return key.step is not None and over in key.step.ancestors()
        if key.kind in ("folded", "seed", "picked", "choice") and any(
            self.variation.changes(it, over) for it in key.index[1]
        ):
            return True
        if key.kind in ("unknown", "final", "lane") and key.value is not None:
            return self.variation.changes(key.value, over)
        return any(self._changes(parent, over, seen) for parent in key.parents)

    # --- identities

    def key(self, identity: Any, kind: str, alias: str | None = None, **parts: Any) -> Key:
        """The key with this identity among those of its kind, made when it is first met."""
        known = (alias or kind, identity)
        found = self._known.get(known)
        if found is None:
            found = Key(len(self.made), kind, **parts)
            self._known[known] = found
            self.made.append(found)
        return found

    def fresh(self, kind: str, value: Value, step: Step | None = None) -> np.ndarray | None:
        """New identities for all keys in a value; `None` if it holds none, or too many."""
        shape = key_shape(value)
        if shape is None or np.prod(shape, dtype=int) > LIMIT:
            return None
        codes = np.empty(shape, np.int64)
        for position in np.ndindex(*shape):
            index = position if shape else None
            key = self.key((value, position), kind, index=index, value=value, step=step)
            codes[position] = key.number
        return codes if is_typed(value) else words(codes, value.shape[-1])

    def array(self, value: Value) -> np.ndarray | None:
        """The identities of the keys in a value, as an array; `None` if it holds none."""
        if value not in self.arrays:
            constant = value.constant is not None
            self.arrays[value] = self.fresh("constant", value) if constant else None
        return self.arrays[value]

    def keys_in(self, value: Value) -> list[Key] | None:
        """The keys in a typed array, in order."""
        codes = self.array(value)
        return None if codes is None else [self.made[int(code)] for code in codes.flat]

    # --- the walk

    def body(self, body: Body) -> None:
        """Follow the steps of a body."""
        from .boundaries import KINDS
        from .operations import RULES

        for step in body.steps:
            rule = KINDS.get(step.kind)
            if rule is not None:
                rule(self, step)
                continue
            rule = RULES.get(step.primitive)
            if rule is not None:
                rule(self, step)
            elif any(is_typed(it) or self.arrays.get(it) is not None for it in step.inputs):
                self.complete = False
            for value in step.outputs:
                if value not in self.arrays and key_shape(value) is not None and is_typed(value):
                    self.arrays[value] = self.fresh("unknown", value, step)

    def use(self, step: Step, kind: str) -> None:
        """Note that a step consumes the keys that it gets."""
        keys = self.keys_in(step.inputs[0])
        if keys is None:
            self.complete = False
            return
        self.uses += [Use(key, kind, step) for key in dict.fromkeys(keys)]

    def choice(
        self, step: Step, which: Value, out: Value, cases: Sequence[np.ndarray | None]
    ) -> np.ndarray | None:
        """One of several keys, by a value that is not known."""
        arrays = [case for case in cases if case is not None]
        if len(arrays) != len(cases) or not arrays:
            return self.fresh("unknown", out, step) if is_typed(out) else None
        number = self.numbers.identity(which)
        stacked = np.stack(arrays)
        if (stacked == stacked[0]).all():
            return stacked[0]
        typed = is_typed(out)
        options = stacked if typed else stacked[..., 0] // WORDS
        chosen = np.empty(options.shape[1:], np.int64)
        for position in np.ndindex(*chosen.shape):
            parents = tuple(self.made[int(code)] for code in options[(slice(None), *position)])
            identity = (number, parents, position if which.shape else ())
            key = self.key(identity, "choice", parents=parents, index=(number, (which,)), step=step)
            chosen[position] = key.number
        return chosen if typed else words(chosen, out.shape[-1])
