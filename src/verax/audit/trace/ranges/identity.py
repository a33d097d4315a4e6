"""Which values are equal because they are computed alike, and which depend on the same data.

`where(x.sum() > 0, x.sum(), 1)` computes a sum twice; to see that the predicate is about the value
that is chosen, both have to be known as one.
"""

from __future__ import annotations

from typing import Any

from ..program import Step, Value

# Give back what they are given, as far as numbers go.
_PASS_ON = frozenset(
    """stop_gradient copy copy_p optimization_barrier sharding_constraint pvary pcast name
    device_put""".split()
)

# Rearrange or repeat elements, without a choice that depends on data.
REARRANGE = frozenset(("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "rev"))


class Identities:
    """Numbers the values of one program as its steps are met."""

    def __init__(self) -> None:
        self._first: dict[Any, Value] = {}
        self._same: dict[Value, Value] = {}
        self._depends: dict[Value, int] = {}
        self._sources = 0
        self._positions = 0

    def add_source(self, value: Value) -> None:
        """Take note of a value that brings its own variation, such as an input or a counter."""
        self._depends[value] = self._depends.get(value, 0) | 1 << self._sources
        self._sources += 1

    def add_step(self, step: Step) -> None:
        """Take note of what a step makes, after all that it is made from."""
        if not step.inputs or step.primitive.startswith(("random_", "rng_")):
            for value in step.outputs:
                self.add_source(value)
            if step.primitive == "iota":
                self._positions |= self._depends[step.outputs[0]]
        else:
            self.add_depending(step.outputs, step.inputs)
        if step.kind == "operation" and len(step.outputs) == 1:
            self._number(step)

    def add_depending(self, values: list[Value], on: list[Value]) -> None:
        """Take note of values that are made from others."""
        depends = 0
        for value in on:
            depends |= self._depends.get(value, 0)
        for value in values:
            self._depends[value] = self._depends.get(value, 0) | depends

    def _number(self, step: Step) -> None:
        output = step.outputs[0]
        if output in self._same or step.primitive.startswith(("random_", "rng_")):
            return
        if step.primitive in _PASS_ON or _keeps_type(step):
            self._same[output] = self.of(step.inputs[0])
            return
        try:
            inputs = tuple(_name(self.of(value)) for value in step.inputs)
            key = (step.primitive, inputs, tuple(step.params.items()), output.aval.dtype)
            self._same[output] = self._first.setdefault(key, output)
        except (TypeError, AttributeError):  # Parameters that cannot be hashed.
            pass

    def of(self, value: Value) -> Value:
        """The value that stands for all which are equal to this one."""
        return self._same.get(value, value)

    def equal(self, one: Value, other: Value) -> bool:
        """Whether two values are known to be equal."""
        return _name(self.of(one)) == _name(self.of(other))

    def share_data(self, one: Value, other: Value) -> bool:
        """Whether two values depend on common data, so that they cannot vary independently."""
        return bool(self._depends.get(one, 0) & self._depends.get(other, 0))

    def is_by_position(self, value: Value) -> bool:
        """Whether an element depends on nothing but where it is, as those of a triangular mask."""
        return not self._depends.get(value, 0) & ~self._positions

    def depends_on(self, value: Value) -> int:
        """A mask of the sources that a value depends on."""
        return self._depends.get(value, 0)


def _keeps_type(step: Step) -> bool:
    return (
        step.primitive == "convert_element_type" and step.inputs[0].dtype == step.outputs[0].dtype
    )


def _name(value: Value) -> Any:
    if value.is_constant and value.shape == ():
        constant = value.constant
        try:
            return (value.dtype, constant.item() if hasattr(constant, "item") else constant)
        except TypeError:  # A typed key.
            return id(value)
    return id(value)


def unarranged(value: Value) -> Value:
    """A value before its elements were broadcast, reshaped or transposed."""
    while (
        value.producer is not None
        and value.producer.kind == "operation"
        and (value.producer.primitive in REARRANGE | _PASS_ON or _keeps_type(value.producer))
    ):
        value = value.producer.inputs[0]
    return value
