"""Random programs on arrays with named axes, and which axes meet when they run.

A program is a text for JAX. It also runs in plain Python on `Tagged` arrays, whose elements
remember the lanes of each named axis that they were made from. Two names meet where two operands
are paired along a dimension in which they change with the lanes of different axes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

# So that a batch fits wherever a picture does.
SIZES = {"batch": 4, "time": 4, "height": 2, "width": 2, "feat": 2}
INPUTS = {
    "x": ("batch", "feat"),
    "y": ("batch", "time"),
    "z": ("time", "feat"),
    "image": ("batch", "height", "width", "feat"),
    "w": ("feat", ""),
    "b": ("",),
}
HEADER = """\
import jax.numpy as jnp
from jax import vmap
from jax.lax import scan


"""


class MetError(Exception):
    """Two axes with different names were paired."""


class Tagged:
    """An array of sets of lanes: `lanes[..., i]` says whether lane i is in an element."""

    def __init__(self, lanes: np.ndarray):
        self.lanes = lanes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lanes.shape[:-1]

    def _along(self, axis: int) -> frozenset[str]:
        """The names with whose lanes an array changes along a dimension."""
        moved = np.moveaxis(self.lanes, axis, 0)
        return _names((moved != moved[:1]).reshape(-1, self.lanes.shape[-1]).any(axis=0))

    def _slowly_along(self, axis: int) -> frozenset[str]:
        """Those that stay the same from one element to the next somewhere: the outer factors."""
        moved = np.moveaxis(self.lanes, axis, 0)
        stays = (moved[1:] == moved[:-1]).reshape(len(moved) - 1, -1, self.lanes.shape[-1])
        still = {name: [lane for it, lane in _LANES if it == name] for name in SIZES}
        return frozenset(
            name for name in self._along(axis) if stays[:, :, still[name]].all(axis=(1, 2)).any()
        )

    def __add__(self, other: Any) -> Tagged:
        if not isinstance(other, Tagged):
            return self
        rank = max(len(self.shape), len(other.shape))
        one, two = (
            Tagged(it.lanes.reshape(*[1] * (rank - len(it.shape)), *it.lanes.shape))
            for it in (self, other)
        )
        for axis in range(rank):
            names = one._along(axis), two._along(axis)
            if all(names) and names[0] != names[1]:
                raise MetError
            if all(names) and one._slowly_along(axis) != two._slowly_along(axis):
                raise MetError
        return Tagged(one.lanes | two.lanes)

    __mul__ = __radd__ = __add__

    def __matmul__(self, other: Tagged) -> Tagged:
        columns = [
            _sum(Tagged(self.lanes) + Tagged(other.lanes[:, at]), -1).lanes
            for at in range(other.shape[1])
        ]
        return Tagged(np.stack(columns, axis=-2))

    def __getitem__(self, index: Any) -> Tagged:
        full = index if isinstance(index, tuple) else (index,)
        return Tagged(self.lanes[(*full, ...)])

    def reshape(self, *shape: int) -> Tagged:
        return Tagged(self.lanes.reshape(*shape, self.lanes.shape[-1]))


_LANES = [
    (name, lane)
    for lane, name in enumerate(name for name, size in SIZES.items() for _ in range(size))
]


def _names(lanes: np.ndarray) -> frozenset[str]:
    return frozenset(name for name, lane in _LANES if lanes[lane])


def _input(names: tuple[str, ...]) -> Tagged:
    shape = [SIZES.get(it, 2) for it in names]
    lanes = np.zeros((*shape, len(_LANES)), bool)
    for axis, name in enumerate(names):
        own = [lane for it, lane in _LANES if it == name]
        for at, lane in enumerate(own):
            np.moveaxis(lanes, axis, 0)[at, ..., lane] = True
    return Tagged(lanes)


def _sum(x: Tagged, axis: int) -> Tagged:
    return Tagged(x.lanes.any(axis=axis if axis >= 0 else axis - 1))


def _scan(body: Any, carry: Tagged, xs: Tagged) -> tuple[Tagged, Tagged]:
    rows: list[Tagged] = []
    for at in range(xs.shape[0]):
        carry, row = body(carry, xs[at])
        rows.append(row)
    return carry, _stack(rows, 0)


def _stack(rows: list[Tagged], axis: int) -> Tagged:
    return Tagged(np.stack([it.lanes for it in rows], axis))


def _concatenate(parts: list[Tagged], axis: int) -> Tagged:
    for at in range(len(parts[0].shape)):
        names = {it._along(at) for it in parts} - {frozenset()}
        if at != axis and len(names) > 1:
            raise MetError
    return Tagged(np.concatenate([it.lanes for it in parts], axis))


def _vmap(function: Any, in_axes: tuple[int, int]) -> Any:
    def mapped(one: Tagged, other: Tagged) -> Tagged:
        names = {one._along(in_axes[0]), other._along(in_axes[1])} - {frozenset()}
        if len(names) > 1:
            raise MetError
        lanes = [
            function(
                Tagged(one.lanes.take(at, in_axes[0])), Tagged(other.lanes.take(at, in_axes[1]))
            )
            for at in range(one.shape[in_axes[0]])
        ]
        return _stack(lanes, 0)

    return mapped


def axes_meet(program: str) -> bool:
    """Whether a run pairs axes of different names."""
    names: dict[str, Any] = {
        "scan": _scan,
        "vmap": _vmap,
        "jnp": SimpleNamespace(
            sum=lambda x, axis: _sum(x, axis),
            cumsum=lambda x, axis: Tagged(np.logical_or.accumulate(x.lanes, axis)),
            transpose=lambda x, axes: Tagged(x.lanes.transpose(*axes, len(axes))),
            concatenate=lambda parts, axis: _concatenate(parts, axis),
            zeros=lambda shape: Tagged(np.zeros((*shape, len(_LANES)), bool)),
        ),
    }
    exec(program, names)
    try:
        names["entry"](*map(_input, INPUTS.values()))
    except MetError:
        return True
    return False


class _Writer:
    """Writes one program on arrays of which it knows the shapes."""

    def __init__(self, draw: st.DrawFn):
        self._draw = draw
        self.shapes = {
            name: tuple(SIZES.get(it, 2) for it in axes) for name, axes in INPUTS.items()
        }
        self.lines: list[str] = []

    def pick(self, options: list[Any]) -> Any:
        return self._draw(st.sampled_from(options))

    def array(self, *ranks: int) -> str:
        return self.pick([it for it, shape in self.shapes.items() if len(shape) in ranks])

    def new(self, text: str, shape: tuple[int, ...]) -> None:
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.shapes[name] = shape

    def step(self) -> None:
        steps = [self._turn, self._merge, self._take_apart, self._reduce, self._pair, self._pair]
        steps += [self._product, self._map, self._scan, self._join, self._cut]
        self.pick(steps)()

    def _turn(self) -> None:
        name = self.array(2, 3, 4)
        axes = tuple(self._draw(st.permutations(range(len(self.shapes[name])))))
        shape = tuple(self.shapes[name][it] for it in axes)
        self.new(f"jnp.transpose({name}, {axes})", shape)

    def _merge(self) -> None:
        name = self.array(2, 3, 4)
        shape = self.shapes[name]
        at = self.pick(list(range(len(shape) - 1)))
        merged = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
        self.new(f"{name}.reshape{merged if len(merged) > 1 else f'({merged[0]})'}", merged)

    def _take_apart(self) -> None:
        name = self.array(1, 2, 3)
        shape = self.shapes[name]
        at = self.pick(list(range(len(shape))))
        if shape[at] % 2 == 0 and shape[at] > 2:
            apart = (*shape[:at], 2, shape[at] // 2, *shape[at + 1 :])
            self.new(f"{name}.reshape{apart}", apart)

    def _reduce(self) -> None:
        name = self.array(2, 3, 4)
        shape = self.shapes[name]
        at = self.pick(list(range(len(shape))))
        if self.pick([True, False]):
            self.new(f"jnp.cumsum({name}, axis={at})", shape)
        else:
            self.new(f"jnp.sum({name}, axis={at})", (*shape[:at], *shape[at + 1 :]))

    def _pair(self) -> None:
        one = self.array(1, 2, 3, 4)
        shape = self.shapes[one]
        ways = [
            (it, at)
            for it, its in self.shapes.items()
            for at in range(len(shape))
            if its in (shape, shape[:at] + shape[at + 1 :])
        ]
        other, at = self.pick(ways)
        index = ", ".join("None" if it == at else ":" for it in range(len(shape)))
        other = other if self.shapes[other] == shape else f"{other}[{index}]"
        self.new(f"{one} {self.pick(['+', '*'])} {other}", shape)

    def _product(self) -> None:
        one = self.array(2)
        others = [
            it
            for it, shape in self.shapes.items()
            if len(shape) == 2 and shape[0] == self.shapes[one][1]
        ]
        other = self.pick(others) if others else None
        if other:
            self.new(f"{one} @ {other}", (self.shapes[one][0], self.shapes[other][1]))

    def _map(self) -> None:
        one = self.array(2)
        axis = self.pick([0, 1])
        size, rest = self.shapes[one][axis], self.shapes[one][1 - axis]
        ways = [
            (it, at)
            for it, shape in self.shapes.items()
            for at in (0, 1)
            if len(shape) == 2 and shape[at] == size and shape[1 - at] == rest
        ]
        other, at = self.pick(ways)
        self.new(f"vmap(lambda a, b: a + b, in_axes=({axis}, {at}))({one}, {other})", (size, rest))

    def _scan(self) -> None:
        name = self.array(2, 3)
        shape = self.shapes[name]
        inside = [f"jnp.zeros({shape[1:]})"]
        inside += [it for it, its in self.shapes.items() if its == shape[1:]]
        self.new(
            f"scan(lambda c, x: (c + x, c * x), {self.pick(inside)}, {name})[{self.pick([0, 1])}]",
            shape,
        )
        if self.lines[-1].endswith("[0]"):
            self.shapes[f"v{len(self.lines) - 1}"] = shape[1:]

    def _join(self) -> None:
        one = self.array(1, 2)
        shape = self.shapes[one]
        other = self.pick([it for it, its in self.shapes.items() if its == shape])
        at = self.pick(list(range(len(shape))))
        joined = (*shape[:at], 2 * shape[at], *shape[at + 1 :])
        self.new(f"jnp.concatenate([{one}, {other}], axis={at})", joined)

    def _cut(self) -> None:
        name = self.array(1, 2, 3)
        shape = self.shapes[name]
        if shape[0] == 4:
            self.new(f"{name}[{self.pick([':2', '2:', '::2'])}]", (2, *shape[1:]))


@st.composite
def axis_programs(draw: st.DrawFn) -> str:
    """The text of a program with an `entry` that takes `INPUTS`."""
    writer = _Writer(draw)
    for _ in range(draw(st.integers(1, 7))):
        writer.step()
    made = ", ".join(it for it in writer.shapes if it.startswith("v"))
    head = f"def entry({', '.join(INPUTS)}):"
    return "\n".join([head, *writer.lines, f"    return [{made}]"])
