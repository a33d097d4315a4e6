"""Follow every axis of every value from the inputs to the outputs.

A table has a small rule for each primitive; one that is not in it gives axes of which nothing is
known. Loops need no fixpoint: axes merge, and merging does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from ...words import is_separate, is_sequence
from ..program import Body, Loop, Mapping, Program, Step, Value
from .axis import Axes, Axis, Clash, Dimension, Meeting, unknown
from .counting import Counting, miscounted

Rule = Callable[["AxisAnalysis", Step, Sequence[Axes]], Sequence[Axes]]


@dataclass(frozen=True, eq=False)
class Outer:
    """Two values meet so that each one is repeated along an axis of the other.

    `first` has the dimension `first_dim`, which the second lacks, and the other way round.
    """

    step: Step
    first: Value
    first_dim: int
    second: Value
    second_dim: int
    # Where the sizes of one come from that make room for the other's axis.
    first_unit: str
    second_unit: str


@dataclass(frozen=True, eq=False)
class Reshuffle:
    """A reshape whose dimensions are those of its operand, or parts of them, in another order."""

    step: Step
    before: tuple[Axis, ...]
    before_sizes: tuple[int, ...]
    after_sizes: tuple[int, ...]


@dataclass
class AxisAnalysis:
    """What is known of axes; filled by `run`.

    `came_from` leads from a dimension back to the one that it continues.
    """

    program: Program
    meeting: Meeting = field(default_factory=Meeting)
    axes: dict[Value, Axes] = field(default_factory=dict[Value, Axes])
    came_from: dict[tuple[Value, int], tuple[Value, int]] = field(
        default_factory=dict[tuple[Value, int], tuple[Value, int]]
    )
    outers: list[Outer] = field(default_factory=list[Outer])
    reshuffles: list[Reshuffle] = field(default_factory=list[Reshuffle])
    countings: list[Counting] = field(default_factory=list[Counting])
    # The axis that a `vmap` maps or a `scan` runs over.
    over: dict[Step, Axis] = field(default_factory=dict[Step, Axis])
    # The `vmap` or `scan` that takes an axis away, by the share of each value that its body gets.
    entered: dict[Value, Step] = field(default_factory=dict[Value, Step])
    declared: dict[str, Axis] = field(default_factory=dict[str, Axis])
    # What is asked of another program than the one that was written: see `otherwise`.
    renamed: dict[Value, dict[str, str]] = field(default_factory=dict[Value, dict[str, str]])
    taken: dict[Value, int] = field(default_factory=dict[Value, int])
    given: Sequence[Sequence[str | None]] = ()

    # --- for rules and sections

    def __getitem__(self, value: Value) -> Axes:
        """The axes of a value."""
        return tuple(axis.root() for axis in self.of(value))

    def names(self, value: Value) -> tuple[str | None, ...]:
        """The names of a value's axes, `None` where there is none."""
        return tuple(axis.label or None for axis in self.of(value))

    @property
    def clashes(self) -> list[Clash]:
        """Where declared names met."""
        return self.meeting.clashes

    # --- for the tables

    def of(self, value: Value) -> Axes:
        """Axes of a value, made up if it has none yet (a constant, for instance)."""
        if value not in self.axes:
            self.axes[value] = unknown(value)
        names = self.renamed.get(value)
        return self.axes[value] if names is None else self._renamed(self.axes[value], names)

    def _renamed(self, axes: Axes, names: dict[str, str]) -> Axes:
        return tuple(self._instead(it, names.get(it.label)) for it in axes)

    def _instead(self, axis: Axis, name: str | None) -> Axis:
        if name is None:
            return axis
        return self.named(name) if name else Axis(lost=True)

    def named(self, name: str) -> Axis:
        """The axis of a declared name: one for the whole program."""
        if name not in self.declared:
            self.declared[name] = Axis(name=name)
        return self.declared[name]

    def join(
        self, step: Step | None, where: str, a: tuple[Value, int], b: tuple[Value, int]
    ) -> Axis:
        """Two dimensions meet."""
        (first, i), (second, j) = a, b
        names = {self.of(first)[i].label, self.of(second)[j].label} - {""}
        weighed = step is not None and step.primitive in ("dot_general", "mul")
        if weighed and len(names) == 2 and self._is_window(*a) != self._is_window(*b):
            return Axis(lost=True)
        if len(names) == 2 and self._lies_between(a, b) != self._lies_between(b, a):
            return Axis(lost=True)
        of_things = not any(is_sequence(it) or is_separate(it) for it in names)
        if len(names) == 2 and of_things and self._are_some(*a) != self._are_some(*b):
            return Axis(lost=True)
        return self.meeting.join(
            step,
            where,
            Dimension(first, i),
            self.of(first)[i],
            Dimension(second, j),
            self.of(second)[j],
        )

    def follow(self, made: Value, index: int, source: Value, source_index: int) -> None:
        """Remember that a dimension continues another."""
        self.came_from.setdefault((made, index), (source, source_index))

    def _is_window(self, value: Value, index: int) -> bool:
        """Whether a dimension is a stretch of a longer one, from a position that is computed.

        Its elements are told by where they are in the window: it is weighed by a kernel, the axis
        of which has a name of its own.
        """
        return self._cut_by(value, index) == "dynamic_slice"

    def _are_some(self, value: Value, index: int) -> bool:
        """Whether a dimension holds some of the components of a thing, cut out to be its own.

        `pose[:2]` of x, y and a heading is a place, and meets what has a name for that.
        """
        # JAX 0.8 gathers where a new axis stands beside a slice.
        return self._cut_by(value, index) in ("slice", "gather")

    def _cut_by(self, value: Value, index: int) -> str:
        """The primitive that made a dimension of a longer one; empty if nothing did."""
        at = (value, index)
        for _ in range(16):
            source = self.came_from.get(at)
            if source is None:
                break
            if source[0].shape[source[1]] != value.shape[index]:
                return at[0].producer.primitive if at[0].producer is not None else ""
            at = source
        return ""

    def _lies_between(self, at: tuple[Value, int], beside: tuple[Value, int]) -> bool:
        """Whether a dimension is of neighbours in another one, which may have a name of their own.

        `jnp.diff` of nodes gives edges. Steps between two points of time are steps of time.
        """
        if is_sequence(self.of(beside[0])[beside[1]].label):
            return False
        for _ in range(16):
            step = at[0].producer
            if step is not None and len(step.inputs) == 2 and len(set(step.inputs)) == 2:
                stretches = [self._stretch(it, at[1]) for it in step.inputs]
                if None not in stretches and len({it[:2] for it in stretches if it}) == 1:
                    return len(set(stretches)) == 2
            if at not in self.came_from:
                break
            at = self.came_from[at]
        return False

    def _stretch(self, value: Value, index: int) -> tuple[Value, int, int] | None:
        """The longer dimension of which one is a stretch, and where that starts."""
        step, source = value.producer, self.came_from.get((value, index))
        if step is None or source is None or step.primitive != "slice":
            return None
        return (*source, step.params["start_indices"][index])

    # --- the walk

    def run(self, inputs: Sequence[Sequence[str | None]]) -> None:
        """Follow the program, whose inputs have axes with these names."""
        self.given = inputs
        for value, names in zip(self.program.body.inputs, inputs, strict=True):
            self.axes[value] = tuple(self.named(name) if name else Axis() for name in names)
        self.body(self.program.body)
        self.clashes.extend(miscounted(self))

    def otherwise(
        self, renamed: dict[Value, dict[str, str]], taken: dict[Value, int]
    ) -> AxisAnalysis:
        """The same program, had some values other axes, and had a map or a scan gone along others.

        An axis that would have no name at all fits everywhere.
        """
        other = AxisAnalysis(self.program, renamed=renamed, taken=taken)
        other.run(self.given)
        return other

    def body(self, body: Body) -> None:
        """Follow the steps of a body."""
        for step in body.steps:
            _KINDS.get(step.kind, _operation)(self, step)


