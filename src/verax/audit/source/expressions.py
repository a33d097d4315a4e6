"""How each kind of expression is evaluated, but for calls; `operators` knows what they give."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import parts
from .attributes import attribute
from .binding import function_value
from .comprehensions import comprehension, dict_comprehension
from .frame import Site
from .joining import join
from .operators import binary, comparison, signed
from .values import (
    Constant,
    Data,
    External,
    Mapping,
    Sequence,
    Spread,
    Value,
    class_of,
)

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter


def _name(machine: Interpreter, frame: Frame, syntax: ast.Name) -> Value:
    found = machine.lookup(frame, syntax.id)
    if found is not None:
        return found
    return External(f"builtins.{syntax.id}")


def _constant(machine: Interpreter, frame: Frame, syntax: ast.Constant) -> Value:
    return Constant(syntax.value, (frame, syntax))


def _attribute(machine: Interpreter, frame: Frame, syntax: ast.Attribute) -> Value:
    return attribute(machine, Site(frame, syntax), machine.evaluate(frame, syntax.value))


def _subscript(machine: Interpreter, frame: Frame, syntax: ast.Subscript) -> Value:
    base = machine.evaluate(frame, syntax.value)
    index = machine.evaluate(frame, syntax.slice)
    return parts.item(machine, Site(frame, syntax), base, index)


def _binary(machine: Interpreter, frame: Frame, syntax: ast.BinOp) -> Value:
    left = machine.evaluate(frame, syntax.left)
    match syntax:
        case ast.BinOp(op=ast.Add(), right=ast.UnaryOp(op=ast.USub()) as added):
            return _less(machine, frame, syntax, left, added)
        case _:
            right = machine.evaluate(frame, syntax.right)
    return binary(machine, Site(frame, syntax), syntax.op.__class__, left, right)


def _less(
    machine: Interpreter, frame: Frame, syntax: ast.BinOp, left: Value, added: ast.UnaryOp
) -> Value:
    """`left + -right`, which is the difference wherever a class does not say otherwise."""
    right = machine.evaluate(frame, added.operand)
    kind: type[ast.AST] = ast.Sub
    if class_of(left) or class_of(right):
        kind, right = ast.Add, signed(machine, Site(frame, added), added.op, right)
    return binary(machine, Site(frame, syntax), kind, left, right)


def _unary(machine: Interpreter, frame: Frame, syntax: ast.UnaryOp) -> Value:
    site = Site(frame, syntax)
    if isinstance(syntax.op, ast.Not):
        truth = condition(machine, frame, syntax.operand, "not")
        if truth is None:
            return machine.opaque("not", site, (), traced=False)
        return Constant(not truth)
    return signed(machine, site, syntax.op, machine.evaluate(frame, syntax.operand))


def _boolean(machine: Interpreter, frame: Frame, syntax: ast.BoolOp) -> Value:
    stops_at = isinstance(syntax.op, ast.Or)
    kind = "or" if stops_at else "and"
    result: Value | None = None
    asked: list[tuple[ast.expr, Value]] = []
    for part in syntax.values:
        value = machine.evaluate(frame, part)
        asked.append((part, value))
        if isinstance(value, Constant) and value.value is stops_at:
            return value  # `x and False` is as false as its last part, whatever `x` is.
        result = value if result is None else join(result, value)
        if part is syntax.values[-1]:
            _alternatives(machine, frame, kind, asked)
            break
        truth = machine.test(Site(frame, part), kind, value)
        if truth is stops_at:
            return value if result is value else result
        if truth is not None and result is value:
            result = None  # It goes on to the next for certain.
    assert result is not None
    return result


def _alternatives(
    machine: Interpreter, frame: Frame, kind: str, asked: list[tuple[ast.expr, Value]]
) -> None:
    """In `given or jnp.ones(3)` the first is an array as well: nobody asks a list that way."""
    last = asked[-1][1]
    if kind != "or" or not isinstance(last, Data) or not last.is_array:
        return
    for part, value in asked[:-1]:
        if isinstance(value, Data) and value.traced and not value.is_array:
            machine.test(Site(frame, part), kind, Data(value.node, True, True))


def condition(machine: Interpreter, frame: Frame, syntax: ast.expr, kind: str) -> bool | None:
    """What Python decides by an expression, if that is known.

    Of `a and b` it asks each part that it gets to, the last one on behalf of whoever decides.
    """
    if not isinstance(syntax, ast.BoolOp):
        return machine.test(Site(frame, syntax), kind, machine.evaluate(frame, syntax))
    stops_at = isinstance(syntax.op, ast.Or)
    known: bool | None = not stops_at
    for part in syntax.values:
        truth = condition(machine, frame, part, "or" if stops_at else "and")
        if truth is stops_at:
            return stops_at  # whatever the parts before it are
        if truth is None:
            known = None
    return known


def _compare(machine: Interpreter, frame: Frame, syntax: ast.Compare) -> Value:
    left = machine.evaluate(frame, syntax.left)
    result: Value | None = None
    for kind, right_syntax in zip(syntax.ops, syntax.comparators, strict=True):
        right = machine.evaluate(frame, right_syntax)
        if result is not None:
            machine.test(Site(frame, syntax), "comparison", result)
        result = comparison(machine, Site(frame, syntax), kind, left, right)
        left = right
    assert result is not None
    return result


def _conditional(machine: Interpreter, frame: Frame, syntax: ast.IfExp) -> Value:
    truth = condition(machine, frame, syntax.test, "if")
    if truth is not None:
        return machine.evaluate(frame, syntax.body if truth else syntax.orelse)
    before = machine.used
    machine.control += 1
    machine.choices += 1
    machine.used = dict(before)
    one = machine.evaluate(frame, syntax.body)
    after, machine.used = machine.used, dict(before)
    other = machine.evaluate(frame, syntax.orelse)
    machine.used |= after
    machine.control -= 1
    machine.choices -= 1
    return join(one, other)


def _display(kind: str) -> Callable[[Interpreter, Frame, Any], Value]:
    def evaluate(machine: Interpreter, frame: Frame, syntax: Any) -> Value:
        items: list[Value] = []
        is_open = False
        for element in syntax.elts:
            if element.__class__ is ast.Starred:
                value = machine.evaluate(frame, element.value)
                if isinstance(value, Sequence) and value.items is not None:
                    items.extend(value.items)
                else:
                    is_open = True
                    items.append(parts.element(machine, Site(frame, element), value))
            else:
                items.append(machine.evaluate(frame, element))
                if kind == "set":
                    parts.hashed(machine, Site(frame, element), items[-1])
        if is_open:
            joined = items[0]
            for item in items[1:]:
                joined = join(joined, item)
            return Sequence(kind, None, joined, frame, machine.control, syntax=syntax)
        return Sequence(kind, items, None, frame, machine.control, syntax=syntax)

    return evaluate


def _dict(machine: Interpreter, frame: Frame, syntax: ast.Dict) -> Value:
    items: dict[Any, Value] = {}
    is_open = False
    for key_syntax, value_syntax in zip(syntax.keys, syntax.values, strict=True):
        value = machine.evaluate(frame, value_syntax)
        if key_syntax is None:  # {**other}
            if isinstance(value, Mapping):
                items.update(value.items)
                is_open = is_open or value.is_open
            else:
                is_open = True
                items[Spread()] = value
            continue
        key = machine.evaluate(frame, key_syntax)
        if isinstance(key, Constant):
            items[key.value] = value
        else:
            parts.hashed(machine, Site(frame, key_syntax), key)
            is_open = True
            items[object()] = value
    return Mapping(items, is_open, frame, machine.control, syntax)


def _lambda(machine: Interpreter, frame: Frame, syntax: ast.Lambda) -> Value:
    return function_value(machine, frame, syntax, "<lambda>")


def _formatted(machine: Interpreter, frame: Frame, syntax: ast.JoinedStr) -> Value:
    values: list[Value] = []
    text: str | None = ""
    for part in syntax.values:
        if isinstance(part, ast.FormattedValue):
            values.append(machine.evaluate(frame, part.value))
            if part.format_spec is not None:
                machine.convert(Site(frame, part.value), "format", values[-1])
            is_plain = part.format_spec is None and part.conversion == -1
            shown = parts.shown_text(values[-1]) if is_plain else None
        else:
            shown = str(part.value) if isinstance(part, ast.Constant) else None
        text = None if text is None or shown is None else text + shown
    if text is not None:
        return Constant(text)
    return parts.as_text(machine, Site(frame, syntax), values)


def _walrus(machine: Interpreter, frame: Frame, syntax: ast.NamedExpr) -> Value:
    value = machine.evaluate(frame, syntax.value)
    frame.environment[syntax.target.id] = value
    return value


def _yield(machine: Interpreter, frame: Frame, syntax: ast.Yield) -> Value:
    frame.yields = True
    if syntax.value is not None:
        frame.returns.append((syntax, machine.evaluate(frame, syntax.value)))
    return machine.opaque("yield", Site(frame, syntax), ())


def _yield_from(machine: Interpreter, frame: Frame, syntax: ast.YieldFrom | ast.Await) -> Value:
    frame.yields = frame.yields or isinstance(syntax, ast.YieldFrom)
    value = machine.evaluate(frame, syntax.value)
    return machine.opaque("yield", Site(frame, syntax), (value,))


def _starred(machine: Interpreter, frame: Frame, syntax: ast.Starred) -> Value:
    return machine.evaluate(frame, syntax.value)


def _slice(machine: Interpreter, frame: Frame, syntax: ast.Slice) -> Value:
    bounds: list[Value] = []
    for bound in (syntax.lower, syntax.upper, syntax.step):
        bounds.append(Constant(None) if bound is None else machine.evaluate(frame, bound))
    return Sequence("slice", bounds, syntax=syntax)


EXPRESSIONS: dict[type[ast.AST], Callable[[Interpreter, Frame, Any], Value]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Tuple: _display("tuple"),
    ast.List: _display("list"),
    ast.Set: _display("set"),
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.JoinedStr: _formatted,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _yield_from,
    ast.Starred: _starred,
    ast.Slice: _slice,
    ast.ListComp: comprehension("list"),
    ast.SetComp: comprehension("set"),
    ast.GeneratorExp: comprehension("generator"),
    ast.DictComp: dict_comprehension,
}
