"""Inputs as they are written on the command line: `--in 'obs=f32[batch=8,time=16] in 0..1'`.

    NAME=DTYPE[AXES]            f32[batch=8,time=16]   f32[8,16]   i32[]   bf16[batch,time=16]
    NAME=DTYPE[AXES] in LO..HI  u8[h=84,w=84] in 0..255
    NAME=key[AXES]              random keys; prng[AXES] for keys that are plain integers
    NAME=VALUE                  a Python number, string, tuple…, passed as it is

An axis is a size, a name with a size, or a name whose size `--dim NAME=SIZE` gives. A name may lead
into a container: `params.w1`, `params['w1']`, `batch[0]`. Nothing here imports JAX.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import UsageError

DTYPES = {
    "bool": "bool",
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"c{bits}": f"complex{bits}" for bits in (64, 128)},
    "key": "key",
    "prng": "prng",
}
# The first dot of the two in a range ends a number.
_NUMBER = r"[+-]?(\d[\d_]*(\.(?!\.)\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?inf\b|[+-]?pi\b"
# No size of an array and no bound of an integer has more.
_MOST_DIGITS = 20
_LONG = {long: long for long in DTYPES.values()}


@dataclass(frozen=True)
class ArraySpec:
    """An array: its dtype (or "key", "prng"), sizes, names of axes ("" for none) and bounds."""

    dtype: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    low: float | int | None = None
    high: float | int | None = None


@dataclass(frozen=True)
class ValueSpec:
    """A Python value that is passed as it is."""

    value: Any


Path = tuple[str | int, ...]


@dataclass(frozen=True)
class InputSpec:
    """What one `--in` says: a parameter, the way into it, and what is there."""

    text: str
    parameter: str
    path: Path
    spec: ArraySpec | ValueSpec


def parse_dims(texts: Sequence[str]) -> dict[str, int]:
    """Sizes from `--dim NAME=SIZE`.

    Raises:
        UsageError: One is not of that form.
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, equals, size = (part.strip() for part in text.partition("="))
        if not equals or not name.isidentifier() or not size.isdecimal():
            raise UsageError(f"--dim {text!r}: write NAME=SIZE, as in --dim batch=8")
        if len(size) > _MOST_DIGITS:
            raise UsageError(f"--dim {text!r}: no axis is that long")
        if dims.setdefault(name, int(size)) != int(size):
            raise UsageError(f"--dim {text!r}: {name} is already {dims[name]}")
    return dims


def parse_inputs(texts: Sequence[str], dims: Mapping[str, int]) -> tuple[InputSpec, ...]:
    """Inputs from `--in NAME=SPEC`, each at most once.

    Raises:
        UsageError: One is not of that form, or two say the same place.
    """
    found: dict[tuple[str, Path], InputSpec] = {}
    for text in texts:
        spec = parse_input(text, dims)
        other = found.setdefault((spec.parameter, spec.path), spec)
        if other is not spec:
            raise UsageError(f"--in {text!r}: already given as {other.text!r}")
    return tuple(found.values())


def parse_input(text: str, dims: Mapping[str, int]) -> InputSpec:
    """One input from `NAME=SPEC`."""
    return _Parser(text, dims).input()


