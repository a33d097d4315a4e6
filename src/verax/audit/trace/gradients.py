"""Where gradients flow: from which differentiated inputs to which values, and what stops them.

For every differentiated function (a "derive" step) two things are known of each value inside: the
inputs on which it depends at all, and those that reach it by a differentiable path. Where the two
differ, something on the way has no derivative: `stop_gradient`, rounding, an index, a comparison.
A function with a derivative of its own (`custom_jvp`, `custom_vjp`) counts as differentiable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp

from .program import Body, Derivation, Loop, Program, Step, Value
from .sameness import Sameness
from .variation import edges

CUSTOM_CALLS = ("custom_jvp_call", "custom_vjp_call")

# Their derivative is zero wherever it exists.
_FLAT = {
    "stop_gradient": "stop_gradient",
    "floor": "floor",
    "ceil": "ceil",
    "round": "round",
    "sign": "sign",
    "nextafter": "nextafter",
}
_NAMES = {
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne", "lt_to", "le_to"), "a comparison"),
    "argmax": "argmax",
    "argmin": "argmin",
    "top_k": "the indices of top_k",
    "sort": "the indices of a sort",
    "convert_element_type": "a cast",
}


@dataclass(frozen=True, eq=False)
class Link:
    """What a value is made from. `blocker` says why no gradient flows along, if so."""

    source: Value
    target: Value
    step: Step
    blocker: str | None


@dataclass(frozen=True, eq=False)
class Parameter:
    """A differentiated input: its value inside, its bit in sets, and its name."""

    value: Value
    bit: int
    name: str


class Flow:
    """The flow of gradients in one differentiated function."""

    def __init__(self, step: Step):
        self.step = step
        self.detail: Derivation = step.detail
        self.body: Body = step.bodies[0]
        self.results: list[Value] = self.body.outputs[: self.detail.results]
        self.same: Sameness = Sameness()
        inner = [value for _, value in self.detail.differentiated]
        names = _names(self.detail)
        self.parameters: list[Parameter] = [
            Parameter(value, 1 << index, name)
            for index, (value, name) in enumerate(zip(inner, names, strict=True))
            if is_inexact(value)
        ]
        self.links: list[Link] = [link for it in steps_of(self.body) for link in links(it)]
        self.back: dict[Value, list[Link]] = defaultdict(list)
        for link in self.links:
            self.back[link.target].append(link)
        # Sets of parameters, as bits of a number: from which a value gets anything, or a gradient.
        self.depends: dict[Value, int] = {it.value: it.bit for it in self.parameters}
        self.flows: dict[Value, int] = dict(self.depends)
        self._spread()

    def _spread(self) -> None:
        depends, flows = self.depends, self.flows
        changed = True
        # Links come in the order of the program, so that only loops need another round.
        while changed:
            changed = False
            for link in self.links:
                found = depends.get(link.source, 0)
                if not found:
                    continue
                before = depends.get(link.target, 0)
                if found | before != before:
                    depends[link.target] = found | before
                    changed = True
                through = 0 if link.blocker else flows.get(link.source, 0)
                before = flows.get(link.target, 0)
                if through | before != before:
                    flows[link.target] = through | before
                    changed = True

    def gets(self, value: Value) -> int:
        """The parameters that get a gradient from a value."""
        return self.flows.get(value, 0)

    def uses(self, value: Value) -> int:
        """The parameters that a value depends on."""
        return self.depends.get(value, 0)

    @cached_property
    def needed(self) -> frozenset[Value]:
        """The values on which the differentiated results depend."""
        return self.slice(self.results, blocked=True)

    @cached_property
    def trained_through(self) -> frozenset[Value]:
        """The values through which a gradient comes back from the results."""
        return self.slice(self.results)

    def is_data(self, value: Value) -> bool:
        """Whether a value depends on more than parameters and constants."""
        return value in self.data

    def slice(
        self, values: list[Value], blocked: bool = False, stopped: bool = False
    ) -> frozenset[Value]:
        """All that values are made from, along differentiable paths or along all.

        With `stopped`, also behind `stop_gradient`, and behind nothing else without a derivative.
        """
        through = ("stop_gradient",) if stopped else ()
        found: set[Value] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if value not in found:
                found.add(value)
                pending += [
                    link.source
                    for link in self.back.get(value, ())
                    if blocked or not link.blocker or link.blocker in through
                ]
        return frozenset(found)

    def without_gradient(self) -> list[Parameter]:
        """Parameters on which the results depend, but only by paths without a derivative."""
        got = used = 0
        for result in self.results:
            got |= self.gets(result)
            used |= self.uses(result)
        return [it for it in self.parameters if it.bit & used and not it.bit & got]

    def blockers(self, bits: int, values: list[Value] | None = None) -> list[Link]:
        """Where values, or the results, lose the gradient of parameters, in order of the program.

        A stop beside which the gradient flows on, as in a softmax, loses nothing.
        """
        found: set[Link] = set()
        pending = list(self.results if values is None else values)
        seen = set(pending)
        while pending:
            value = pending.pop()
            if self.gets(value) & bits:
                continue
            for link in self.back.get(value, ()):
                if self.gets(link.source) & bits:
                    found.add(link)
                elif self.uses(link.source) & bits and link.source not in seen:
                    seen.add(link.source)
                    pending.append(link.source)
        return [link for link in self.links if link in found]

    @cached_property
    def data(self) -> frozenset[Value]:
        """The values that depend on more than parameters and constants."""
        parameters = {it.value for it in self.parameters}
        found: set[Value] = {
            value for value in self.body.inputs if value not in parameters and not value.is_constant
        }
        for link in self.links:
            outside = link.source not in self.back and link.source not in parameters
            if outside and not link.source.is_constant:
                found.add(link.source)
        before = -1
        while before != len(found):
            before = len(found)
            found.update(link.target for link in self.links if link.source in found)
        return frozenset(found)


class Gradients:
    """The flow of gradients in every differentiated function of a program."""

    def __init__(self, program: Program):
        self.flows: list[Flow] = [
            Flow(step) for step in program.walk() if step.kind == "derive" and step.bodies
        ]


def steps_of(body: Body) -> Iterator[Step]:
    """The steps of a body and of those in it, but for functions with derivatives of their own."""
    for step in body.steps:
        yield step
        if step.primitive not in CUSTOM_CALLS:
            for inner in step.bodies:
                yield from steps_of(inner)


def links(step: Step) -> Iterator[Link]:
    """What a step makes from what, and whether a gradient flows along."""
    if step.primitive in CUSTOM_CALLS:
        inputs = set(step.inputs)
        for target in step.outputs:
            if target not in inputs:
                for source in step.inputs:
                    yield Link(source, target, step, _blocker(step, source, target))
        return
    if step.kind == "opaque" or step.kind == "operation":
        for target in step.outputs:
            for source in step.inputs:
                yield Link(source, target, step, _blocker(step, source, target))
        return
    for source, target, _ in edges(step):
        blocked = not (is_inexact(source) and is_inexact(target))
        yield Link(source, target, step, "an integer" if blocked else None)


def _blocker(step: Step, source: Value, target: Value) -> str | None:
    if step.primitive in _FLAT:
        return _FLAT[step.primitive]
    if not is_inexact(target):
        return _NAMES.get(step.primitive, f"`{step.primitive}`")
    if not is_inexact(source):
        return "an integer"
    if step.primitive == "select_n" and source is step.inputs[0]:
        return "a comparison"
    if step.primitive == "sort" and step.inputs.index(source) != step.outputs.index(target):
        return "the order of a sort"
    return None


def is_inexact(value: Value) -> bool:
    """Whether a value can carry a gradient."""
    # Not by NumPy, to which bfloat16 is no number.
    return jnp.issubdtype(value.dtype, jnp.inexact)


_SHAPES_ONLY = (
    "reshape",
    "squeeze",
    "expand_dims",
    "broadcast_in_dim",
    "transpose",
    "copy",
    "convert_element_type",
)


def plain(value: Value) -> Value:
    """A value without the steps that only change its shape or precision."""
    while (
        value.producer is not None
        and value.producer.primitive in _SHAPES_ONLY
        and is_inexact(value)
        and is_inexact(value.producer.inputs[0])
    ):
        value = value.producer.inputs[0]
    return value


def _names(detail: Derivation) -> list[str]:
    """A name for each differentiated leaf: that of the outer value, or of the argument."""
    count = len(detail.differentiated)
    arguments = detail.arguments if len(detail.arguments) == count else ("",) * count
    return [
        outer.name or argument or f"input {index}"
        for index, ((outer, _), argument) in enumerate(
            zip(detail.differentiated, arguments, strict=True)
        )
    ]


def reverse_loops(flow: Flow) -> Iterator[Step]:
    """While loops through which a gradient would have to be pulled back."""
    for step in steps_of(flow.body):
        if step.kind == "while":
            loop: Loop = step.detail
            if any(
                flow.gets(carry) and final in flow.trained_through
                for carry, final in zip(loop.carry, loop.final, strict=True)
            ):
                yield step
