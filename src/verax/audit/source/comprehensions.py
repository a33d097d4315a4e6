"""Comprehensions: loops that make a container of what one turn gives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import parts
from .frame import Region, Site
from .looping import varying
from .values import Mapping, Sequence, Value

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter


def _inside(
    machine: Interpreter, frame: Frame, syntax: Any, evaluate: Callable[[], Value]
) -> tuple[Value, Any]:
    """What one turn of all `for` parts gives, and the number of turns where it is known."""
    from .expressions import condition
    from .shaping import length_of
    from .statements import assign

    outer_environment, outer_region = frame.environment, frame.region
    frame.environment = dict(outer_environment)
    machine.control += 1
    length: Any = None
    for generator in syntax.generators:
        iterated = machine.evaluate(frame, generator.iter)
        length = length_of(iterated) if len(syntax.generators) == 1 and not generator.ifs else None
        place = frame.place(syntax)
        region = Region("loop", frame.region, place, syntax=syntax, iterated=iterated)
        frame.region = region
        element = parts.element(machine, Site(frame, generator.iter), iterated)
        assign(machine, frame, generator.target, varying(element, region, generator.target, frame))
        for test in generator.ifs:
            condition(machine, frame, test, "if")
    result = evaluate()
    machine.control -= 1
    frame.environment, frame.region = outer_environment, outer_region
    return result, length


def comprehension(kind: str) -> Callable[[Interpreter, Frame, Any], Value]:
    """A list, a set or a generator."""

    def evaluate(machine: Interpreter, frame: Frame, syntax: Any) -> Value:
        element, length = _inside(
            machine, frame, syntax, lambda: machine.evaluate(frame, syntax.elt)
        )
        return Sequence(kind, None, element, frame, machine.control, length=length, syntax=syntax)

    return evaluate


def dict_comprehension(machine: Interpreter, frame: Frame, syntax: ast.DictComp) -> Value:
    """A dict whose keys are not known."""

    def pair() -> Value:
        machine.evaluate(frame, syntax.key)
        return machine.evaluate(frame, syntax.value)

    value, _ = _inside(machine, frame, syntax, pair)
    return Mapping({object(): value}, True, frame, machine.control, syntax)
