"""What Python goes through, and the containers that it makes of that."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import parts
from ..binding import gathered
from ..events import Fact
from ..looping import FEW, each_turn, known_turns, one_by_one, stand_alone, varying
from ..shapes.dims import Size, add
from ..shaping import length_of
from ..values import (
    NONE,
    Bound,
    Constant,
    Data,
    Instance,
    Mapping,
    Sequence,
    Value,
    View,
    words_of,
)
from .arguments import compare_by_key, first_of
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("builtins.range")
def _range(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    for value in args:
        machine.convert(site, "range", value)
    counter = _counter(machine, site, args)
    bounds = [it.value for it in args if isinstance(it, Constant)]
    are_integers = len(bounds) == len(args) and all(isinstance(it, int) for it in bounds)
    length = None
    if len(bounds) == len(args) == 1:
        length = bounds[0]
        counter.limit = bounds[0]
    elif are_integers and len(bounds) in (2, 3) and bounds[2:] != [0]:
        taken = range(*bounds)
        length = len(taken)
        counter.limit = max(taken[0], taken[-1]) + 1 if taken else None
    elif len(bounds) == len(args) == 3 and bounds[1:] == [-1, -1] and isinstance(bounds[0], Size):
        length = counter.limit = add(bounds[0], 1)
    if machine.is_thorough and type(length) is int and length <= FEW:
        turns: list[Value] = [Constant(it) for it in range(*bounds)]
        return Sequence("range", turns, length=length)
    return Sequence("range", None, counter, length=length)


def _counter(machine: Interpreter, site: Site, args: Iterable[Value]) -> Data:
    """A number of Python's that counts the turns of a loop."""
    counter = machine.opaque("counter", site, args, traced=False)
    counter.is_array = True
    counter.node.shape, counter.node.dtype = (), "int32*"
    return counter


