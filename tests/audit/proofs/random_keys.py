"""Random programs that split, fold, carry and map random keys, and what they do when they run.

A program is a text for JAX. It also runs in plain Python, on `PlainKeys` in place of `jax.random`
and with loops for `scan` and `vmap`: there a key is a number, and every use of one is recorded. A
key is mostly used once and dropped, so that many programs are right and many are wrong.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

HEADER = """\
import jax.numpy as jnp
from jax import vmap
from jax.lax import cond, fori_loop, scan, while_loop
from jax.random import fold_in, key, normal, split


"""
INPUTS = """

def inputs():
    return key(0), split(key(1), 3), 1.0
"""


class PlainKeys:
    """`split`, `fold_in` and `normal` on numbers in place of keys, and how often each is used."""

    def __init__(self) -> None:
        self.used: Counter[int] = Counter()
        self._known: dict[tuple[int, int], int] = {}

    def _child(self, key: Any, number: int) -> int:
        return self._known.setdefault((int(key), number), 1000 + len(self._known))

    def split(self, key: Any, num: int = 2) -> np.ndarray:
        self.used[int(key)] += 1
        return np.array([self._child(key, number) for number in range(num)])

    def fold_in(self, key: Any, number: Any) -> np.int64:
        # The same key as that child of a split, as in JAX.
        return np.int64(self._child(key, int(number)))

    def normal(self, key: Any) -> float:
        self.used[int(key)] += 1
        return 0.0


def _stacked(rows: list[Any]) -> Any:
    if isinstance(rows[0], tuple):
        return tuple(map(_stacked, zip(*rows, strict=True)))
    return np.stack(rows)


def _scan(body: Any, carry: Any, xs: Any, length: int | None = None) -> tuple[Any, Any]:
    rows: list[Any] = []
    for x in [None] * (length or 0) if xs is None else xs:
        carry, row = body(carry, x)
        rows.append(row)
    return carry, _stacked(rows) if rows and rows[0] is not None else None


def _fori_loop(low: int, high: int, body: Any, carry: Any) -> Any:
    for number in range(low, high):
        carry = body(number, carry)
    return carry


def _while_loop(condition: Any, body: Any, carry: Any) -> Any:
    while condition(carry):
        carry = body(carry)
    return carry


def _vmap(function: Any) -> Any:
    return lambda *args: _stacked([function(*lane) for lane in zip(*args, strict=True)])


def used_in_python(program: str, flag: float) -> Counter[int]:
    """How often each key is consumed when a program runs."""
    keys = PlainKeys()
    names: dict[str, Any] = {
        "jnp": SimpleNamespace(**vars(np)),
        "split": keys.split,
        "fold_in": keys.fold_in,
        "normal": keys.normal,
        "scan": _scan,
        "fori_loop": _fori_loop,
        "while_loop": _while_loop,
        "vmap": _vmap,
        "cond": lambda flag, one, other, *args: one(*args) if flag else other(*args),
    }
    exec(program, names)
    names["entry"](np.int64(0), np.array([1, 2, 3]), flag)
    return keys.used


class _Writer:
    """Writes one program, choosing by what hypothesis draws."""

    def __init__(self, draw: st.DrawFn):
        self._draw, self._count = draw, 0
        self.lines: list[str] = []

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def take(self, keys: list[str]) -> str:
        """A key, which is dropped in most cases."""
        at = self.number(0, len(keys) - 1)
        return keys[at] if self.number(0, 11) == 11 else keys.pop(at)

    def block(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        """Some statements on keys, arrays of three keys, and the counters of loops around."""
        writers = [self._draws, self._splits, self._split_many, self._folds, self._index]
        if counters:
            writers.append(self._index_by_counter)
        if depth < 4:
            writers += [self._fori, self._scan, self._vmap, self._cond, self._while]
        for _ in range(self.number(1, 4)):
            if not keys and arrays:
                self._index(depth, keys, arrays, counters)
            if not keys:
                return
            writers[self.number(0, len(writers) - 1)](depth, keys, arrays, counters)

    def _draws(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        self.line(depth, f"total = total + normal({self.take(keys)})")

    def _splits(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        one, other = self.name("k"), self.name("k")
        self.line(depth, f"{one}, {other} = split({self.take(keys)})")
        keys += [one, other]

    def _split_many(self, depth: int, keys: list[str], arrays: list[str], _: list[str]) -> None:
        name = self.name("a")
        how = ("", "[::-1]", ".reshape(3, 1)[:, 0]")[self.number(0, 2)]
        self.line(depth, f"{name} = split({self.take(keys)}, 3){how}")
        arrays.append(name)

    def _index(self, depth: int, keys: list[str], arrays: list[str], _: list[str]) -> None:
        if not arrays:
            return
        array = arrays.pop(self.number(0, len(arrays) - 1))
        if self.number(0, 2) == 0 and len(keys) > 1:
            joined = self.name("a")
            self.line(
                depth,
                f"{joined} = jnp.concatenate([{array}[:1], jnp.stack([{self.take(keys)}, "
                f"{self.take(keys) if keys else array + '[1]'}])])",
            )
            arrays.append(joined)
            return
        chosen = [self.number(0, 2)] if self.number(0, 1) else [0, 1, 2]
        if self.number(0, 11) == 11:
            arrays.append(array)
        for index in chosen:
            name = self.name("k")
            self.line(depth, f"{name} = {array}[{index}]")
            keys.append(name)

    def _index_by_counter(
        self, depth: int, keys: list[str], arrays: list[str], counters: list[str]
    ) -> None:
        if not arrays:
            return
        name, counter = self.name("k"), counters[self.number(0, len(counters) - 1)]
        index = (counter, f"2 - {counter}", f"{counter} // 2")[self.number(0, 2)]
        self.line(depth, f"{name} = {arrays[self.number(0, len(arrays) - 1)]}[{index}]")
        keys.append(name)

    def _folds(self, depth: int, keys: list[str], _: list[str], counters: list[str]) -> None:
        key, name = keys[self.number(0, len(keys) - 1)], self.name("k")
        numbers = ["0", "1", *counters, *counters, *(f"{it} + 1" for it in counters)]
        numbers += [f"{it} // 2" for it in counters]
        if self.number(0, 5) < 5:
            keys.remove(key)
        self.line(depth, f"{name} = fold_in({key}, {numbers[self.number(0, len(numbers) - 1)]})")
        keys.append(name)

    def _body(
        self, depth: int, keys: list[str], given: list[str], counter: str, arrays: list[str]
    ) -> str:
        """The statements of a loop's body; returns the key that it hands to the next iteration.

        Keys and arrays from outside are in its reach, and mostly left alone.
        """
        own = [*given, *(keys if self.number(0, 5) == 5 else [])]
        captured = [*arrays] if self.number(0, 3) == 3 else []
        self.block(depth, own, captured, [counter] if counter else [])
        return self.take(own) if own else given[0]

    def _fori(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        body, inner, outer, index = (self.name(it) for it in "fkki")
        self.line(depth, f"def {body}({index}, carry):")
        self.line(depth + 1, f"{inner}, total = carry")
        start = self.take(keys)
        handed = self._body(depth + 1, keys, [inner], index, arrays)
        self.line(depth + 1, f"return {handed}, total")
        self.line(depth, f"{outer}, total = fori_loop(0, 3, {body}, ({start}, total))")
        keys.append(outer)

    def _while(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        body, inner, outer, index = (self.name(it) for it in "fkki")
        self.line(depth, f"def {body}(carry):")
        self.line(depth + 1, f"{index}, {inner}, total = carry")
        start = self.take(keys)
        handed = self._body(depth + 1, keys, [inner], index, arrays)
        self.line(depth + 1, f"return {index} + 1, {handed}, total")
        loop = f"while_loop(lambda it: it[0] < 2, {body}, (0, {start}, total))"
        self.line(depth, f"_, {outer}, total = {loop}")
        keys.append(outer)

    def _scan(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        body, inner, outer, row = (self.name(it) for it in "fkkx")
        over_keys = bool(arrays) and self.number(0, 1) == 1
        self.line(depth, f"def {body}(carry, {row}):")
        self.line(depth + 1, f"{inner}, total = carry")
        start = self.take(keys)
        given = [inner, row] if over_keys else [inner]
        own = [*given, *(keys if self.number(0, 5) == 5 else [])]
        self.block(depth + 1, own, [], [] if over_keys else [row])
        handed = self.take(own) if own else inner
        out = self.take(own) if own and self.number(0, 2) == 0 else None
        self.line(depth + 1, f"return ({handed}, total), {out}")
        xs = "jnp.arange(3)"
        if over_keys:
            at = self.number(0, len(arrays) - 1)
            xs = arrays[at] if self.number(0, 11) == 11 else arrays.pop(at)
        stacked = self.name("a") if out else "_"
        self.line(depth, f"({outer}, total), {stacked} = scan({body}, ({start}, total), {xs})")
        keys.append(outer)
        if out:
            arrays.append(stacked)

    def _vmap(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        if not arrays:
            return
        body, inner, lane, stacked, index = (self.name(it) for it in "fklai")
        at = self.number(0, len(arrays) - 1)
        array = arrays[at] if self.number(0, 11) == 11 else arrays.pop(at)
        self.line(depth, f"def {body}({inner}, {index}):")
        self.line(depth + 1, "total = 0.0")
        handed = self._body(depth + 1, keys, [inner], index, arrays)
        self.line(depth + 1, f"return total, {handed}")
        self.line(depth, f"{lane}, {stacked} = vmap({body})({array}, jnp.arange(3))")
        self.line(depth, f"total = total + jnp.sum({lane})")
        if self.number(0, 1):
            arrays.append(stacked)

    def _cond(self, depth: int, keys: list[str], arrays: list[str], counters: list[str]) -> None:
        names = [self.name("f"), self.name("f")]
        key, outer = self.take(keys), self.name("k")
        for name in names:
            inner = self.name("k")
            self.line(depth, f"def {name}({inner}, total):")
            handed = self._body(depth + 1, keys, [inner], "", arrays)
            self.line(depth + 1, f"return {handed}, total")
        left = "_" if self.number(0, 3) else outer
        call = f"cond(flag > 0, {names[0]}, {names[1]}, {key}, total)"
        self.line(depth, f"{left}, total = {call}")
        if left == outer:
            keys.append(outer)


@st.composite
def key_programs(draw: st.DrawFn) -> str:
    """The text of a program with an `entry` of a key, three keys, and a number."""
    writer = _Writer(draw)
    writer.line(0, "def entry(key0, keys0, flag):")
    writer.line(1, "total = 0.0")
    writer.block(1, ["key0"], ["keys0"], [])
    writer.line(1, "return total")
    return "\n".join(writer.lines)
