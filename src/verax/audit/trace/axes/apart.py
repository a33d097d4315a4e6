"""Whether axes of different names certainly never meet.

`AxisAnalysis` guesses: what it loses sight of fits everywhere. Here nothing is guessed. Each
dimension is a product of axes of the inputs, outermost first; `_FREE` if no input varies along it;
or `_LOST`. Where two operands are paired, products have to agree factor by factor, and what is lost
must not be paired with anything. Undeclared axes that are paired are one from there on. A primitive
that has no rule here, and gets more than free dimensions, ends the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

import jax.numpy as jnp

from ..program import Body, Loop, Mapping, Step, Value
from . import elementwise, shapes
from .tables import RULES

if TYPE_CHECKING:
    from .analysis import AxisAnalysis

# The axes that a dimension is made of, with their sizes. An axis is a name, or a number.
_Dim = tuple[tuple[str | int, int], ...]
_Dims = tuple[_Dim, ...]
_FREE: _Dim = ()
_LOST: _Dim = ((-1, 0),)
# A carry that is empty at first has its axes after one round, one that is made of it after two.
_ROUNDS = 4


class _Unproved(Exception):
    """Axes meet, or may meet."""


def never_meet(analysis: AxisAnalysis) -> frozenset[str]:
    """The declared names of a program's inputs, if no two of them meet; else nothing."""
    proof = _Proof()
    try:
        for value, given in zip(analysis.program.body.inputs, analysis.given, strict=True):
            named = zip(value.shape, given, strict=True)
            proof.dims[value] = tuple(proof.axis(size, name or "") for size, name in named)
        proof.body(analysis.program.body)
    except _Unproved:
        return frozenset()
    axes = (axis for value in analysis.program.body.inputs for axis, _ in sum(proof.of(value), ()))
    return frozenset(axis for axis in axes if isinstance(axis, str))


class _Proof:
    """The dimensions of every value that was met so far."""

    def __init__(self) -> None:
        self.dims: dict[Value, _Dims] = {}
        self._same: dict[str | int, str | int] = {}
        self._count = 0

    def of(self, value: Value) -> _Dims:
        """The dimensions of a value; free for constants, which are no input."""
        return self.dims.get(value, (_FREE,) * len(value.shape))

    def axis(self, size: int, name: str = "") -> _Dim:
        """An axis of this name, or of its own."""
        self._count += 1
        return _FREE if size == 1 else ((name or self._count, size),)

    def _root(self, axis: str | int) -> str | int:
        while axis in self._same:
            axis = self._same[axis]
        return axis

    def meet(self, *dims: _Dim) -> _Dim:
        """Dimensions that are paired element by element."""
        met = _FREE
        for dim in dims:
            if met == _FREE or dim == _FREE:
                met = met or dim
                continue
            if _LOST in (met, dim) or [n for _, n in met] != [n for _, n in dim]:
                raise _Unproved
            for (one, _), (other, _) in zip(met, dim, strict=True):
                self._unite(self._root(one), self._root(other))
        return met

    def _unite(self, one: str | int, other: str | int) -> None:
        if one == other:
            return
        if isinstance(one, str) and isinstance(other, str):
            raise _Unproved
        own, kept = (other, one) if isinstance(one, str) else (one, other)
        self._same[own] = kept

    def meet_all(self, *dims: _Dims) -> _Dims:
        """Values that are paired dimension by dimension."""
        return tuple(self.meet(*it) for it in zip(*dims, strict=True))

    # --- the walk

    def body(self, body: Body) -> None:
        """Follow the steps of a body."""
        for step in body.steps:
            _KINDS.get(step.kind, _operation)(self, step)


def _operation(proof: _Proof, step: Step) -> None:
    operands = [proof.of(value) for value in step.inputs]
    rule = _RULES.get(step.primitive)
    is_free = all(dim == _FREE for dims in operands for dim in dims)
    if not step.outputs or (is_free and not _gathers(step)):
        outs = [(_FREE,) * len(it.shape) for it in step.outputs]
    elif rule is None or step.bodies:
        raise _Unproved
    else:
        outs = rule(proof, step, operands)
    proof.dims.update(zip(step.outputs, outs, strict=True))


