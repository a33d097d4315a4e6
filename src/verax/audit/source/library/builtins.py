"""Python's own functions, and the methods of its containers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import parts
from ..events import Fact, Mutation
from ..joining import element_of, join
from ..shaping import length_of
from ..values import (
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
    return Sequence("range", None, counter, length=length)


@handles("builtins.enumerate")
def _enumerate(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    iterated = _first(args)
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
    if machine.is_thorough and type(length) is int and length <= 6:
        rows = [
            machine.tuple_of(*(parts.item(machine, site, it, Constant(at)) for it in args))
            for at in range(length)
        ]
        return Sequence("zip", list(rows))
    items = [parts.element(machine, site, it) for it in args]
    return Sequence("zip", None, Sequence("tuple", items), length=length)


@handles("builtins.reversed", "builtins.sorted", "builtins.iter", "builtins.set")
def _same_elements(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = _first(args)
    if name.endswith("reversed") and isinstance(value, Sequence) and value.items is not None:
        return Sequence("list", value.items[::-1], None, site.frame, machine.control)
    if name.endswith("sorted"):
        machine.convert(site, "sorted", value)
    if isinstance(value, Mapping):
        return machine.opaque(name, site, (), traced=False)
    if not args:
        return Sequence("set", [], None, site.frame, machine.control)
    element = parts.element(machine, site, value)
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
    element = parts.element(machine, site, value)
    return Sequence(kind, None, element, site.frame, machine.control, length_of(value))


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
    return parts.as_text(machine, site, args[:1])


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
    name = "builtins.property" if name.endswith("property") else name
    return Partial(External(name), args[:1], {})


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


@handles("verax.identity", "functools.lru_cache", "functools.cache", "contextlib.contextmanager")
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


# --- methods of containers


@handles("list.append", "set.add", "list.insert")
def _append(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    value = args[-1] if len(args) > 1 else Constant(None)
    how = name.rpartition(".")[2]
    machine.note(Mutation(site.syntax, site.frame, owner, how, how, value))
    if isinstance(owner, Sequence):
        _add(machine, owner, value)
    return Constant(None)


def _add(machine: Interpreter, owner: Sequence, value: Value) -> None:
    if owner.items is not None and owner.made_at == machine.control:
        owner.items.append(value)
        owner.length = len(owner.items)
        return
    before = element_of(owner)
    owner.element = value if before is None else join(before, value)
    owner.items = None
    owner.length = None


def extend_list(machine: Interpreter, site: Site, owner: Sequence, value: Value, name: str) -> None:
    """`owner += value`, or `owner.extend(value)`."""
    machine.note(Mutation(site.syntax, site.frame, owner, name, "extend", value))
    if isinstance(value, Sequence) and value.items is not None:
        for item in value.items:
            _add(machine, owner, item)
    else:
        before = element_of(owner)
        element = parts.element(machine, site, value)
        owner.element = element if before is None else join(before, element)
        owner.items = None
        owner.length = None


@handles("list.extend", "set.update")
def _extend(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    if isinstance(owner, Sequence) and len(args) > 1:
        extend_list(machine, site, owner, args[1], name.rpartition(".")[2])
    return Constant(None)


@handles("list.pop", "list.remove", "list.clear", "list.sort", "list.reverse", "dict.pop")
@handles("dict.clear", "dict.popitem", "dict.setdefault", "set.discard", "set.remove")
def _change(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    how = name.rpartition(".")[2]
    stored = args[2] if how == "setdefault" and len(args) > 2 else None
    machine.note(Mutation(site.syntax, site.frame, owner, how, how, stored))
    element: Value | None = None
    if isinstance(owner, Sequence):
        element = element_of(owner)
        owner.items, owner.element, owner.length = None, element, None
    elif isinstance(owner, Mapping):
        key = args[1] if len(args) > 1 else None
        if how == "pop" and isinstance(key, Constant) and key.value in owner.items:
            element = owner.items[key.value]
        owner.is_open = True
    if element is None:
        return machine.opaque(how, site, (owner,))
    return element


@handles("dict.update")
def _update(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    given = Sequence("tuple", [*args[1:], *keywords.values()])
    machine.note(Mutation(site.syntax, site.frame, owner, "update", "update", given))
    if isinstance(owner, Mapping):
        for value in args[1:]:
            if isinstance(value, Mapping):
                owner.items.update(value.items)
                owner.is_open = owner.is_open or value.is_open
            else:
                owner.is_open = True
        owner.items.update(keywords)
        if owner.made_at != machine.control:
            owner.is_open = True
    return Constant(None)


@handles("dict.get")
def _get(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    found = parts.item(machine, site, args[0], args[1] if len(args) > 1 else Constant(None))
    default = args[2] if len(args) > 2 else Constant(None)
    owner = args[0]
    key = args[1].value if len(args) > 1 and isinstance(args[1], Constant) else None
    if key is not None and isinstance(owner, Mapping) and key in owner.items:
        return found
    return join(found, default)


@handles("dict.items", "dict.keys", "dict.values", "dict.copy", "list.copy")
def _views(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    how = name.rpartition(".")[2]
    if how == "copy":
        if isinstance(owner, Mapping):
            return Mapping(dict(owner.items), owner.is_open, site.frame, machine.control)
        if isinstance(owner, Sequence):
            items = None if owner.items is None else list(owner.items)
            return Sequence(owner.kind, items, owner.element, site.frame, machine.control)
        return owner
    if not isinstance(owner, Mapping):
        return machine.opaque(how, site, (owner,))
    if owner.is_open:
        joined: Value | None = None
        for value in owner.items.values():
            joined = value if joined is None else join(joined, value)
        joined = joined or machine.opaque(how, site, (owner,))
        key = machine.opaque("key", site, (), traced=False)
        element = {"items": machine.tuple_of(key, joined), "keys": key, "values": joined}[how]
        return Sequence("list", None, element)
    pairs: list[Value] = []
    for key, value in owner.items.items():
        constant = Constant(key)
        pairs.append({"items": machine.tuple_of(constant, value), "keys": constant}.get(how, value))
    return Sequence("list", pairs)


@handles("tuple._replace")
def _replace(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    if isinstance(owner, Sequence) and owner.type is not None and owner.items is not None:
        names = list(owner.type.fields)
        items = [keywords.get(n, v) for n, v in zip(names, owner.items, strict=False)]
        return Sequence("tuple", items, None, site.frame, type=owner.type)
    return machine.opaque("replace", site, (*args, *keywords.values()))


@handles("dataclasses.replace", "object.replace", "object._replace", "object.__replace__")
def _replace_fields(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = _first(args)
    if isinstance(owner, Instance):
        made = machine.opaque("object", site, (*args, *keywords.values()))
        copy = Instance(owner.cls, made.node, site.frame, owner.traced)
        copy.attributes = {**owner.attributes, **keywords}
        return copy
    return machine.opaque("replace", site, (*args, *keywords.values()))


@handles("time.time", "time.perf_counter", "time.monotonic", "datetime.datetime.now")
@handles("random.random", "random.randint", "random.choice", "random.uniform", "random.gauss")
@handles("random.shuffle", "os.urandom", "uuid.uuid4", "builtins.input")
def _impure(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.opaque(name, site, args, traced=False)
