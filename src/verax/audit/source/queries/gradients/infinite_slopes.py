"""Operations in a differentiated function whose derivative is infinite at what they get.

Told for numbers that the program itself brings about: where a value is cut off at zero, where the
difference of each with each is taken, in which everything is compared with itself, and where a loop
starts with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ...operations import MODULES, SUMS, TRANSPOSES, VIEWS, ZEROS, bare
from ...values import Constant, Data, Value
from ..indices import index_parts, is_new_axis, is_whole
from .flows import Flow

# Where the derivative of a function is infinite.
_SINGULAR = {
    "sqrt": (0,),
    "norm": (0,),
    "rsqrt": (0,),
    "cbrt": (0,),
    "arccos": (-1, 1),
    "arcsin": (-1, 1),
    "acos": (-1, 1),
    "asin": (-1, 1),
}
# Zero where what they are given is zero.
_KEEP_ZERO = bare(VIEWS | TRANSPOSES | SUMS) | frozenset(
    "square abs absolute multiply dot vdot vecdot".split()
)


_TURNS = frozenset(("carry", "turn", "primal", "lane"))


@dataclass(frozen=True, eq=False)
class InfiniteSlope:
    """An operation, the number at which its derivative is infinite, and where that comes from."""

    operation: Node
    operand: Node
    number: int
    origin: Node
    is_self: bool = False
    is_start: bool = False


def infinite_slopes(flow: Flow) -> Iterator[InfiniteSlope]:
    """All such operations through which a gradient comes back."""
    for node in flow.order:
        found = _singular(node)
        if found is None or node not in flow.trained_through or flow.context.is_custom(node):
            continue
        operand, numbers = found
        if not flow.gets(operand):
            continue
        cut = _cut_at(operand, numbers)
        if cut is not None:
            yield InfiniteSlope(node, operand, cut, operand)
        elif 0 in numbers:
            origin = zero_behind(operand)
            if origin is not None:
                is_self = origin.operation == "-"
                yield InfiniteSlope(node, operand, 0, origin, is_self, not is_self)


def _singular(node: Node) -> tuple[Node, tuple[int, ...]] | None:
    """The operand of a function whose derivative is infinite somewhere, and where."""
    operands = node.operands
    first = operands[0] if operands else None
    if not isinstance(first, Data):
        return None
    module, _, name = node.operation.rpartition(".")
    if name in _SINGULAR and module in (*MODULES, "jax.numpy.linalg"):
        return first.node, _SINGULAR[name]
    if node.operation == "**" and len(operands) == 2:
        power = operands[1].value if isinstance(operands[1], Constant) else None
        if isinstance(power, float) and 0 < power < 1:
            return first.node, (0,)
    return None


def _cut_at(node: Node, numbers: tuple[int, ...]) -> int | None:
    """The number of some at which a value is cut off, so that it is often just that."""
    module, _, name = node.operation.rpartition(".")
    if module not in MODULES:
        return None
    if name == "relu":
        return 0 if 0 in numbers else None
    bounds: list[Value] = []
    if name in ("maximum", "clip", "clamp", "minimum"):
        bounds = [it for it in node.operands if isinstance(it, Constant)]
    for bound in bounds:
        number = bound.value if isinstance(bound, Constant) else None
        if isinstance(number, (int, float)) and number in numbers:
            return int(number)
    return None


def zero_behind(node: Node) -> Node | None:
    """What a value is zero with: the difference of all pairs of an array, or zeros at the start."""
    pending, seen = [node], set[Node]()
    while pending and len(seen) < 30:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.operation == "-" and _is_of_itself(current):
            return current
        start = _start(current)
        if start is not None:
            return start
        pending += _zero_with(current)
    return None


def _start(node: Node) -> Node | None:
    """The zeros with which a loop starts that differentiates with respect to this.

    Of what a differentiated loop starts with, nobody asks for the gradient.
    """
    way: list[str] = []
    while node.operation in _TURNS and node.inputs:
        way.append(node.operation)
        node = node.inputs[0]
    if node.operation not in ZEROS or "primal" not in way:
        return None
    around = way[way.index("primal") :]
    return node if "carry" in around or "turn" in around else None


def _zero_with(node: Node) -> list[Node]:
    """Operands of which one that is zero makes the result zero."""
    operation, operands = node.operation, node.operands
    module, _, name = operation.rpartition(".")
    data = [it.node for it in operands if isinstance(it, Data)]
    if operation == "*" or (module in MODULES and name in _KEEP_ZERO):
        return data
    if name == "einsum" and is_sum_of_squares(node):
        return data[:1]
    if operation in ("/", "**"):
        return data[:1] if operands and isinstance(operands[0], Data) else []
    if operation == "-" and len(data) == 2 and data[1].depends_on(data[0]):
        return data[:1]  # A displacement less what a box of periodic images makes of it.
    return list(node.inputs[:1]) if operation in ("-x", "field", "stack", "lane") else []


def is_sum_of_squares(einsum: Node) -> bool:
    """Whether an array is multiplied by itself, element by element: `"ijd,ijd->ij"`."""
    subscripts, *arrays = einsum.operands
    letters = subscripts.value if isinstance(subscripts, Constant) else None
    if not isinstance(letters, str) or len(arrays) != 2:
        return False
    one, other = arrays
    first, _, second = letters.replace(" ", "").partition("->")[0].partition(",")
    return (
        isinstance(one, Data)
        and isinstance(other, Data)
        and first == second
        and one.node is other.node
    )


def _is_of_itself(difference: Node) -> bool:
    """Whether both sides are one array, with a new axis in different places or in two maps."""
    if len(difference.operands) != 2:
        return False
    one, other = difference.operands
    if not isinstance(one, Data) or not isinstance(other, Data):
        return False
    first, second = (
        it.inputs[0] if it.operation == "primal" else it for it in (one.node, other.node)
    )
    if not first.inputs or not second.inputs or first.inputs[0] is not second.inputs[0]:
        return False
    if first.operation == second.operation == "lane":
        return first.varies != second.varies
    positions = [new_axis(it) for it in (first, second)]
    return None not in positions and positions[0] != positions[1]


def new_axis(node: Node) -> int | None:
    """Where `x[:, None]` or `expand_dims` puts a new axis, as the only thing that it does."""
    if node.operation.endswith(".expand_dims") and len(node.operands) > 1:
        axis = node.operands[1]
        return axis.value if isinstance(axis, Constant) and isinstance(axis.value, int) else None
    if node.operation != "item":
        return None
    parts = index_parts(node.syntax)
    new = [at for at, it in enumerate(parts) if is_new_axis(it)]
    is_plain = all(is_new_axis(it) or is_whole(it) for it in parts)
    return new[0] if len(new) == 1 and is_plain else None
