"""Comprehensions: loops that make a container of what one turn gives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import parts
from .assigning import assign
from .frame import Region, Site
from .looping import known_turns, one_by_one, varying
from .shaping import length_of
from .values import Constant, Mapping, Sequence, Value, words_of

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter


def _inside(
    machine: Interpreter, frame: Frame, syntax: Any, first: Value, evaluate: Callable[[], Value]
) -> tuple[Value, Any]:
    """What one turn of all `for` parts gives, and the number of turns where it is known."""
    from .expressions import condition

    outer_environment, outer_region = frame.environment, frame.region
    frame.environment = dict(outer_environment)
    machine.control += 1
    length: Any = None
    for generator in syntax.generators:
        is_first = generator is syntax.generators[0]
        iterated = first if is_first else machine.evaluate(frame, generator.iter)
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


def _one_by_one(
    machine: Interpreter, frame: Frame, syntax: Any, first: Value, evaluate: Callable[[], Value]
) -> list[Value] | None:
    """What each turn of a comprehension gives, where these are few and known."""
    generator = syntax.generators[0]
    turns = known_turns(machine, first, isinstance(syntax, ast.DictComp), generator.iter)
    if turns is None or len(syntax.generators) != 1 or generator.ifs:
        return None
    outer = frame.environment
    items: list[Value] = []
    with one_by_one(machine, turns):
        for turn in turns:
            frame.environment = dict(outer)
            assign(machine, frame, generator.target, turn)
            items.append(evaluate())
    frame.environment = outer
    return items


def comprehension(kind: str) -> Callable[[Interpreter, Frame, Any], Value]:
    """A list, a set or a generator."""

    def evaluate(machine: Interpreter, frame: Frame, syntax: Any) -> Value:
        first = machine.evaluate(frame, syntax.generators[0].iter)

        def element_of_turn() -> Value:
            value = machine.evaluate(frame, syntax.elt)
            if kind == "set":
                parts.hashed(machine, Site(frame, syntax.elt), value)
            return value

        items = _one_by_one(machine, frame, syntax, first, element_of_turn)
        is_plain = len(syntax.generators) == 1 and not syntax.generators[0].ifs
        words = words_of(first) if is_plain and kind == "list" else None
        if items is not None:
            made = Sequence(kind, items, None, frame, machine.control, syntax=syntax)
            made.words = words
            return made
        element, length = _inside(machine, frame, syntax, first, element_of_turn)
        if isinstance(syntax.elt, ast.Name) and element is frame.environment.get(syntax.elt.id):
            # A variable of the function, not one of the comprehension.
            element = parts.copy_of(Site(frame, syntax), element)
        made = Sequence(kind, None, element, frame, machine.control, length=length, syntax=syntax)
        made.words = words
        return made

    return evaluate


def dict_comprehension(machine: Interpreter, frame: Frame, syntax: ast.DictComp) -> Value:
    """A dict; its keys are known where its turns are."""

    def pair() -> Sequence:
        key = machine.evaluate(frame, syntax.key)
        parts.hashed(machine, Site(frame, syntax.key), key)
        return machine.tuple_of(key, machine.evaluate(frame, syntax.value))

    first = machine.evaluate(frame, syntax.generators[0].iter)
    pairs = _one_by_one(machine, frame, syntax, first, pair)
    is_open = pairs is None
    if pairs is None:
        pairs = [_inside(machine, frame, syntax, first, pair)[0]]
    items: dict[Any, Value] = {}
    for it in pairs:
        key, value = it.items if isinstance(it, Sequence) and it.items else (it, it)
        if isinstance(key, Constant) and not is_open:
            items[key.value] = value
        else:
            items[object()], is_open = value, True
    return Mapping(items, is_open, frame, machine.control, syntax)