@handles("builtins.enumerate")
def _enumerate(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    iterated = _gone_through(first_of(args))
    items = iterated.items if isinstance(iterated, Sequence) and iterated.kind != "set" else None
    is_worth_it = machine.is_thorough and len(items or ()) <= FEW
    if (
        items is not None
        and len(args) == 1
        and not keywords
        and (is_worth_it or stand_alone(iterated))
    ):
        pairs = enumerate(items)
        return Sequence("enumerate", [machine.tuple_of(Constant(at), it) for at, it in pairs])
    counter = _counter(machine, site, ())
    length = length_of(iterated)
    if len(args) == 1 and not keywords:
        counter.limit = length
    element = parts.element(machine, site, iterated)
    return Sequence("enumerate", None, machine.tuple_of(counter, element), length=length)


@handles("builtins.zip")
def _zip(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    machine.note(Fact(site.syntax, site.frame, "zip", {"parts": args}))
    rows = args[0] if site.is_open and len(args) == 1 else None
    if isinstance(rows, Sequence) and rows.items is not None:
        # `zip(*rows)`: as many columns as there are elements in a row.
        return Sequence("zip", [gathered(site, it) for it in rows.items])
    strict = keywords.get("strict")
    return _rows(machine, site, args, isinstance(strict, Constant) and strict.value is True)


def _rows(machine: Interpreter, site: Site, args: list[Value], is_strict: bool) -> Sequence:
    """What several things give together, until the shortest of them ends."""
    args = [_gone_through(it) for it in args]
    lengths = [length_of(it) for it in args]
    numbers = [it for it in lengths if isinstance(it, int)]
    length = min(numbers) if len(numbers) == len(args) and numbers else None
    if args and None not in lengths and length is None and all(it == lengths[0] for it in lengths):
        length = lengths[0]
    alone = [number for it, number in zip(args, lengths, strict=True) if stand_alone(it)]
    if alone and length is None:
        length = min(alone)  # One that is not known goes along.
    if (machine.is_thorough or alone) and type(length) is int and length <= FEW:
        rows = [
            machine.tuple_of(*(parts.item(machine, site, it, Constant(at)) for it in args))
            for at in range(length)
        ]
        return Sequence("zip", list(rows))
    items: list[Value] = []
    for it, own in zip(args, lengths, strict=True):
        is_longer = type(own) is int and type(length) is int and own > length
        if isinstance(it, Data) and not is_strict and (is_longer or _may_go_on(it, args)):
            # Where a shorter one has ended, its last elements are not met.
            end = machine.opaque("length", site, (), traced=False)
            it = parts.item(machine, site, it, Sequence("slice", [NONE, end, NONE]))
        items.append(parts.element(machine, site, it))
    return Sequence("zip", None, Sequence("tuple", items), length=length)


def _gone_through(value: Value) -> Value:
    """What going through something gives, one by one: the keys of a dict, if they are known."""
    if isinstance(value, Mapping) and not value.is_open:
        return View(value, [Constant(key) for key in value.items])
    return value


def _may_go_on(keys: Data, others: list[Value]) -> bool:
    """Whether keys are made in another number than there are elements in what they go with."""
    operands = keys.node.operands if keys.node.operation == "jax.random.split" else ()
    count = operands[1] if len(operands) == 2 else None
    nodes = [it.node for it in others if isinstance(it, Data)]
    lengths = [(it.children or {}).get(("static", "len")) for it in nodes]
    return isinstance(count, Data) and count.node not in lengths


@handles("builtins.reversed", "builtins.sorted", "builtins.iter", "builtins.set")
@handles("builtins.frozenset")
def _same_elements(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = first_of(args)
    if name.endswith("reversed") and isinstance(value, Sequence) and value.items is not None:
        return Sequence("list", value.items[::-1], None, site.frame, machine.control)
    if name.endswith("reversed") and isinstance(value, Sequence) and value.kind == "range":
        return value
    if name.endswith("sorted"):
        machine.convert(site, "sorted", value)
        names = _known_names(value) if not keywords else None
        if names is not None:
            in_order: list[Value] = [Constant(it) for it in sorted(names)]
            return Sequence("list", in_order, None, site.frame, machine.control)
    if isinstance(value, Mapping):
        return machine.opaque(name, site, (), traced=False)
    if not args:
        return Sequence("set", [], None, site.frame, machine.control)
    element = parts.element(machine, site, value)
    if name.endswith("sorted"):
        compare_by_key(machine, site, element, keywords)
    if name.endswith("set"):
        parts.hashed(machine, site, element)
        return Sequence("set", None, element, site.frame, machine.control)
    return Sequence("list", None, element, site.frame, machine.control, length_of(value))


def _known_names(value: Value) -> list[str] | None:
    """The strings of a container, or the keys of a dict, if all of them are known."""
    if isinstance(value, Mapping):
        keys = list(value.items) if not value.is_open else [None]
    else:
        items = value.items if isinstance(value, Sequence) else None
        keys = [getattr(it, "value", None) for it in (items if items is not None else [None])]
    names = [it for it in keys if isinstance(it, str)]
    return names if len(names) == len(keys) else None


@handles("builtins.list", "builtins.tuple")
def _container(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind = name.removeprefix("builtins.")
    if not args:
        return Sequence(kind, [], None, site.frame, machine.control)
    value = args[0]
    if isinstance(value, Sequence):
        items = None if value.items is None else list(value.items)
        made = Sequence(
            kind, items, value.element, site.frame, machine.control, length=value.length
        )
        made.words = words_of(value) if isinstance(value, View) else value.words
        return made
    if isinstance(value, Mapping) and not value.is_open:
        keys: list[Value] = [Constant(key) for key in value.items]
        return Sequence(kind, keys, None, site.frame, machine.control)
    length = length_of(value)
    if isinstance(value, Data) and isinstance(length, int) and length <= _ROWS:
        rows = [parts.item(machine, site, value, Constant(row)) for row in range(length)]
        return Sequence(kind, rows, None, site.frame, machine.control)
    element = parts.element(machine, site, value)
    return Sequence(kind, None, element, site.frame, machine.control, length)


# The rows of a longer array need not be told apart.
_ROWS = 16


def _pairs(value: Value) -> dict[object, Value] | None:
    """What a dict holds that is made of pairs, if all of its keys are known."""
    found: dict[object, Value] = {}
    if not isinstance(value, Sequence) or value.items is None:
        return None
    for pair in value.items:
        items = pair.items if isinstance(pair, Sequence) else None
        if items is None or len(items) != 2:
            return None
        key = items[0]
        if not isinstance(key, Constant) or not isinstance(key.value, (str, int)):
            return None
        found[key.value] = items[1]
    return found


@handles("builtins.dict")
def _dict(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    items: dict[object, Value] = {}
    is_open = site.is_open
    for value in args[:1]:
        if isinstance(value, Mapping):
            items.update(value.items)
            is_open = is_open or value.is_open
        elif (pairs := _pairs(value)) is not None:
            items.update(pairs)
        else:
            is_open = True
            items[object()] = machine.opaque("dict", site, (value,))
    items.update(keywords)
    return Mapping(items, is_open, site.frame, machine.control, site.syntax)


@handles("builtins.map", "builtins.filter")
def _map(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if not args:
        return Sequence("map", [])
    given = site.syntax.args if isinstance(site.syntax, ast.Call) else []
    written = given[1] if len(given) == 2 else None
    turns = known_turns(machine, args[1], written=written) if len(args) == 2 else None
    if turns is not None and name.endswith("map"):
        with one_by_one(machine, turns):
            return Sequence("map", [machine.call(site, args[0], [it], {}) for it in turns])
    if len(args) > 2:
        return _map_rows(machine, site, args[0], _rows(machine, site, args[1:], False))
    with each_turn(machine, site, args[1] if len(args) > 1 else Constant(None)) as region:
        elements = [
            varying(parts.element(machine, site, it), region, site.syntax, site.frame)
            for it in args[1:]
        ]
        result = machine.call(site, args[0], elements, {})
    if name.endswith("filter"):
        machine.test(site, "filter", result)
        result = elements[0] if elements else result
    return Sequence("map", None, result, length=None)


def _map_rows(machine: Interpreter, site: Site, function: Value, rows: Sequence) -> Value:
    """`map` of a function over several things at once."""
    if rows.items is not None:
        with one_by_one(machine, rows.items):
            results = [machine.call(site, function, _elements_of(row), {}) for row in rows.items]
        return Sequence("map", results)
    with each_turn(machine, site, rows) as region:
        elements = [
            varying(it, region, site.syntax, site.frame) for it in _elements_of(rows.element)
        ]
        result = machine.call(site, function, elements, {})
    return Sequence("map", None, result, length=rows.length)


def _elements_of(row: Value | None) -> list[Value]:
    """The elements of one row."""
    return list(row.items or ()) if isinstance(row, Sequence) else []


@handles("builtins.next")
def _next(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = first_of(args)
    method = value.cls.find("__next__") if isinstance(value, Instance) else None
    if method is not None:
        return machine.call(site, Bound(method, value), [], {})
    # Each call gives another element.
    return machine.opaque("next", site, (value,))
