"""Shapes and dtypes of values, where the program tells them."""

from __future__ import annotations

import ast
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..words import is_batch, is_sequence
from .events import Fact
from .graph import Node
from .numbering import number_of
from .operations import COMPARISONS, operation_of
from .pairs import open_pairs
from .shapes import UNKNOWN, ArrayFunction, Mismatch, Shape, Size, dims, lookup, symbol
from .shapes import Value as Described
from .shapes.contraction import matmul
from .shapes.dims import Dim
from .shapes.dtypes import of_literal, promote
from .shapes.indexing import Gather, index
from .shapes.names import PASSING, meetings, named
from .shapes.semantics import ELEMENTWISE
from .shapes.shape import broadcast, change_axis, outer_product
from .text import text_of
from .values import Constant, Data, External, Mapping, Sequence, Value

if TYPE_CHECKING:
    from .frame import Site
    from .machine import Interpreter

# Numbers that modules have under a name.
_NUMBERS = frozenset(
    f"{module}.{name}"
    for module in ("jax.numpy", "numpy", "math")
    for name in "pi e inf nan tau euler_gamma".split()
)
# Arguments of functions that work on each element: most take two, some three.
_MANY = 5
# The type of what stands for a tuple of arrays: `jnp.linalg.eigh(x)`.
SEVERAL = "tuple"


def described(value: Value) -> Described:
    """What is known of a value, in the words of `shapes`."""
    if isinstance(value, Data):
        return Described(value.node.shape, value.node.dtype)
    if isinstance(value, Constant):
        if isinstance(value.value, Size):
            return Described((), "int32*", value.value)
        is_number = isinstance(value.value, (bool, int, float, complex))
        return Described(() if is_number else None, of_literal(value.value), value.value)
    if isinstance(value, Sequence):
        if value.items is None:
            return _alike(value)
        elements = tuple(described(item) for item in value.items)
        constants = tuple(it.constant for it in elements)
        constant: Any = UNKNOWN if any(it is UNKNOWN for it in constants) else constants
        return Described(None, None, constant, elements)
    if isinstance(value, External):
        is_number = value.name in _NUMBERS
        return Described(() if is_number else None, "float32*" if is_number else None, value.name)
    return Described(None, None)


def _alike(value: Sequence) -> Described:
    """A list of which only its elements are known: they make an array with one more axis."""
    one = described(value.element) if value.element is not None else Described(None, None)
    if not isinstance(one.shape, tuple) or value.kind not in ("list", "tuple"):
        return Described(None, None)
    return Described((value.length, *one.shape), one.dtype)


def does_not_fit(machine: Interpreter, site: Site, error: Mismatch, operands: list[Value]) -> None:
    """Note that an operation cannot work, if it is certain to run: conditions may depend on it.

    Of keys nothing is certain: an old one is an array of words, with one more axis than a new one.
    """
    if machine.choices or any(isinstance(it, Data) and it.node.is_key for it in operands):
        return
    data = {"reason": str(error), "operands": operands}
    machine.note(Fact(site.syntax, site.frame, "mismatch", data))


def _pairs_told(
    machine: Interpreter, site: Site, where: str, operands: list[Value], result: Data
) -> None:
    """Note that an operation pairs axes with different names."""
    for one, other in meetings():
        data = {"names": (one, other), "where": where, "operands": operands, "result": result}
        machine.note(Fact(site.syntax, site.frame, "clash", data))


