"""Counters: which value is the number of a loop's turn, and where it ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from ....finding import Place
from ...events import Loop
from ...frame import Frame
from ...graph import Node
from ...remember import remembered, walked
from ...shapes.dims import Dim, Size, add, mul, sub
from ...shaping import size_symbol
from ...values import NONE, Constant, Data, Sequence, Value, leaves
from ..origins import origin_of
from .accesses import accesses
from .bodies import pairs
from .carries import put_in

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class Bound:
    """The number that a counter stays below, and the loop that counts, unless it is Python's."""

    limit: Any
    place: Place
    length: tuple[Frame, ast.expr] | None = None
    loop: Loop | None = None

    def length_at(self, facts: SourceFacts) -> Place:
        """Where the program says how often the loop turns."""
        if self.length is None:
            return self.place
        frame, written = self.length
        while isinstance(written, ast.BinOp) and isinstance(written.right, ast.Constant):
            written = written.left  # the last turn: `n - 1`
        return origin_of(facts, frame, written)

    @property
    def chosen_at(self) -> Place | None:
        """Where a loop takes its length by a name that is the size of new arrays, too.

        The name means what it is for those; it is the wrong one for the loop.
        """
        frame, written = self.length or (None, None)
        scope = frame
        while scope is not None and isinstance(written, ast.Name):
            if written.id in scope.environment and scope.function is not None:
                is_size = any(_is_in_shape(it, written.id) for it in walked(scope.function))
                return frame.place(written) if frame is not None and is_size else None
            scope = scope.outer
        return None


def _is_in_shape(node: ast.AST, name: str) -> bool:
    """Whether a call is given a shape that is written with a name."""
    shapes = (
        [it for it in node.args if isinstance(it, ast.Tuple)] if isinstance(node, ast.Call) else []
    )
    return any(isinstance(size, ast.Name) and size.id == name for it in shapes for size in it.elts)


@remembered
def bounds(facts: SourceFacts) -> dict[Node, Bound]:
    """All counters of JAX's and of Python's loops, and the numbers of lanes."""
    found: dict[Node, Bound] = {}
    for loop in facts.events(Loop):
        for node, limit in _counters(loop):
            if limit is not None:
                found[node] = Bound(limit, loop.place, _length(loop, node), loop)
    for access in accesses(facts):
        for _, index in access.positions:
            for counter in _terms(index):
                bound = _of_python(counter) or _of_lane(counter)
                if bound is not None:
                    found[counter] = bound
    return found


def _length(loop: Loop, counter: Node) -> tuple[Frame, ast.expr] | None:
    """The expression for the number of a loop's turns, and the frame that it is written in."""
    numbers = _numbers(counter) if counter.operation == "slice" else None
    if numbers is not None and isinstance(numbers.syntax, ast.Call) and numbers.frame is not None:
        given = numbers.syntax.args
        return (numbers.frame, given[0]) if len(given) == 1 else None
    if loop.kind == "while_loop":
        return _started(loop, counter) or next(
            (
                (test.frame, test.syntax.comparators[0])
                for test, it, _ in _tested(loop)
                if it is counter and isinstance(test.syntax, ast.Compare) and test.frame is not None
            ),
            None,
        )
    if not isinstance(loop.syntax, ast.Call):
        return None
    position, name = (1, "upper") if loop.kind == "fori_loop" else (3, "length")
    named = [it.value for it in loop.syntax.keywords if it.arg == name]
    given = [*loop.syntax.args[position : position + 1], *named]
    return (loop.frame, given[0]) if given else None


def _started(loop: Loop, counter: Node) -> tuple[Frame, ast.expr] | None:
    """The expression for what a counter that goes down starts with."""
    if counter not in (node for node, _ in _counted_down(loop)):
        return None
    leaf = next(it for it in leaves(loop.carry_in or NONE) if it.node is counter)
    written = put_in(loop.initial, loop.carry_in, leaf)
    if written is None or not isinstance(written.syntax, ast.expr):
        return None
    return written.frame, written.syntax


def turn_of(index: Node, known: dict[Node, Bound]) -> Bound | None:
    """The bound of an index that counts the turns of a loop, forwards or from the last one back."""
    if index in known:
        return known[index]
    counter, last = _subtracted(index)
    bound = known.get(counter) if counter is not None else None
    return bound if bound is not None and last == sub(bound.limit, 1) else None


def _subtracted(index: Node) -> tuple[Node | None, Dim]:
    """What an index subtracts, and from which number: `n - 1 - i` and `n - i - 1` are the same."""
    added: Dim = 0
    while index.operation in ("+", "-") and len(index.operands) == 2:
        first, second = index.operands
        if isinstance(first, Data) and isinstance(second, Constant):
            added = (add if index.operation == "+" else sub)(added, _number(second))
            index = first.node
        elif index.operation == "-" and isinstance(first, Constant) and isinstance(second, Data):
            return second.node, add(added, _number(first))
        else:
            break
    return None, None


