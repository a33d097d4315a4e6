"""`functools.reduce` and `itertools.accumulate`, and the operators as functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .. import parts
from ..attributes import named_attribute
from ..events import Fact
from ..joining import join
from ..looping import each_turn, varying
from ..operators import binary, comparison, signed
from ..values import Constant, Data, External, Partial, Sequence, Value, nodes_of
from .arguments import argument, first_of
from .registry import handles, method

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "truediv": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
    "pow": ast.Pow,
    "matmul": ast.MatMult,
    "and_": ast.BitAnd,
    "or_": ast.BitOr,
    "xor": ast.BitXor,
    "lshift": ast.LShift,
    "rshift": ast.RShift,
}
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
    "eq": ast.Eq,
    "ne": ast.NotEq,
    "is_": ast.Is,
    "is_not": ast.IsNot,
}
_SIGNS: dict[str, type[ast.unaryop]] = {"neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert}


@handles("functools.reduce")
def _reduce(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """One step stands for all of them."""
    if len(args) < 2:
        return machine.opaque(name, site, (*args, *keywords.values()))
    first = parts.element(machine, site, args[1])
    start = args[2] if len(args) > 2 else parts.another(site, first)
    with each_turn(machine, site, args[1]) as region:
        start, element = (
            varying(it, region, site.syntax, site.frame) if nodes_of(it) else it
            for it in (start, first)
        )
        result = machine.call(site, args[0], [start, element], {})
    folded = {"iterated": args[1], "carried": {"it": (start, result)}}
    machine.note(Fact(site.syntax, site.frame, "folded", folded))
    if len(args) == 2:
        data = {"start": start, "leaf": element, "result": result}
        machine.note(Fact(site.syntax, site.frame, "reduced", data))
    return result


@handles("itertools.accumulate")
def _accumulate(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """What each step of a fold gives, one of them for all."""
    function = argument(args, keywords, 1, "func")
    if not args or function is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    element = parts.element(machine, site, args[0])
    start = keywords.get("initial") or parts.another(site, element)
    result = machine.call(site, function, [start, element], {})
    folded = {"iterated": args[0], "carried": {"it": (start, result)}}
    machine.note(Fact(site.syntax, site.frame, "folded", folded))
    return Sequence("list", None, join(start, result), site.frame, machine.control)


@handles(*(f"operator.{it}" for it in _OPERATORS))
def _operator(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) != 2:
        return machine.opaque(name, site, args)
    return binary(machine, site, _OPERATORS[name.removeprefix("operator.")], args[0], args[1])


@handles(*(f"operator.{it}" for it in _COMPARISONS), "operator.contains")
def _comparison(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) != 2:
        return machine.opaque(name, site, args)
    if name.endswith("contains"):
        return comparison(machine, site, ast.In(), args[1], args[0])
    return comparison(machine, site, _COMPARISONS[name.removeprefix("operator.")](), *args)


@handles(*(f"operator.{it}" for it in _SIGNS))
def _sign(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) != 1:
        return machine.opaque(name, site, args)
    return signed(machine, site, _SIGNS[name.removeprefix("operator.")](), args[0])


@handles("operator.not_", "operator.truth")
def _truth(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Python asks whether something is true."""
    truth = machine.test(site, "not" if name.endswith("not_") else "bool", first_of(args))
    if truth is None:
        return machine.opaque("not", site, (), traced=False)
    return Constant(truth is name.endswith("truth"))


@handles("operator.getitem")
def _item(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return parts.item(machine, site, *args) if len(args) == 2 else machine.opaque(name, site, args)


@handles("operator.itemgetter", "operator.attrgetter", "operator.methodcaller")
def _getter(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A function that takes something of what it is given."""
    kind = name.removeprefix("operator.")
    return Partial(External(f"verax.{kind}"), [Sequence("tuple", args)], keywords)


@handles("verax.itemgetter", "verax.attrgetter")
def _taken(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    wanted = args[0].items if isinstance(args[0], Sequence) else None
    if not wanted or len(args) != 2:
        return machine.opaque(name, site, args)
    if name.endswith("itemgetter"):
        found = [parts.item(machine, site, args[1], it) for it in wanted]
    else:
        found = [_attribute_path(machine, site, args[1], it) for it in wanted]
    return found[0] if len(found) == 1 else machine.tuple_of(*found)


def _attribute_path(machine: Interpreter, site: Site, owner: Value, path: Value) -> Value:
    """`owner.a.b`, of a path that is written as a string."""
    if not isinstance(path, Constant) or not isinstance(path.value, str):
        return machine.opaque("attribute", site, (owner,))
    for name in path.value.split("."):
        owner = named_attribute(machine, site, owner, name)
    return owner


@handles("verax.methodcaller")
def _called_method(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    wanted = args[0].items if isinstance(args[0], Sequence) else None
    if not wanted or len(args) != 2:
        return machine.opaque(name, site, args)
    owner, (wanted_name, *given) = args[1], wanted
    known = wanted_name.value if isinstance(wanted_name, Constant) else None
    handler = method(owner, known) if isinstance(owner, Data) and isinstance(known, str) else None
    if handler is not None and isinstance(owner, Data):
        return handler(machine, site, owner, given, keywords)
    return machine.call(site, _attribute_path(machine, site, owner, wanted_name), given, keywords)


@handles("itertools.repeat")
def _repeat(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """One thing, as often as somebody asks for it."""
    if not args:
        return machine.opaque(name, site, tuple(keywords.values()))
    return Sequence("list", None, parts.copy_of(site, args[0]))


@handles("itertools.chain")
def _chain(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The elements of several containers, one after the other."""
    known = [it.items for it in args if isinstance(it, Sequence) and it.items is not None]
    if len(known) == len(args) and not site.is_open:
        return Sequence("list", [item for items in known for item in items])
    elements = [parts.element(machine, site, it) for it in args]
    return Sequence("list", None, machine.opaque(name, site, elements))