def of_operator(
    machine: Interpreter, site: Site, symbol: str, left: Value, right: Value, result: Data
) -> None:
    """The shape of what an operator gives."""
    a, b = described(left), described(right)
    node = result.node
    if a.dtype is not None and b.dtype is not None:
        node.dtype = "bool" if symbol in COMPARISONS else promote(a.dtype, b.dtype)
        if symbol == "/" and node.dtype is not None and node.dtype.startswith(("int", "uint")):
            node.dtype = "float32"
    if a.shape is None and b.shape is None:
        return
    meetings()
    try:
        if symbol == "@":
            node.shape = matmul(a.shape, b.shape)
            _pairs_told(machine, site, "contraction", [left, right], result)
            return
        node.shape = broadcast(a.shape, b.shape)
    except Mismatch as error:
        does_not_fit(machine, site, error, [left, right])
        return
    open_pairs(node)
    _pairs_told(machine, site, "elementwise", [left, right], result)
    outer_told(machine, site, left, right, result)


def of_rows(
    machine: Interpreter, site: Site, vectors: Data, labels: Data, result: Data, of_index: bool
) -> None:
    """The shape of what compares vectors along the last axis with labels: one number for each.

    These are vectors, too, or, `of_index`, a number for each.
    """
    rows, beside = vectors.node.shape, labels.node.shape
    if beside is None or rows == ():
        return
    meetings()
    try:
        if of_index:
            rows = broadcast(_without_last(rows), beside)
        else:
            rows = _without_last(broadcast(rows, beside))
    except Mismatch as error:
        does_not_fit(machine, site, error, [vectors, labels])
        return
    result.node.shape = rows
    _pairs_told(machine, site, "elementwise", [vectors, labels], result)


def _without_last(shape: Shape) -> Shape:
    return change_axis(shape, -1, lambda _: ())


def outer_told(machine: Interpreter, site: Site, left: Value, right: Value, result: Data) -> None:
    """Note that broadcasting pairs an axis with itself, in code that is certain to run."""
    outer = outer_product(described(left).shape, described(right).shape)
    if outer is not None and not machine.choices:
        data = {"left": left, "right": right, "outer": outer, "result": result}
        machine.note(Fact(site.syntax, site.frame, "outer product", data))


def of_index(machine: Interpreter, site: Site, base: Data, position: Value, result: Data) -> None:
    """The shape of what indexing gives."""
    node = result.node
    if node.dtype is None:
        node.dtype = base.node.dtype
    if node.shape is not None:
        return
    items = _index_items(position)
    if any(it is UNKNOWN for it in items):
        return
    if base.node.shape is None and None not in items:
        return  # It may be something else than an array, which has no axes to add to.
    try:
        node.shape = index(base.node.shape, items)
    except Mismatch as error:
        # A record of NumPy has no axes, and parts all the same.
        if base.node.shape or base.node.dtype is not None:
            does_not_fit(machine, site, error, [base, position])


def of_update(
    machine: Interpreter, site: Site, base: Data, position: Value, value: Value, result: Data
) -> None:
    """Compare what is written into a part of an array with that part: `x.at[0].set(v)`."""
    items, shape = _index_items(position), described(value).shape
    if base.node.shape is None or not shape or any(it is UNKNOWN for it in items):
        return
    meetings()
    try:
        broadcast(index(base.node.shape, items), shape)
    except Mismatch:
        return  # JAX says so by itself.
    _pairs_told(machine, site, "set", [base, value], result)


def _index_items(position: Value) -> list[Any]:
    single = not (isinstance(position, Sequence) and position.kind == "tuple")
    parts = [position] if single else list(getattr(position, "items", None) or ())
    return [_index_item(it) for it in parts]


def _index_item(value: Value) -> Any:
    if isinstance(value, Constant):
        return value.value if value.value is None or not isinstance(value.value, str) else UNKNOWN
    if isinstance(value, Sequence) and value.kind == "slice":
        bounds = [it.value if isinstance(it, Constant) else UNKNOWN for it in value.items or ()]
        return slice(*bounds)
    if isinstance(value, Data):
        node = value.node
        if node.dtype is None or node.shape is None:
            return UNKNOWN
        return Gather(node.shape, mask=node.dtype == "bool")
    return UNKNOWN