def _gathers(step: Step) -> bool:
    """Whether a step makes a dimension of the lanes of a map around it, as `all_gather` does."""
    return "axis_name" in step.params and any(it.shape for it in step.outputs)


def _elementwise(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    rank = len(step.outputs[0].shape)
    if any(len(dims) not in (0, rank) for dims in operands):
        raise _Unproved
    return [proof.meet_all(*(it for it in operands if len(it) == rank))] * len(step.outputs)


def _reduce(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    dropped = step.params["axes"] if "axes" in step.params else step.params["dimensions"]
    met = proof.meet_all(*(it for it in operands if len(it) == len(operands[0])))
    return [tuple(it for i, it in enumerate(met) if i not in dropped)] * len(step.outputs)


def _resized(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    """Stretches of axes, cut out or added to."""
    del proof
    source = step.inputs[0].shape
    return [
        tuple(
            dim if m == n else _of_size(dim, n)
            for dim, m, n in zip(operands[0], source, made.shape, strict=True)
        )
        for made in step.outputs
    ]


def _of_size(dim: _Dim, size: int) -> _Dim:
    """A longer or shorter stretch of an axis; of a product, it is no product any more."""
    if dim in (_FREE, _LOST):
        return dim
    return ((dim[0][0], size),) if len(dim) == 1 else _LOST


def _transpose(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    return [tuple(operands[0][index] for index in step.params["permutation"])]


def _broadcast(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    source, made = step.inputs[0], step.outputs[0]
    dims = [_FREE] * len(made.shape)
    for index, target in enumerate(step.params["broadcast_dimensions"]):
        if source.shape[index] == made.shape[target]:
            dims[target] = operands[0][index]
    return [tuple(dims)]


def _reshape(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    """Products are made and taken apart; what is neither is lost."""
    if step.params.get("dimensions") is not None:
        raise _Unproved
    made = step.outputs[0]
    before: list[tuple[_Dim, int]] = []
    for dim, size in zip(operands[0], step.inputs[0].shape, strict=True):
        parts = [((it,), it[1]) for it in dim] if prod(n for _, n in dim) == size else [(dim, size)]
        before += [it for it in parts if it[1] != 1]
    dims: list[_Dim] = []
    left = list(reversed(before))
    for size in made.shape:
        taken: list[tuple[_Dim, int]] = []
        while left and prod(n for _, n in taken) < size:
            taken.append(left.pop())
        if prod(n for _, n in taken) != size:
            return [(_LOST,) * len(made.shape)]
        parts = [dim for dim, _ in taken]
        is_product = _FREE not in parts and _LOST not in parts
        is_known = len(set(parts)) < 2 if _FREE in parts else len(parts) == 1 or is_product
        dims.append(sum(parts, _FREE) if is_known else _LOST)
    return [tuple(dims)]


def _concatenate(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    along = step.params["dimension"]
    rows = [list(dims) for dims in operands]
    pieces = {dims.pop(along) for dims in rows}
    met = list(proof.meet_all(*map(tuple, rows)))
    one = pieces.pop() if len(pieces) == 1 else _LOST
    met.insert(along, _of_size(one, step.outputs[0].shape[along]))
    return [tuple(met)]


def _dot_general(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    (left_sum, right_sum), (left_batch, right_batch) = step.params["dimension_numbers"]
    left, right = operands[:2]
    for i, j in zip(left_sum, right_sum, strict=True):
        proof.meet(left[i], right[j])
    paired = [proof.meet(left[i], right[j]) for i, j in zip(left_batch, right_batch, strict=True)]
    own = [dim for i, dim in enumerate(left) if i not in (*left_sum, *left_batch)]
    theirs = [dim for i, dim in enumerate(right) if i not in (*right_sum, *right_batch)]
    return [(*paired, *own, *theirs)]


def _cumulative(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    """What is summed up along a product goes on from one row to the next."""
    del proof
    return [_mixed(operands[0], [step.params["axis"]])]


def _pad(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    """A product that is shifted is none, also if its size is the same."""
    (dims,) = _resized(proof, step, operands)
    return [_mixed(dims, [i for i, it in enumerate(step.params["padding_config"]) if any(it)])]


def _mixed(dims: _Dims, axes: Sequence[int]) -> _Dims:
    """The dimensions, of which some are no products any more."""
    return tuple(_LOST if i in axes and len(it) > 1 else it for i, it in enumerate(dims))


def _like_each(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    del proof, step
    return list(operands)


def _squeeze(proof: _Proof, step: Step, operands: Sequence[_Dims]) -> list[_Dims]:
    dropped = step.params["dimensions"]
    return [tuple(dim for i, dim in enumerate(operands[0]) if i not in dropped)]


_RULES: dict[str, Callable[[_Proof, Step, Sequence[_Dims]], list[_Dims]]] = {
    **{name: _elementwise for name, it in RULES.items() if it is elementwise.elementwise},
    **{name: _reduce for name, it in RULES.items() if it is shapes.reduce},
    **dict.fromkeys(("slice", "rev", "split", "name"), _resized),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _cumulative),
    **dict.fromkeys(("optimization_barrier", "psum", "pmax", "pmin", "pvary"), _like_each),
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "dot_general": _dot_general,
    "pad": _pad,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "transpose": _transpose,
}


# --- boundaries


def _call(proof: _Proof, step: Step) -> None:
    proof.body(step.bodies[0])


def _loop(proof: _Proof, step: Step) -> None:
    loop: Loop = step.detail
    over = _FREE
    if step.kind == "scan":
        over = proof.meet(*(proof.of(it)[0] for it in loop.scanned))
        over = over or proof.axis(loop.length or 0)
        for scanned, part in zip(loop.scanned, loop.slices, strict=True):
            proof.dims[part] = proof.of(scanned)[1:]
    carries = [proof.of(it) for it in loop.initial]
    for _ in range(_ROUNDS):
        proof.dims.update(zip(loop.carry, carries, strict=True))
        for body in step.bodies:
            proof.body(body)
        ends = [proof.of(it) for it in loop.carried]
        before, carries = carries, list(map(proof.meet_all, carries, ends))
        if carries == before:
            break
    else:
        raise _Unproved
    proof.dims.update(zip(loop.final, carries, strict=True))
    for stack, stacked in zip(loop.stacks, loop.stacked, strict=True):
        proof.dims[stacked] = (over, *proof.of(stack))


def _cond(proof: _Proof, step: Step) -> None:
    for branch in step.bodies:
        proof.body(branch)
    for index, out in enumerate(step.outputs):
        proof.dims[out] = proof.meet_all(*(proof.of(it.outputs[index]) for it in step.bodies))


def _map(proof: _Proof, step: Step) -> None:
    mapping: Mapping = step.detail
    over = proof.meet(*(proof.of(outer)[axis] for outer, _, axis in mapping.mapped))
    over = over or proof.axis(mapping.size)
    for outer, inner, axis in mapping.mapped:
        dims = proof.of(outer)
        proof.dims[inner] = (*dims[:axis], *dims[axis + 1 :])
    proof.body(step.bodies[0])
    for out, inner, axis in mapping.results:
        dims = list(proof.of(inner))
        if axis is not None:
            dims.insert(axis, over)
        proof.dims[out] = tuple(dims)


def _derive(proof: _Proof, step: Step) -> None:
    for outer, inner in step.detail.differentiated:
        proof.dims[inner] = proof.of(outer)
    proof.body(step.bodies[0])


def _derivative(proof: _Proof, step: Step) -> None:
    """A gradient has the dimensions of what it is for; of tangents nothing is known."""
    of: Step | None = step.detail
    pairs = of.detail.differentiated if of is not None else []
    like = [outer for outer, _ in pairs if jnp.issubdtype(outer.dtype, jnp.inexact)]
    is_gradient = of is not None and of.detail.kind in ("grad", "vjp")
    if not is_gradient or [it.shape for it in like] != [it.shape for it in step.outputs]:
        raise _Unproved
    proof.dims.update({out: proof.of(it) for out, it in zip(step.outputs, like, strict=True)})


def _declare(proof: _Proof, step: Step) -> None:
    (value,) = step.inputs
    for dim, size, name in zip(proof.of(value), value.shape, step.detail, strict=True):
        if name:
            proof.meet(dim, proof.axis(size, name))


_KINDS: dict[str, Callable[[_Proof, Step], None]] = {
    "call": _call,
    "scan": _loop,
    "while": _loop,
    "cond": _cond,
    "map": _map,
    "derive": _derive,
    "derivative": _derivative,
    "declare": _declare,
}
