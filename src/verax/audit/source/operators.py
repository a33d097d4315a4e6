"""What operators and comparisons make of values."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import parts
from .events import Fact
from .frame import Site
from .joining import element_of, join
from .scalars import is_number
from .shapes import Size, dims
from .shaping import described, of_operator
from .values import (
    LARGEST,
    Bound,
    Class,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Transformed,
    Value,
    View,
    class_of,
)

if TYPE_CHECKING:
    from .machine import Interpreter

OPERATORS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.MatMult: ("@", operator.matmul),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.BitAnd: ("&", operator.and_),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
# The method that an operator calls, without its underscores; `r` in front for the right operand.
_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "|": "or",
    "^": "xor",
    "&": "and",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
}
# Numbers and texts beyond are not worth the time and the memory to compute them.
_LARGE = 2**40
_LONG = 10_000
_STEEP = 64
_NO_NUMBERS = frozenset(("builtins.slice", "builtins.object"))
_OF_NUMBERS = frozenset(("+", "-", "*", "/", "//", "**", "@"))
# What they make is a number or an array; `+` also joins texts, and `/` paths.
_ARITHMETIC = frozenset(("-", "*", "**", "@"))
# What such an operator is not defined for, unless it is an object that says so.
_NEVER_NUMBERS = (Mapping, Function, Transformed, External, Bound)


def binary(
    machine: Interpreter, site: Site, kind: type[ast.AST], left: Value, right: Value
) -> Value:
    """The result of an operator on two values."""
    symbol, compute = OPERATORS[kind]
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _computed(machine, site, symbol, compute, left, right)
    if class_of(left) or class_of(right):
        found = _of_objects(machine, site, symbol, left, right)
        if found is not None:
            return found
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        found = _of_sequences(site, symbol, left, right)
        if found is not None:
            return found
    if symbol == "%" and isinstance(left, Constant) and isinstance(left.value, str):
        if re.search(r"%[-+ #0-9.]*[^-+ #0-9.%sr]", left.value):
            machine.convert(site, "format", right)
        return parts.as_text(machine, site, [right])
    if symbol == "|" and isinstance(left, Mapping) and isinstance(right, Mapping):
        return Mapping({**left.items, **right.items}, left.is_open or right.is_open)
    # Behind a condition, that may be what was asked for.
    is_certain = symbol in _OF_NUMBERS and not machine.choices
    for operand, other in ((left, right), (right, left)) if is_certain else ():
        is_none = isinstance(operand, Constant) and operand.value is None
        is_wrong = is_none or (isinstance(operand, _NEVER_NUMBERS) and not _may_take_all(other))
        if is_wrong or _is_no_array(operand, other, symbol):
            data = {"symbol": symbol, "operand": operand}
            machine.note(Fact(site.syntax, site.frame, "operator", data))
    result = machine.array(symbol, site, (left, right), is_jax=False)
    if symbol in ("+", "|"):
        # Two lists, or two dicts, can also be added.
        result.is_array = _is_number(left) or _is_number(right)
    of_operator(machine, site, symbol, left, right, result)
    return result


def _may_take_all(operand: Value) -> bool:
    """Whether the operator may be a method of its class, or metaclass, that takes anything."""
    if isinstance(operand, Data):
        is_number = operand.is_array or operand.node.operation in _ARITHMETIC
        return not is_number and operand.traced is not True
    return isinstance(operand, (Class, External, Instance))


def _is_no_array(operand: Value, other: Value, symbol: str) -> bool:
    """Whether an operand is a tuple or list, with which the other one does not compute.

    NumPy's arrays would, and integers repeat it.
    """
    if not isinstance(operand, Sequence) or operand.kind not in ("tuple", "list"):
        return False
    if isinstance(other, Constant):
        return isinstance(other.value, float) or (
            isinstance(other.value, int) and symbol not in ("*", "@")
        )
    return isinstance(other, Data) and other.is_array and other.traced is True


def _of_objects(
    machine: Interpreter, site: Site, symbol: str, left: Value, right: Value
) -> Value | None:
    """What an object's own method makes of an operator."""
    name = _METHODS.get(symbol, "")
    cls = class_of(left)
    method = cls.find(f"__{name}__") if cls is not None else None
    if method is not None:
        return machine.call(site, Bound(method, left), [right], {})
    cls = class_of(right)
    method = cls.find(f"__r{name}__") if cls is not None else None
    return None if method is None else machine.call(site, Bound(method, right), [left], {})