def _operation(analysis: AxisAnalysis, step: Step) -> None:
    from .tables import RULES

    rule = RULES.get(step.primitive)
    operands = [analysis.of(value) for value in step.inputs]
    outs = None if rule is None else rule(analysis, step, operands)
    if outs is None:
        outs = [unknown(value) for value in step.outputs]
    for value, axes in zip(step.outputs, outs, strict=True):
        # A rule that does not fit the shape (a key's bits, say) knows nothing.
        analysis.axes[value] = tuple(axes) if len(axes) == len(value.shape) else unknown(value)


def _call(analysis: AxisAnalysis, step: Step) -> None:
    analysis.body(step.bodies[0])


def _share(analysis: AxisAnalysis, made: Value, source: Value) -> None:
    """A value continues another, axis for axis."""
    analysis.axes[made] = analysis.of(source)
    for index in range(len(made.shape)):
        analysis.follow(made, index, source, index)


def _join_all(analysis: AxisAnalysis, step: Step, where: str, first: Value, second: Value) -> None:
    for index, (m, n) in enumerate(zip(first.shape, second.shape, strict=True)):
        if m == n != 1:
            analysis.join(step, where, (first, index), (second, index))


def _loop(analysis: AxisAnalysis, step: Step) -> None:
    loop: Loop = step.detail
    for initial, carry in zip(loop.initial, loop.carry, strict=True):
        analysis.axes[carry] = tuple(
            Axis(unit=axis.root().unit, name=axis.root().name if size == 1 else "")
            for axis, size in zip(analysis.of(initial), carry.shape, strict=True)
        )
        for index in range(len(carry.shape)):
            analysis.follow(carry, index, initial, index)
        _join_all(analysis, step, "carry", initial, carry)
    if step.kind == "scan":
        _scanned(analysis, step, loop)
    for body in step.bodies:
        analysis.body(body)
    if step.kind == "scan":
        _set_apart(analysis, step, loop)
    for carry, carried, final in zip(loop.carry, loop.carried, loop.final, strict=True):
        _join_all(analysis, step, "carry", carry, carried)
        analysis.axes[final] = analysis.of(carry)
        for index in range(len(final.shape)):
            analysis.follow(final, index, carried, index)
    for stack, stacked in zip(loop.stacks, loop.stacked, strict=True):
        analysis.axes[stacked] = (analysis.over[step], *analysis.of(stack))
        for index in range(len(stack.shape)):
            analysis.follow(stacked, index + 1, stack, index)
        if loop.scanned:
            analysis.follow(stacked, 0, loop.scanned[0], 0)


