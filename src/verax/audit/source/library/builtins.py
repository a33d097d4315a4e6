"""Python's own functions."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import parts
from ..attributes import all_attributes, named_attribute
from ..events import Fact, Mutation
from ..graph import Node
from ..joining import join
from ..operators import binary
from ..scalars import is_number
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
    leaves,
)
from .arguments import compare_by_key, first_of, product_of_sizes
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("builtins.hash")
def _hash(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    parts.hashed(machine, site, first_of(args))
    return machine.opaque(name, site, args, traced=False)


@handles("builtins.float", "builtins.int", "builtins.bool", "builtins.complex")
def _number(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = first_of(args)
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
    size = product_of_sizes(args, keywords) if name == "math.prod" else None
    if size is not None:
        return size
    numbers = [it.value for it in args if isinstance(it, Constant)]
    if len(numbers) == len(args):
        try:
            return Constant(getattr(math, name.removeprefix("math."))(*numbers))
        except (AttributeError, TypeError, ValueError, OverflowError):
            pass
    result = machine.opaque(name, site, args, traced=False)
    result.is_array, result.node.shape = True, None if name in _PAIRS else ()
    return result


_PAIRS = frozenset(("math.frexp", "math.modf"))


@handles("builtins.len")
def _len(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = first_of(args)
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


# What numbers that are known give.
_FOLDED: dict[str, Callable[..., object]] = {
    "builtins.max": max,
    "builtins.min": min,
    "builtins.abs": abs,
    "builtins.round": round,
}


@handles("builtins.sum", "builtins.max", "builtins.min", "builtins.abs", "builtins.round")
@handles("builtins.pow", "builtins.divmod")
def _arithmetic(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    numbers = [it.value for it in args if isinstance(it, Constant)]
    if numbers and len(numbers) == len(args) and name in _FOLDED:
        try:
            return Constant(_FOLDED[name](*numbers))
        except (TypeError, ValueError, OverflowError):
            pass
    if name in ("builtins.max", "builtins.min"):
        for value in args:
            machine.convert(site, name[9:], value)
        several = args if len(args) > 1 else [parts.element(machine, site, it) for it in args]
        for value in several[:1]:
            compare_by_key(machine, site, value, keywords)
    operands = args
    if name == "builtins.sum" and args:
        tree = args[0] if not machine.choices else None
        if isinstance(tree, Mapping) and any(isinstance(it, str) for it in tree.items):
            # It goes through the keys, which are words.
            data = {"symbol": "sum", "operand": tree}
            machine.note(Fact(site.syntax, site.frame, "operator", data))
        total = _added_up(machine, site, args)
        if total is not None:
            return total
        operands = [parts.element(machine, site, args[0]), *args[1:]]
    result = machine.array(name, site, operands, is_jax=False)
    if name != "builtins.divmod" and operands and all(map(is_number, operands)):
        result.node.shape = ()
    return result


_MOST_ADDENDS = 16


def _added_up(machine: Interpreter, site: Site, args: list[Value]) -> Value | None:
    """`sum(several)`, if all of them are known: one is added after the other."""
    several = args[0].items if isinstance(args[0], Sequence) else None
    if (
        not several
        or len(several) > _MOST_ADDENDS
        or not all(isinstance(it, Data) for it in several)
    ):
        return None
    total = args[1] if len(args) > 1 else Constant(0)
    for it in several:
        total = binary(machine, site, ast.Add, total, it)
    return total


@handles("builtins.slice")
def _slice(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """What is written `start:stop:step` in an index."""
    nothing = Constant(None)
    bounds = [nothing, *args] if len(args) == 1 else args
    return Sequence("slice", [*bounds, nothing, nothing, nothing][:3])


@handles("builtins.any", "builtins.all")
def _quantifier(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = parts.element(machine, site, first_of(args))
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
    template = first_of(args)
    if name == "constant.format":
        if isinstance(template, Constant) and re.search(r"\{\w*:", str(template.value)):
            for value in (*args[1:], *keywords.values()):
                machine.convert(site, "format", value)
        return parts.as_text(machine, site, [*args[1:], *keywords.values()])
    if name == "builtins.format" and len(args) > 1:
        machine.convert(site, "format", template)
    known = parts.shown_text(template) if name == "builtins.str" else None
    return Constant(known) if known is not None else parts.as_text(machine, site, args[:1])


@handles("constant.join")
def _join(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`", ".join(words)`."""
    between, given = [*args, NONE, NONE][:2]
    items = given.items if isinstance(given, Sequence) else None
    words = [it.value if isinstance(it, Constant) else None for it in items or ()]
    if items is None or not all(isinstance(it, str) for it in words):
        return parts.as_text(machine, site, [given])
    return Constant(str(getattr(between, "value", "")).join(map(str, words)))


@handles("builtins.object.__new__", "super.__new__")
def _new(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """An object whose constructor has not run, as functions that put trees together make it."""
    cls = first_of(args)
    if not isinstance(cls, Class):
        return machine.opaque("call", site, args, type=name)
    return Instance(cls, Node("object", (), site.syntax, site.frame), site.frame)


@handles("builtins.getattr")
def _getattr(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) >= 2 and isinstance(args[1], Constant) and isinstance(args[1].value, str):
        found = named_attribute(machine, site, args[0], args[1].value)
        return found if len(args) == 2 else join(found, args[2])
    return machine.opaque("getattr", site, args)


@handles("builtins.type")
def _type(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = first_of(args)
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


@handles("builtins.vars")
def _vars(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) == 1 and isinstance(args[0], Instance):
        return all_attributes(machine, site, args[0])
    return machine.opaque(name, site, args)


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


@handles("functools.partial", "jax.tree_util.Partial", "jax.util.partial")
def _partial(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if not args:
        return machine.opaque("partial", site, ())
    return Partial(args[0], args[1:], keywords, site.is_open)


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
    result = machine.call(_before_loops(site, given, keywords), function, given, keywords)
    if site.frame.is_staged:
        for key in (*given, *keywords.values()):
            parts.hashed(machine, site, key)
        data = {"function": function, "args": [*given, *keywords.values()], "result": result}
        machine.note(Fact(site.syntax, site.frame, "cached", data))
    return result


def _before_loops(site: Site, args: list[Value], keywords: dict[str, Value]) -> Site:
    """Where a function that keeps its results runs: once, and not in each turn with the same."""
    region = site.frame.region
    given = [leaf.node for value in (*args, *keywords.values()) for leaf in leaves(value)]
    while region is not None and region.kind == "loop":
        if any(region in node.varies for node in given):
            break
        region = region.outer
    return site if region is site.frame.region else site.inside(region)


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
