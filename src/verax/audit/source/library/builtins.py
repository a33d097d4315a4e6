"""Python's own functions."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from .. import parts
from ..events import Fact, Mutation
from ..joining import join
from ..looping import stand_alone
from ..shaping import length_of
from ..values import (
    NONE,
    Bound,
    Class,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
)
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


def _first(args: list[Value]) -> Value:
    return args[0] if args else Constant(None)


@handles("builtins.float", "builtins.int", "builtins.bool", "builtins.complex")
def _number(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = _first(args)
    machine.convert(site, name.removeprefix("builtins."), value)
    if isinstance(value, Constant):
        try:
            return Constant({"int": int, "float": float, "bool": bool}[name[9:]](value.value))
        except Exception:
            pass
    result = machine.opaque(name, site, args, traced=False)
    result.is_array, result.node.shape = True, ()
    return result


@handles("math.*")
def _math(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    for value in args:
        machine.convert(site, "float", value)
    numbers = [it.value for it in args if isinstance(it, Constant)]
    if len(numbers) == len(args):
        try:
            return Constant(getattr(math, name.removeprefix("math."))(*numbers))
        except (AttributeError, TypeError, ValueError, OverflowError):
            pass
    result = machine.opaque(name, site, args, traced=False)
    result.is_array = True
    return result


@handles("builtins.len")
def _len(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = _first(args)
    if isinstance(value, Sequence) and value.items is not None:
        return Constant(len(value.items))
    if isinstance(value, Mapping) and not value.is_open:
        return Constant(len(value.items))
    length = length_of(value)
    if length is not None:
        return Constant(length)
    if isinstance(value, Data):
        child = value.node.child("static", "len", site.syntax, site.frame)
        return Data(child, False, True)
    return machine.opaque("len", site, (), traced=False)


@handles("builtins.issubclass", "builtins.callable")
def _question(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.opaque(name, site, (), traced=False)


@handles("builtins.range")
def _range(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    for value in args:
        machine.convert(site, "range", value)
    counter = machine.opaque("counter", site, args, traced=False)
    counter.is_array = True
    bounds = [it.value for it in args if isinstance(it, Constant)]
    length = None
    if len(bounds) == len(args) == 1:
        length = bounds[0]
        counter.limit = bounds[0]
    elif len(bounds) == len(args) == 2 and all(isinstance(it, int) for it in bounds):
        length = max(bounds[1] - bounds[0], 0)
        counter.limit = bounds[1]
    elif len(bounds) == len(args) == 3 and all(isinstance(it, int) for it in bounds) and bounds[2]:
        length = len(range(*bounds))
    return Sequence("range", None, counter, length=length)


@handles("builtins.enumerate")
def _enumerate(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    iterated = _first(args)
    if len(args) == 1 and not keywords and isinstance(iterated, Sequence) and stand_alone(iterated):
        pairs = enumerate(iterated.items or ())
        return Sequence("enumerate", [machine.tuple_of(Constant(at), it) for at, it in pairs])
    counter = machine.opaque("counter", site, (), traced=False)
    counter.is_array = True
    length = length_of(iterated)
    if len(args) == 1 and not keywords:
        counter.limit = length
    element = parts.element(machine, site, iterated)
    return Sequence("enumerate", None, machine.tuple_of(counter, element), length=length)


@handles("builtins.zip")
def _zip(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    lengths = [length_of(it) for it in args]
    numbers = [it for it in lengths if isinstance(it, int)]
    length = min(numbers) if len(numbers) == len(args) and numbers else None
    if args and None not in lengths and length is None and all(it == lengths[0] for it in lengths):
        length = lengths[0]
    alone = [number for it, number in zip(args, lengths, strict=True) if stand_alone(it)]
    if alone and length is None:
        length = min(alone)  # One that is not known goes along.
    if (machine.is_thorough or alone) and type(length) is int and length <= 6:
        rows = [
            machine.tuple_of(*(parts.item(machine, site, it, Constant(at)) for it in args))
            for at in range(length)
        ]
        return Sequence("zip", list(rows))
    items: list[Value] = []
    strict = keywords.get("strict")
    is_strict = isinstance(strict, Constant) and strict.value is True
    for it, own in zip(args, lengths, strict=True):
        is_longer = type(own) is int and type(length) is int and own > length
        if isinstance(it, Data) and not is_strict and (is_longer or _may_go_on(it, args)):
            # Where a shorter one has ended, its last elements are not met.
            end = machine.opaque("length", site, (), traced=False)
            it = parts.item(machine, site, it, Sequence("slice", [NONE, end, NONE]))
        items.append(parts.element(machine, site, it))
    return Sequence("zip", None, Sequence("tuple", items), length=length)


def _may_go_on(keys: Data, others: list[Value]) -> bool:
    """Whether keys are made in another number than there are elements in what they go with."""
    operands = keys.node.operands if keys.node.operation == "jax.random.split" else ()
    count = operands[1] if len(operands) == 2 else None
    nodes = [it.node for it in others if isinstance(it, Data)]
    lengths = [(it.children or {}).get(("static", "len")) for it in nodes]
    return isinstance(count, Data) and count.node not in lengths


@handles("builtins.reversed", "builtins.sorted", "builtins.iter", "builtins.set")
def _same_elements(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = _first(args)
    if name.endswith("reversed") and isinstance(value, Sequence) and value.items is not None:
        return Sequence("list", value.items[::-1], None, site.frame, machine.control)
    if name.endswith("reversed") and isinstance(value, Sequence) and value.kind == "range":
        return value
    if name.endswith("sorted"):
        machine.convert(site, "sorted", value)
    if isinstance(value, Mapping):
        return machine.opaque(name, site, (), traced=False)
    if not args:
        return Sequence("set", [], None, site.frame, machine.control)
    element = parts.element(machine, site, value)
    if name.endswith("set"):
        parts.hashed(machine, site, element)
        return Sequence("set", None, element, site.frame, machine.control)
    return Sequence("list", None, element, site.frame, machine.control, length_of(value))


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
        return Sequence(
            kind, items, value.element, site.frame, machine.control, length=value.length
        )
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


@handles("builtins.sum", "builtins.max", "builtins.min", "builtins.abs", "builtins.round")
@handles("builtins.pow", "builtins.divmod")
def _arithmetic(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    numbers = [it.value for it in args if isinstance(it, Constant)]
    if numbers and len(numbers) == len(args) and name in ("builtins.max", "builtins.min"):
        try:
            return Constant(max(*numbers) if name.endswith("max") else min(*numbers))
        except TypeError:
            pass
    if name in ("builtins.max", "builtins.min"):
        for value in args:
            machine.convert(site, name[9:], value)
    operands = args
    if name == "builtins.sum" and args:
        operands = [parts.element(machine, site, args[0]), *args[1:]]
    return machine.array(name, site, operands, is_jax=False)


@handles("builtins.any", "builtins.all")
def _quantifier(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = parts.element(machine, site, _first(args))
    machine.test(site, name[9:], value)
    return machine.opaque(name, site, (), traced=False)


@handles("builtins.print")
def _print(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    machine.note(Fact(site.syntax, site.frame, "print", {"values": args}))
    return Constant(None)


@handles("builtins.str", "builtins.repr", "builtins.format", "builtins.ascii", "constant.format")
def _text(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    template = _first(args)
    if name == "constant.format":
        if isinstance(template, Constant) and re.search(r"\{\w*:", str(template.value)):
            for value in (*args[1:], *keywords.values()):
                machine.convert(site, "format", value)
        return parts.as_text(machine, site, [*args[1:], *keywords.values()])
    if name == "builtins.format" and len(args) > 1:
        machine.convert(site, "format", template)
    known = parts.shown_text(template) if name == "builtins.str" else None
    return Constant(known) if known is not None else parts.as_text(machine, site, args[:1])


@handles("builtins.getattr")
def _getattr(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) >= 2 and isinstance(args[1], Constant) and isinstance(args[1].value, str):
        found = parts.named_attribute(machine, site, args[0], args[1].value)
        return found if len(args) == 2 else join(found, args[2])
    return machine.opaque("getattr", site, args)


@handles("builtins.map", "builtins.filter")
def _map(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if not args:
        return Sequence("map", [])
    elements = [parts.element(machine, site, it) for it in args[1:]]
    result = machine.call(site, args[0], elements, {})
    if name.endswith("filter"):
        machine.test(site, "filter", result)
        result = elements[0] if elements else result
    return Sequence("map", None, result, length=None)


@handles("builtins.type")
def _type(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = _first(args)
    if isinstance(value, Instance):
        return value.cls
    return machine.opaque("type", site, (), traced=False)


@handles("builtins.staticmethod", "builtins.classmethod", "builtins.property")
@handles("functools.cached_property")
def _marker(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return Partial(External(name.replace("functools", "builtins")), args[:1], {})


@handles("builtins.property.setter", "builtins.property.getter", "builtins.property.deleter")
def _changed_property(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kept, how = args[0], name.rpartition(".")[2]
    if not isinstance(kept, Partial) or len(args) < 2:
        return kept
    getter = args[1:2] if how == "getter" else kept.args
    setter = {"setter": args[1]} if how == "setter" else kept.keywords
    return Partial(kept.function, getter, setter)


@handles("builtins.setattr")
def _setattr(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`setattr(thing, "name", value)` is `thing.name = value`."""
    attribute = args[1].value if len(args) == 3 and isinstance(args[1], Constant) else None
    if isinstance(attribute, str):
        owner, value = args[0], args[2]
        machine.note(Mutation(site.syntax, site.frame, owner, attribute, "attribute", value))
        if isinstance(owner, Instance):
            before = owner.attributes.get(attribute)
            owner.attributes[attribute] = value if before is None else join(before, value)
    return Constant(None)


