"""`functools.reduce` and `itertools.accumulate`, and the operators as functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .. import parts
from ..events import Fact
from ..joining import join
from ..looping import each_turn, varying
from ..operators import binary
from ..values import Sequence, Value, nodes_of
from .arguments import argument
from .registry import handles

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
}


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