def _is_number(value: Value) -> bool:
    if isinstance(value, Constant):
        return not isinstance(value.value, str)
    return isinstance(value, Data) and value.is_array


def _computed(
    machine: Interpreter,
    site: Site,
    symbol: str,
    compute: Callable[..., Any],
    left: Constant,
    right: Constant,
) -> Value:
    a, b = left.value, right.value
    if isinstance(a, Size) or isinstance(b, Size):
        return _of_sizes(machine, site, symbol, a, b)
    if _is_costly(symbol, a, b):
        return machine.opaque(symbol, site, (), traced=False)
    if symbol in _OF_NUMBERS and (a is None or b is None) and not machine.choices:
        data = {"symbol": symbol, "operand": left if a is None else right}
        machine.note(Fact(site.syntax, site.frame, "operator", data))
    try:
        return Constant(compute(a, b))
    except Exception:
        return machine.opaque(symbol, site, (), traced=False)


def _is_costly(symbol: str, a: Any, b: Any) -> bool:
    """Whether what an operator gives may be out of proportion to its operands."""
    if symbol in ("**", "<<"):
        return any(isinstance(it, int) and abs(it) > _LARGE for it in (a, b)) or (
            isinstance(b, int) and b > _STEEP
        )
    if symbol == "%":
        # A template can ask for any width, also by a number: "%*d".
        return isinstance(a, (str, bytes)) and re.search(r"\d{4}|\*", str(a)) is not None
    if symbol in ("*", "+"):
        lengths = [len(it) for it in (a, b) if isinstance(it, (str, bytes, tuple))]
        numbers = [abs(it) for it in (a, b) if isinstance(it, int)]
        if symbol == "*" and lengths:
            return lengths[0] * max(numbers, default=1) > _LONG
        return sum(lengths) > _LONG or any(it > _LARGE**4 for it in numbers)
    return False


def _of_sizes(machine: Interpreter, site: Site, symbol: str, a: Any, b: Any) -> Value:
    compute = {"+": dims.add, "-": dims.sub, "*": dims.mul, "//": dims.floordiv}.get(symbol)
    found: Any = None
    if compute is not None and isinstance(a, (int, Size)) and isinstance(b, (int, Size)):
        found = compute(a, b)
    elif symbol in ("==", "!=") and dims.same(a, b) is not None:
        found = dims.same(a, b) is (symbol == "==")
    if found is not None:
        return Constant(found)
    result = machine.opaque(symbol, site, (), traced=False)
    if is_number(Constant(a)) and is_number(Constant(b)):
        result.node.shape = ()  # A number for Python, though not which one: `1.0 / x.shape[0]`.
    return result


def _of_sequences(site: Site, symbol: str, left: Value, right: Value) -> Value | None:
    if symbol == "+" and isinstance(left, Sequence) and isinstance(right, Sequence):
        items = [*(left.items or ()), *(right.items or ())]
        if left.items is not None and right.items is not None and len(items) <= LARGEST:
            return Sequence(left.kind, items, made_in=left.made_in)
        a, b = element_of(left), element_of(right)
        element = b if a is None else a if b is None else join(a, b)
        return Sequence(left.kind, None, element, left.made_in)
    if symbol in ("-", "&", "|", "^"):
        for it in (left, right):
            if isinstance(it, View) or (isinstance(it, Sequence) and it.kind == "set"):
                return Sequence("set", None, element_of(it), it.made_in)
    if symbol == "*":
        sequence, times = (left, right) if isinstance(left, Sequence) else (right, left)
        if isinstance(sequence, Sequence) and sequence.items is not None:
            count = times.value if isinstance(times, Constant) else None
            if isinstance(count, int) and count * len(sequence.items) <= 64:
                return Sequence(sequence.kind, sequence.items * count, made_in=sequence.made_in)
        if isinstance(times, Data) and times.is_array and (times.traced or times.node.shape):
            return None  # An array takes part element by element.
        if isinstance(times, Constant) and isinstance(times.value, float):
            return None
        if isinstance(sequence, Sequence):
            items = sequence.items
            element = sequence.element if items is None else (items[0] if items else None)
            if element is not None and items is not None and len(items) == 1:
                element = parts.copy_of(site, element)
            return Sequence(sequence.kind, None, element, sequence.made_in)
    return None