@handles("builtins.next")
def _next(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = _first(args)
    # Each call gives another element.
    return machine.opaque("next", site, (value,))


@handles("functools.partial", "jax.tree_util.Partial", "jax.util.partial")
def _partial(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if not args:
        return machine.opaque("partial", site, ())
    return Partial(args[0], args[1:], keywords)


@handles("functools.wraps", "functools.update_wrapper")
def _wraps(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return External("verax.identity")


@handles("functools.lru_cache", "functools.cache")
def _cache(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if args and isinstance(args[0], (Function, Transformed, Partial, Bound)):
        return Partial(External("verax.cached"), args[:1], {})
    return External("functools.cache")


@handles("verax.cached")
def _cached(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    function, *given = args
    result = machine.call(site, function, given, keywords)
    if site.frame.is_staged:
        data = {"function": function, "args": [*given, *keywords.values()], "result": result}
        machine.note(Fact(site.syntax, site.frame, "cached", data))
    return result


@handles("verax.identity", "contextlib.contextmanager")
@handles("typing.cast", "jax.named_scope", "jax.named_call", "typing.no_type_check")
@handles("abc.abstractmethod", "typing.override", "typing_extensions.override", "typing.final")
@handles("typing.overload", "jaxtyping.jaxtyped", "chex.assert_max_traces")
def _identity(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if name == "typing.cast" and len(args) == 2:
        return args[1]
    if args and isinstance(args[0], (Function, Transformed, Partial, Bound, Class)):
        return args[0]
    return External("verax.identity")


@handles("time.time", "time.perf_counter", "time.monotonic", "datetime.datetime.now")
@handles("random.random", "random.randint", "random.choice", "random.uniform", "random.gauss")
@handles("random.shuffle", "os.urandom", "uuid.uuid4", "builtins.input")
def _impure(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.opaque(name, site, args, traced=False)