def _scanned(analysis: AxisAnalysis, step: Step, loop: Loop) -> None:
    over = Axis()
    for scanned, part in zip(loop.scanned, loop.slices, strict=True):
        first, along = loop.scanned[0], analysis.taken.get(loop.slices[0], 0)
        over, axis = analysis.of(first)[along], analysis.taken.get(part, 0)
        if scanned is not first:
            analysis.join(step, "scanned", (first, along), (scanned, axis))
        axes = analysis.of(scanned)
        analysis.axes[part] = (*axes[:axis], *axes[axis + 1 :])
        analysis.entered[part] = step
        for index in range(len(part.shape)):
            analysis.follow(part, index, scanned, index + (index >= axis))
    analysis.over[step] = over


def _set_apart(analysis: AxisAnalysis, step: Step, loop: Loop) -> None:
    """Turns of a loop are none of the things side by side that each of them takes further.

    Only where nothing else says what they are: they are counted, or each has a random key.
    """
    if any(not jnp.issubdtype(it.dtype, jax.dtypes.prng_key) for it in loop.scanned):
        return
    over = analysis.over[step].root()
    names = {
        name
        for carry, carried in zip(loop.carry, loop.carried, strict=True)
        if carry is not carried
        for name in analysis.names(carry)
        if is_separate(name)
    }
    if names and not over.label:
        over.apart = frozenset(name for name in names if name)