def _number(constant: Constant) -> Dim:
    """A constant that counts; keys of a dict may be words, which are added to others as well."""
    value = constant.value
    return value if type(value) is int or isinstance(value, Size) else None


def _terms(index: Node, depth: int = 4) -> Iterator[Node]:
    """What an index is added up and multiplied from."""
    if index.operation in ("+", "-", "*") and depth:
        for it in index.inputs:
            yield from _terms(it, depth - 1)
    else:
        yield index


def sizes_of(array: Node) -> list[Any]:
    """The sizes of an array's axes, as symbols if nothing is known but that the program asks."""
    if isinstance(array.shape, tuple):
        return list(array.shape)
    shape = (array.children or {}).get(("static", "shape"))
    return [] if shape is None else [size_symbol(shape, number) for number in range(6)]


def _counters(loop: Loop) -> Iterator[tuple[Node, Any]]:
    length = loop.length.value if isinstance(loop.length, Constant) else None
    if loop.kind == "fori_loop" and isinstance(loop.slices, Data):
        yield loop.slices.node, length
    for leaf in leaves(loop.slices) if loop.kind in ("scan", "map") and loop.slices else ():
        numbers = _numbers(leaf.node)
        if numbers is not None:
            yield leaf.node, _end_of(numbers)
    if length is None and loop.xs is not None:
        sizes = [it.node.shape for it in leaves(loop.xs)]
        length = next((it[0] for it in sizes if isinstance(it, tuple) and it), None)
    steps = dict(_counted(loop))
    if loop.kind == "while_loop":
        for _, it, limit in _tested(loop):
            if it in steps:
                yield it, _end(0, steps[it], _turns(limit, steps[it]))
    if loop.kind == "scan":
        yield from ((node, _end(0, step, length)) for node, step in steps.items())
    if loop.kind in ("scan", "while_loop"):
        yield from _counted_down(loop)