def signed(machine: Interpreter, site: Site, sign: ast.unaryop, operand: Value) -> Value:
    """The result of a sign in front of a value."""
    symbol, compute = OPERATORS[sign.__class__]
    if isinstance(operand, Constant):
        try:
            return Constant(compute(operand.value), operand.origin)
        except Exception:
            result = machine.opaque(symbol, site, (), traced=False)
            result.node.shape = () if is_number(operand) else None
            return result
    cls = class_of(operand)
    if cls is not None:
        name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[symbol]
        method = cls.find(name)
        if method is not None:
            return machine.call(site, Bound(method, operand), [], {})
    result = machine.array(symbol + "x", site, (operand,), is_jax=False)
    if isinstance(operand, (Data, External)):
        told = described(operand)
        result.node.shape, result.node.dtype = told.shape, told.dtype
    return result


def comparison(
    machine: Interpreter, site: Site, kind: ast.cmpop, left: Value, right: Value
) -> Value:
    """The result of `==`, `<`, `is`, `in` and the like."""
    if isinstance(kind, (ast.Is, ast.IsNot)):
        return _identity(machine, site, kind, left, right)
    if isinstance(kind, (ast.In, ast.NotIn)):
        return _membership(machine, site, kind, left, right)
    if _is_no_number(left) or _is_no_number(right):
        return machine.opaque("==", site, (left, right), traced=False)
    if class_of(left) or class_of(right):
        symbol = OPERATORS[kind.__class__][0]
        found = _of_objects(machine, site, symbol, left, right)
        if found is not None:
            return found
    if isinstance(left, Data) or isinstance(right, Data):
        strings = [it for it in (left, right) if isinstance(it, Constant)]
        if site.frame.is_staged and any(it.value == "jax" for it in strings):
            # It asks for the library of what it is given, and only JAX traces functions.
            return Constant(isinstance(kind, ast.Eq))
        if any(isinstance(it.value, str) or it.value is None for it in strings):
            return machine.opaque("==", site, (left, right), traced=False)
        is_order = not isinstance(kind, (ast.Eq, ast.NotEq))
        certain = is_order or _is_number(left) or _is_number(right)
        result = binary(machine, site, kind.__class__, left, right)
        if isinstance(result, Data):
            result.is_array = result.is_array or not site.frame.module.has_other_arrays
            result.node.dtype = "bool"
            if not certain:
                result.traced = None  # Two trees, or two descriptions of them.
        return result
    if isinstance(left, Constant) and isinstance(right, Constant):
        return binary(machine, site, kind.__class__, left, right)
    return machine.opaque("==", site, (left, right), traced=False)


def _is_no_number(value: Value) -> bool:
    """Whether an array leaves it to Python to compare it with a value: a slice, a mark."""
    if isinstance(value, Sequence):
        return value.kind == "slice"
    return isinstance(value, Data) and value.type in _NO_NUMBERS


def _identity(
    machine: Interpreter, site: Site, kind: ast.cmpop, left: Value, right: Value
) -> Value:
    known: bool | None = None
    if isinstance(left, Constant) and isinstance(right, Constant):
        known = left.value is right.value
    elif (isinstance(right, Constant) and right.value is None and not isinstance(left, Data)) or (
        isinstance(left, Data) and left.is_array and isinstance(right, Constant)
    ):
        known = False
    if known is None:
        return machine.opaque("is", site, (left, right), traced=False)
    return Constant(known is isinstance(kind, ast.Is))


def _membership(
    machine: Interpreter, site: Site, kind: ast.cmpop, left: Value, right: Value
) -> Value:
    is_tracer = isinstance(left, Data) and left.traced and left.is_array
    if is_tracer and isinstance(right, (Sequence, Mapping)):
        machine.convert(site, "in", left)
    if isinstance(right, Mapping) and isinstance(left, Constant) and not right.is_open:
        return Constant((left.value in right.items) is isinstance(kind, ast.In))
    if isinstance(right, Sequence) and right.items is not None and isinstance(left, Constant):
        constants = [it.value for it in right.items if isinstance(it, Constant)]
        if len(constants) == len(right.items):
            return Constant((left.value in constants) is isinstance(kind, ast.In))
    return machine.opaque("in", site, (left, right), traced=False)