def _cond(analysis: AxisAnalysis, step: Step) -> None:
    for branch in step.bodies:
        analysis.body(branch)
    for index, out in enumerate(step.outputs):
        first = step.bodies[0].outputs[index]
        _share(analysis, out, first)
        for branch in step.bodies[1:]:
            _join_all(analysis, step, "branch", first, branch.outputs[index])


def _map(analysis: AxisAnalysis, step: Step) -> None:
    mapping: Mapping = step.detail
    over = Axis()
    for position, (outer, inner, written) in enumerate(mapping.mapped):
        axes, axis = analysis.of(outer), analysis.taken.get(inner, written)
        if position == 0:
            over = axes[axis]
        elif mapping.size != 1:
            first, _, first_axis = mapping.mapped[0]
            analysis.join(step, "mapped", (first, first_axis), (outer, axis))
        analysis.axes[inner] = (*axes[:axis], *axes[axis + 1 :])
        analysis.entered[inner] = step
        for index in range(len(inner.shape)):
            analysis.follow(inner, index, outer, index + (index >= axis))
    analysis.over[step] = over
    analysis.body(step.bodies[0])
    for out, inner, axis in mapping.results:
        axes = list(analysis.of(inner))
        if axis is not None:
            axes.insert(axis, over)
            if mapping.mapped:
                first, _, first_axis = mapping.mapped[0]
                analysis.follow(out, axis, first, first_axis)
        analysis.axes[out] = tuple(axes)
        for index in range(len(inner.shape)):
            shift = axis is not None and index >= axis
            analysis.follow(out, index + shift, inner, index)


def _shard(analysis: AxisAnalysis, step: Step) -> None:
    for outer, inner, _ in step.detail.inputs:
        if inner is not outer:
            _share(analysis, inner, outer)
    analysis.body(step.bodies[0])
    for out, inner, _ in step.detail.outputs:
        _share(analysis, out, inner)


def _derive(analysis: AxisAnalysis, step: Step) -> None:
    for outer, inner in step.detail.differentiated:
        _share(analysis, inner, outer)
    analysis.body(step.bodies[0])


def _derivative(analysis: AxisAnalysis, step: Step) -> None:
    """A gradient has the axes of what it is for; a tangent those of what it changes."""
    of: Step | None = step.detail
    if of is None:
        sources: list[Any] = []
    elif of.detail.kind in ("grad", "vjp"):
        sources = [outer for outer, _ in of.detail.differentiated]
    else:
        sources = of.bodies[0].outputs[: of.detail.results]
    like = [value for value in sources if jnp.issubdtype(value.dtype, jnp.inexact)]
    if [value.shape for value in like] != [value.shape for value in step.outputs]:
        for out in step.outputs:
            analysis.axes[out] = unknown(out)
        return
    for out, source in zip(step.outputs, like, strict=True):
        _share(analysis, out, source)


def _declare(analysis: AxisAnalysis, step: Step) -> None:
    """What the user says an axis is meets what it is."""
    (value,) = step.inputs
    for index, name in enumerate(step.detail):
        if name:
            dimension, own = Dimension(value, index), analysis.of(value)[index]
            analysis.meeting.join(step, "declared", dimension, own, dimension, analysis.named(name))


_KINDS: dict[str, Callable[[AxisAnalysis, Step], None]] = {
    "call": _call,
    "scan": _loop,
    "while": _loop,
    "cond": _cond,
    "map": _map,
    "shard": _shard,
    "derive": _derive,
    "derivative": _derivative,
    "declare": _declare,
}