class _Parser:
    """Reads one `--in` from left to right, and knows where it is when it has to complain."""

    def __init__(self, text: str, dims: Mapping[str, int]):
        self._text = text
        self._dims = dims
        self._at = 0

    def input(self) -> InputSpec:
        parameter = self._match(r"[^\W\d]\w*")
        if parameter is None:
            raise self._error("expected the name of a parameter, as in x=f32[batch=8]")
        path = self._path()
        if self._match("=") is None:
            raise self._error("expected = and what the input is, as in x=f32[batch=8]")
        return InputSpec(self._text, parameter, path, self._spec())

    def _path(self) -> Path:
        path: list[str | int] = []
        while True:
            if self._match(r"\.") is not None:
                name = self._match(r"[^\W\d]\w*")
                if name is None:
                    raise self._error("expected a name after the dot, as in params.w")
                path.append(name)
            elif self._match(r"\[") is not None:
                key = self._match(r"\d+|'[^']*'|\"[^\"]*\"")
                if key is None or self._match(r"\]") is None:
                    raise self._error("expected [0] or ['name']")
                path.append(self._whole(key) if key.isdecimal() else key[1:-1])
            else:
                return tuple(path)

    def _spec(self) -> ArraySpec | ValueSpec:
        start = self._at
        dtype = self._match(r"[^\W\d]\w*(?=\s*\[)")
        if dtype is None:
            return self._value()
        known = DTYPES.get(dtype) or _LONG.get(dtype)
        if known is None:
            self._at = start
            raise self._error(f"there is no dtype {dtype!r}; there are {', '.join(DTYPES)}")
        self._match(r"\[")
        axes, sizes = self._axes()
        low, high = self._range(known)
        self._skip()
        if self._at < len(self._text):
            raise self._error("expected nothing more, or a range as in: in 0..255")
        return ArraySpec(known, sizes, axes, low, high)

    def _axes(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        axes: list[str] = []
        sizes: list[int] = []
        if self._match(r"\]") is not None:
            return (), ()
        while True:
            axis, size = self._axis()
            axes.append(axis)
            sizes.append(size)
            if self._match(r"\]") is not None:
                return tuple(axes), tuple(sizes)
            if self._match(",") is None:
                raise self._error("expected a comma or ]")

    def _axis(self) -> tuple[str, int]:
        size = self._match(r"\d+")
        if size is not None:
            return "", self._whole(size)
        start = self._at
        name = self._match(r"[^\W\d]\w*")
        if name is None:
            raise self._error("expected a size or a name, as in f32[8] or f32[batch=8]")
        if self._match("=") is not None:
            size = self._match(r"\d+")
            if size is None:
                raise self._error(f"expected the size of {name}, as in {name}=8")
            return name, self._whole(size)
        if name not in self._dims:
            self._at = start
            raise self._error(f"{name} has no size; write {name}=8 or add --dim {name}=8")
        return name, self._dims[name]

    def _range(self, dtype: str) -> tuple[float | int | None, float | int | None]:
        if self._match(r"in\b") is None:
            return None, None
        self._skip()
        start = self._at
        if dtype in {"key", "prng", "bool"} or dtype.startswith("complex"):
            raise self._error(f"a {dtype} has no range")
        low = self._number(dtype)
        if self._match(r"\.\.") is None:
            raise self._error("expected two dots between the bounds, as in 0..255")
        high = self._number(dtype)
        if low > high:
            self._at = start
            raise self._error(f"the range is empty, since {low} is more than {high}")
        return (None if low == -math.inf else low), (None if high == math.inf else high)

    def _number(self, dtype: str) -> float | int:
        number = self._match(
            r"[+-]?(\d[\d_]*(\.(?!\.)\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?inf\b|[+-]?pi\b"
        )
        if number is None:
            raise self._error("expected a number, as in 0..255, -1..1 or 0..inf")
        if number.endswith("pi"):
            return -math.pi if number.startswith("-") else math.pi
        if re.fullmatch(r"[+-]?[\d_]+", number) and ("int" in dtype or len(number) < _MOST_DIGITS):
            return self._whole(number)
        if "int" in dtype and not number.endswith("inf"):
            raise self._error(f"the bounds of {dtype} are whole numbers")
        return float(number)

    def _whole(self, text: str) -> int:
        """A number that was just read."""
        if len(text) > _MOST_DIGITS + 1:  # with a sign
            self._at -= len(text)
            raise self._error("no size, index or bound is that large")
        return int(text)

    def _value(self) -> ValueSpec:
        self._skip()
        rest = self._text[self._at :]
        try:
            return ValueSpec(ast.literal_eval(rest.strip()))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise self._error(
                "expected a dtype with axes, as in f32[batch=8], or a Python value, as in 3 or "
                "'train'"
            ) from None

    def _match(self, pattern: str) -> str | None:
        match = re.compile(rf"\s*({pattern})").match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[1]

    def _skip(self) -> None:
        self._match("")

    def _error(self, problem: str) -> UsageError:
        self._skip()
        rest = self._text[self._at :]
        where = f"at {rest[:20]!r} (character {self._at + 1})" if rest else "at the end"
        return UsageError(f"--in {self._text!r}, {where}: {problem}")