def array_function(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Data:
    """The array that a function of JAX or NumPy gives."""
    operands = (*args, *keywords.values())
    result = machine.array(name, site, operands, is_jax=not name.startswith("numpy"))
    result.node.operation = operation_of(name, len(args))
    _describe(machine, site, name, args, keywords, result)
    return result


# Methods of modules and transforms, too, whatever they are given.
_OF_OTHERS = frozenset("flatten view trace sort mean var std".split())


def array_method(
    machine: Interpreter,
    site: Site,
    name: str,
    owner: Data,
    args: list[Value],
    keywords: dict[str, Value],
) -> Data:
    """The array that a method of an array gives."""
    operands = (owner, *args, *keywords.values())
    result = machine.array(f"ndarray.{name}", site, operands, is_jax=False)
    # Anything may have methods of these names: queries have `all`, modules `mean` and `flatten`.
    is_certain = owner.is_array or owner.node.shape is not None or owner.traced is True
    is_told = bool(args or keywords) and name not in _OF_OTHERS
    if is_certain or is_told:
        _describe(machine, site, f"ndarray.{name}", [owner, *args], keywords, result)
    return result


def array_view(machine: Interpreter, site: Site, name: str, owner: Data) -> Data:
    """The array that an attribute of an array gives: `x.T`, `x.real`."""
    result = machine.array(f"ndarray.{name}", site, (owner,), is_jax=False)
    _describe(machine, site, f"ndarray.{name}", [owner], {}, result)
    return result


def _describe(
    machine: Interpreter,
    site: Site,
    name: str,
    args: list[Value],
    keywords: dict[str, Value],
    result: Data,
) -> None:
    if site.is_open:
        return
    function = lookup(name)
    if function is None:
        return
    given, told = _given(function, args, keywords)
    meetings()
    try:
        found = function(given, told)
    except Mismatch as error:
        does_not_fit(machine, site, error, args)
        return
    result.node.shape, result.node.dtype = found.shape, found.dtype
    open_pairs(result.node)
    if found.elements is not None:
        result.type = SEVERAL
    for number, part in enumerate((found.elements or ())[:64]):
        # The same node that taking this item will give.
        child = result.node.child("item", ("constant", number), site.syntax, site.frame)
        child.shape, child.dtype = part.shape, part.dtype
    _pairs_told(machine, site, name, [*args, *keywords.values()], result)
    operands = [*args, *keywords.values()]
    if name in ELEMENTWISE and len(operands) < _MANY:
        for left, right in combinations(operands, 2):
            outer_told(machine, site, left, right, result)


# Parameters that say a shape, and such as say one size: integers, known or not.
_SHAPES = frozenset("shape newshape new_sizes sizes slice_sizes reps".split())
_COUNTS = frozenset(
    "num N M num_classes num_segments length total_repeat_length slice_size".split()
)


def _given(
    function: ArrayFunction, args: list[Value], keywords: dict[str, Value]
) -> tuple[list[Described], dict[str, Described]]:
    """What is known of arguments, with a symbol for each size among them that is not known."""
    count = len(function.parameters)
    # `x.reshape(n, m)`: of several numbers after the array each is a size.
    rest = "num" if function.rest == "sizes" and len(args) > count + 1 else function.rest
    names = (*function.parameters, *(rest for _ in args[count:]))
    given = [
        _as_argument(name, described(value), value)
        for name, value in zip(names, args, strict=False)
    ]
    told = {key: _as_argument(key, described(value), value) for key, value in keywords.items()}
    return given, told


def _as_argument(parameter: str, it: Described, value: Value) -> Described:
    is_number = parameter in _COUNTS and not _may_be_shape(value)
    if is_number or (parameter in _SHAPES and it.shape == ()):
        return _as_size(it, value)
    return _sized(it, value) if parameter in _SHAPES else it


def _may_be_shape(value: Value) -> bool:
    """Whether this may be several sizes: `x.shape`, `x.shape[1:]`."""
    if not isinstance(value, Data):
        return False
    return value.node.operation in ("item", "static") and value.node.shape != ()


def _sized(it: Described, value: Value) -> Described:
    if not isinstance(value, Sequence) or value.items is None or it.constant is not UNKNOWN:
        return it
    elements = tuple(map(_as_size, it.elements or (), value.items))
    return Described(it.shape, it.dtype, tuple(part.constant for part in elements), elements)


def _as_size(it: Described, value: Value) -> Described:
    if it.constant is not UNKNOWN or not isinstance(value, Data) or value.traced:
        return it
    if value.node.shape is None:
        value.node.shape = ()
    return Described((), "int32*", _size(value))


_ARITHMETIC = {"+": dims.add, "-": dims.sub, "*": dims.mul, "//": dims.floordiv}
_NESTED = 8


def _size(value: Value, depth: int = 0) -> Dim:
    """A number as a size: what it is computed from if that is known, or a symbol of its own.

    Two functions that multiply the same two numbers make arrays of the same size.
    """
    if isinstance(value, Constant):
        number = value.value
        return number if isinstance(number, Size) or type(number) is int else None
    if not isinstance(value, Data) or value.traced:
        return None
    compute = _ARITHMETIC.get(value.node.operation)
    if compute is not None and len(value.node.operands) == 2 and depth < _NESTED:
        first, second = (_size(it, depth + 1) for it in value.node.operands)
        found = compute(first, second)
        if found is not None:
            return found
    return symbol(f"{_shown(value.node) or 'n'}#{number_of(value.node)}")


def size_symbol(shape: Node, axis: int) -> Any:
    """A symbol for one size of a shape that is not known."""
    owner = shape.inputs[0] if shape.inputs else shape
    return symbol(f"{_shown(owner) or 'x'}.shape[{axis}]#{number_of(owner)}")


# Longer names of symbols hide the shape that they stand in.
_LONGEST_NAME = 24


def _shown(node: Node) -> str:
    """What a reader calls a value: its name, or the expression that takes it from another one."""
    if node.label.isidentifier():
        return node.label
    text = text_of(node.syntax) if isinstance(node.syntax, ast.Subscript) else ""
    return text if len(text) <= _LONGEST_NAME and "#" not in text else ""


def unpacked_shape(machine: Interpreter, value: Data, count: int, targets: list[ast.expr]) -> Value:
    """A shape that is unpacked into some names has that many sizes."""
    owner = value.node.inputs[0] if value.node.inputs else None
    names = [it.id if isinstance(it, ast.Name) else "n" for it in targets]
    frame = value.node.frame
    scope = f"{PASSING}{number_of(frame.function) if frame is not None else 0}"
    sizes = [
        # Batch and time are what they are called; other names may be two for one thing.
        named(name, scope, f"{number_of(value.node)}.{axis}")
        if is_batch(name) or is_sequence(name)
        else symbol(f"{name}#{number_of(value.node)}.{axis}")
        for axis, name in enumerate(names)
    ]
    if owner is not None and owner.shape is None:
        owner.shape = tuple(sizes)
    return Sequence("tuple", [Constant(size) for size in sizes])


def shape_from(value: Value) -> Any:
    """The shape that an argument like `size=(3, n)` asks for."""
    if isinstance(value, Constant):
        if value.value is None:
            return ()
        return (value.value,) if isinstance(value.value, (int, Size)) else None
    if isinstance(value, Sequence) and value.items is not None:
        sizes = [it.value if isinstance(it, Constant) else None for it in value.items]
        return tuple(it if isinstance(it, (int, Size)) else None for it in sizes)
    return None


def length_of(value: Value) -> Any:
    """How many elements going through a value gives, if that is known."""
    if isinstance(value, Sequence):
        return value.length
    if isinstance(value, Mapping):
        return None if value.is_open else len(value.items)
    if isinstance(value, Data) and isinstance(value.node.shape, tuple) and value.node.shape:
        return value.node.shape[0]
    return None