def _turns(limit: Dim, step: int) -> Dim:
    """How often something is below a limit that starts at zero and grows by a step."""
    if step == 1:
        return limit
    return -(-limit // step) if isinstance(limit, int) else None


def _end(start: Dim, step: int, count: Dim) -> Dim:
    """What so many numbers stay below, each of which is a step more than the one before it."""
    if step == 1:
        return add(start, count)
    return add(start, 1) if step < 0 else add(start, add(mul(sub(count, 1), step), 1))


def _end_of(numbers: Node) -> Dim:
    """What the numbers of an `arange` stay below, where it says from which on and by which step."""
    count = numbers.shape[0] if isinstance(numbers.shape, tuple) and numbers.shape else None
    told = [it for it in numbers.operands if not _is_dtype(it)]
    if len(told) == 1:
        return count
    if not told or _names_arguments(numbers):
        return None
    start, step = (_number(it) if isinstance(it, Constant) else None for it in (told[0], told[-1]))
    step = 1 if len(told) == 2 else step
    return _end(start, step, count) if isinstance(step, int) and step else None


def _names_arguments(numbers: Node) -> bool:
    """Whether the bounds of an `arange` are given by their names, and so in any order."""
    call = numbers.syntax
    return isinstance(call, ast.Call) and any(it.arg != "dtype" for it in call.keywords)


def _is_dtype(value: Value) -> bool:
    is_number = isinstance(value, Constant) and isinstance(value.value, (int, float, Size))
    return not is_number and not isinstance(value, Data)


def _numbers(part: Node) -> Node | None:
    """The `arange` that a loop or a map goes through, from its first number on or its last."""
    numbers = part.inputs[0] if part.inputs else None
    while numbers is not None and is_reversed(numbers):
        numbers = numbers.inputs[0]
    is_counted = numbers is not None and numbers.operation == "jax.numpy.arange"
    return numbers if is_counted else None


def is_reversed(node: Node) -> bool:
    """Whether a value is another one from its last element to its first."""
    if node.operation in ("jax.numpy.flip", "jax.numpy.flipud", "jax.lax.rev"):
        return bool(node.inputs) and len(node.inputs[0].shape or ()) == 1
    syntax = node.syntax if node.operation == "item" else None
    return isinstance(syntax, ast.Subscript) and ast.unparse(syntax.slice) == "::-1"


def _stepped(loop: Loop) -> Iterator[tuple[Value, Data, Value]]:
    """The parts of a carry: each as it starts, as it comes into a turn, and as it leaves that."""
    for (start, before), (_, after) in zip(
        pairs(loop.initial, loop.carry_in), pairs(loop.carry_in, loop.carry_out), strict=False
    ):
        if isinstance(before, Data):
            yield start, before, after


def _counted(loop: Loop) -> Iterator[tuple[Node, int]]:
    """Parts of a carry that start at zero, and by which step they grow in each turn."""
    for start, before, after in _stepped(loop):
        step = _step(before, after) if is_zero(start) else None
        if step is not None:
            yield before.node, step


def _counted_down(loop: Loop) -> Iterator[tuple[Node, Any]]:
    """Parts of a carry that are one less in each turn, with the number that they stay below."""
    for start, before, after in _stepped(loop):
        first = start.node.operands[0] if _is_number(start) else start
        number = first.value if isinstance(first, Constant) else None
        if isinstance(number, (int, Size)) and _is_previous(before, after):
            yield before.node, add(number, 1)


def _tested(loop: Loop) -> Iterator[tuple[Node, Node, Any]]:
    """What the condition of a while loop holds below a number: the test, the value, the number."""
    condition = loop.options.get("condition")
    pending = [condition.node] if isinstance(condition, Data) else []
    for test in pending:
        if test.operation in ("&", "jax.numpy.logical_and"):
            pending += test.inputs
        elif test.operation in ("<", "<=") and len(test.operands) == 2:
            value, limit = test.operands
            if isinstance(value, Data) and isinstance(limit, Constant):
                more = 1 if test.operation == "<=" else 0
                yield test, value.node, add(limit.value, more)


def _step(before: Data, after: Value) -> int | None:
    """How much more a number is than another one."""
    node = after.node if isinstance(after, Data) else before.node
    if node.operation != "+" or node.inputs != (before.node,):
        return None
    added = next((it.value for it in node.operands if isinstance(it, Constant)), None)
    return added if type(added) is int and added > 0 else None


def _is_previous(before: Data, after: Value) -> bool:
    """Whether a number is another one minus one."""
    node = after.node if isinstance(after, Data) else before.node
    first, second = node.operands if len(node.operands) == 2 else (None, None)
    is_own = isinstance(first, Data) and first.node is before.node
    return node.operation == "-" and is_own and isinstance(second, Constant) and second.value == 1


_NUMBERS = frozenset("array asarray int32 uint32 int64 int16 uint8 int8".split())


def is_zero(value: Value) -> bool:
    """Whether something is the number 0, as Python's or as an array's: `jnp.int32(0)`."""
    if isinstance(value, Constant):
        return type(value.value) is int and value.value == 0
    if not isinstance(value, Data) or value.node.shape != ():
        return False
    if value.node.operation.rpartition(".")[2] == "zeros":
        return True
    return _is_number(value) and is_zero(value.node.operands[0])


def _is_number(value: Value) -> TypeGuard[Data]:
    """Whether something is an array that is made of one number: `jnp.int32(n - 1)`."""
    if not isinstance(value, Data) or value.node.shape != () or not value.node.operands:
        return False
    return value.node.operation.rpartition(".")[2] in _NUMBERS


def _of_python(index: Node) -> Bound | None:
    """The bound of a counter of `for i in range(n)`."""
    if index.operation != "turn" or not index.inputs or index.inputs[0].operation != "counter":
        return None
    for region in index.varies:
        iterated = region.details.get("iterated")
        if isinstance(iterated, Sequence) and iterated.kind == "range":
            counter = iterated.element
            if isinstance(counter, Data) and counter.node is index.inputs[0] and region.place:
                return Bound(counter.limit, region.place)
    return None


def _of_lane(index: Node) -> Bound | None:
    """The bound of what is mapped over `arange(n)`."""
    numbers = index.inputs[0] if index.operation == "lane" and index.inputs else None
    if numbers is None or numbers.operation != "jax.numpy.arange" or numbers.place is None:
        return None
    end = _end_of(numbers)
    return None if end is None else Bound(end, numbers.place)


def counted(index: Node) -> tuple[Node, int]:
    """What an index counts, and how much is added to it."""
    shift = 0
    while index.operation in ("+", "-") and len(index.inputs) == 1 and len(index.operands) == 2:
        number = next((it.value for it in index.operands if isinstance(it, Constant)), None)
        is_added = index.operation == "+" or isinstance(index.operands[1], Constant)
        if type(number) is not int or not is_added:
            break
        shift += number if index.operation == "+" else -number
        index = index.inputs[0]
    return index, shift


def highest(index: Value, counters: dict[Node, Bound]) -> Dim:
    """The largest number that an index made of counters and constants comes to, if known."""
    if isinstance(index, Constant):
        return index.value if type(index.value) is int and index.value >= 0 else None
    if not isinstance(index, Data):
        return None
    bound = counters.get(index.node)
    if index.limit is not None or bound is not None:
        return sub(bound.limit if index.limit is None and bound is not None else index.limit, 1)
    node = index.node
    if len(node.operands) != 2 or node.operation not in ("+", "-", "*"):
        return None
    first, second = node.operands
    if node.operation == "-":
        less = second.value if isinstance(second, Constant) else None
        return sub(highest(first, counters), less) if type(less) is int else None
    return (add if node.operation == "+" else mul)(
        highest(first, counters), highest(second, counters)
    )
