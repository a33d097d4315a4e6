"""A loss as a sum of terms, and the errors that it makes small.

From the flow of gradients alone: an error that is squared has, as its parts, what is predicted and
what it is compared with. No names are looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...graph import Node
from ...operations import (
    BOUNDS,
    BROADCASTS,
    CASTS_TO_GIVEN,
    CONTRACTIONS,
    FLOAT_CASTS,
    JOINS,
    MODULES,
    RESHAPES,
    SELECTIONS,
    TRANSPOSES,
    bare,
)
from ...values import Constant, Data
from ..arithmetic import is_one_hot
from ..arrays import argument, origin
from .flatness import STOP
from .flows import Flow

_REDUCTIONS = frozenset("mean sum nanmean nansum average pmean psum".split())
# Linear in their first operand, whatever the others are.
_LINEAR = bare(RESHAPES | TRANSPOSES | BROADCASTS | CASTS_TO_GIVEN | FLOAT_CASTS) | {
    "atleast_1d",
    "real",
}
_CHOICES = bare(SELECTIONS | BOUNDS) | {"select_n"}
# They put terms side by side.
_STACKS = bare(JOINS) | {"asarray"}
# The same for a difference and for its opposite, and the smaller the nearer this is to zero.
_EVENS = frozenset(
    (
        *(f"{it}.{name}" for it in MODULES for name in "square abs absolute fabs cosh".split()),
        "jax.numpy.linalg.norm",
        "optax.safe_norm",
        "builtins.abs",
    )
)
# Functions of a prediction and a target that are zero where both agree.
_COMPARISONS = frozenset(
    "optax.l2_loss optax.squared_error optax.huber_loss optax.losses.l2_loss "
    "optax.losses.squared_error optax.losses.huber_loss optax.log_cosh "
    "optax.losses.log_cosh".split()
)
_SIDES = {"predictions": 1, "targets": -1}
# They bootstrap from values, of which they stop no gradient unless they are told to.
_RETURNS = frozenset(
    f"rlax.{name}"
    for name in "lambda_returns discounted_returns n_step_bootstrapped_returns".split()
)
# What is the same on the other side of a boundary, in one of the turns, or in one of the branches.
SAME = frozenset(("stack", "lane", "last", "join", "carry", "slice", "turn"))
_MOST_TERMS = 100


@dataclass(frozen=True, eq=False)
class Term:
    """A value that a sum has as a part: with which sign, and times a factor or not.

    `ways` are the choices that it takes to be one, as joins and what is taken of them. `taken` is
    what was taken of it, if not the whole.
    """

    node: Node
    sign: int
    scaled: bool = False
    ways: frozenset[tuple[Node, Node]] = frozenset()
    taken: Node | None = None

    def part(self, node: Node, sign: int = 1, is_scaled: bool = False) -> Term:
        """A part of it, in a sum or as a multiple."""
        scaled = self.scaled or is_scaled
        return Term(node, sign * self.sign, scaled, self.ways, self.taken)

    def excludes(self, other: Term) -> bool:
        """Whether two parts are of different branches, and never of one sum."""
        taken = dict(self.ways)
        return any(taken.get(join, way) is not way for join, way in other.ways)


def terms(
    flow: Flow,
    start: list[Term],
    into_reductions: bool = True,
    is_whole: Callable[[Node], bool] = lambda _: False,
    into_stacks: bool = False,
) -> list[Term]:
    """The parts of a sum, down to what is not linear in the parameters any more, or is whole.

    What is stacked are parts of the sum over it, and not of one another's: who compares parts does
    not look `into_stacks`.
    """
    found: list[Term] = []
    pending = list(start)
    seen: set[tuple[Node, int, bool, frozenset[tuple[Node, Node]], Node | None]] = set()
    while pending and len(found) < _MOST_TERMS:
        term = pending.pop()
        key = (term.node, term.sign, term.scaled, term.ways, term.taken)
        if key in seen:
            continue
        seen.add(key)
        stacked = _stacked(flow, term.node) if into_stacks else None
        if is_whole(term.node):
            parts = None
        elif stacked is not None:
            parts = [term.part(it) for it in stacked]
        else:
            parts = _parts(flow, term, into_reductions)
        if parts is None:
            found.append(term)
        else:
            pending += reversed(parts)
    return found


def _stacked(flow: Flow, node: Node) -> tuple[Node, ...] | None:
    """The terms that an array of them holds, also where each is times a weight of its own."""
    factors = multiplied(node)
    for one, other in (factors, factors[::-1]) if factors is not None else ():
        if flow.gets(one) and not flow.gets(other):
            node = origin(one)
    module, _, name = node.operation.rpartition(".")
    is_stack = module in MODULES and name in _STACKS and len(node.inputs) > 1
    return node.inputs if is_stack else None


def _parts(flow: Flow, term: Term, into_reductions: bool) -> list[Term] | None:
    node, operation, operands = term.node, term.node.operation, term.node.operands
    if operation in SAME and node.inputs:
        parts = [term.part(it) for it in flow.sources(node)]
        if operation == "join":
            return [replace(it, ways=it.ways | {(node, it.node)}) for it in parts]
        return parts
    if operation == "cond":
        return [term.part(it) for it in node.inputs[1:]]
    returned = _returned(flow, node)
    if returned is not None:
        return [term.part(returned[0]), term.part(returned[1], is_scaled=True)]
    if operation in ("+", "-") and len(operands) == 2:
        signs = (1, -1 if operation == "-" else 1)
        pairs = zip(operands, signs, strict=True)
        return [term.part(it.node, sign) for it, sign in pairs if isinstance(it, Data)]
    if operation == "-x" and node.inputs:
        return [term.part(node.inputs[0], -1)]
    module, _, name = operation.rpartition(".")
    if module in MODULES and node.inputs:
        reduced = name in _REDUCTIONS and (into_reductions or _is_of_numbers(node.inputs[0]))
        if reduced or name in _LINEAR:
            return [term.part(node.inputs[0])]
        if len(node.inputs) == 1 and name in _STACKS:
            return [term.part(node.inputs[0])]
        if name in _CHOICES and into_reductions:
            moving = [it for it in node.inputs if flow.gets(it)]
            return [term.part(it) for it in moving] or None
    if operation == "item" and flow.gets(node) and into_reductions and node in flow.data:
        if _is_one_of_several(node):
            return None
        return [replace(term, node=node.inputs[0], taken=term.taken or node)]
    return _scaled(flow, term)


def _returned(flow: Flow, node: Node) -> tuple[Node, Node] | None:
    """Rewards and values, if a value is what a library makes returns of them, with a gradient."""
    call = flow.context.calls.get(node) if node.operation == "call" else None
    if call is None or call.name not in _RETURNS:
        return None
    stop = call.keywords.get("stop_target_gradients", Constant(False))
    given = argument(call, 0, "r_t"), argument(call, 2, "v_t")
    nodes = [it.node for it in given if isinstance(it, Data)]
    is_open = isinstance(stop, Constant) and stop.value is False
    return (nodes[0], nodes[1]) if is_open and len(nodes) == 2 else None


def _is_of_numbers(node: Node) -> bool:
    """Whether each lane, or turn, gives one number: terms of it are terms of the whole."""
    return node.operation == "stack" and isinstance(node.shape, tuple) and len(node.shape) == 1


def _is_one_of_several(item: Node) -> bool:
    """Whether an item is one of the results of something outside, such as a network's heads."""
    made_by = item.inputs[0].operation
    is_outside = made_by == "call" or made_by.startswith(".")
    return is_outside and item.label.isdigit() and not isinstance(item.syntax, ast.Subscript)


def _scaled(flow: Flow, term: Term) -> list[Term] | None:
    """The one factor of a product, or the numerator, that the parameters have part in."""
    node = term.node
    operation = node.operation
    if len(node.operands) != 2 or operation not in ("*", "/"):
        return None
    moving = [it for it in node.operands if isinstance(it, Data) and flow.gets(it.node)]
    if len(moving) != 1 or (operation == "/" and moving[0] is not node.operands[0]):
        return None
    fixed = node.operands[1] if moving[0] is node.operands[0] else node.operands[0]
    number = fixed.value if isinstance(fixed, Constant) else None
    negative = isinstance(number, (int, float)) and number < 0
    one = number in (1, -1) or (isinstance(fixed, Data) and is_one_hot(fixed.node))
    moved = moving[0]
    assert isinstance(moved, Data)
    return [term.part(moved.node, -1 if negative else 1, not one)]


@dataclass(frozen=True, eq=False)
class Error:
    """A difference that a loss makes small: what goes into a square or an absolute value."""

    parts: list[Term]
    made: Node
    node: Node


def errors(flow: Flow) -> Iterator[Error]:
    """All differences that are squared, or taken the absolute value of, on the way to a result."""
    for node in flow.order:
        if node not in flow.trained_through or not flow.gets(node):
            continue
        inside = squared(node)
        if inside is not None:
            yield Error([Term(inside, 1)], inside, node)
            continue
        call = flow.context.calls.get(node)
        if call is not None and call.name in _COMPARISONS:
            given = {**dict(zip(_SIDES, call.args, strict=False)), **call.keywords}
            pairs = [(given.get(name), sign) for name, sign in _SIDES.items()]
            parts = [Term(it.node, sign) for it, sign in pairs if isinstance(it, Data)]
            # Given one of them alone, that is the difference.
            is_whole = len(parts) == 1 and "targets" not in given
            yield Error(parts, parts[0].node if is_whole else node, node)


def squared(node: Node) -> Node | None:
    """What a node is the square or the absolute value of."""
    operation, operands = node.operation, node.operands
    module, _, name = operation.rpartition(".")
    if operation in _EVENS:
        return node.inputs[0] if len(node.inputs) == 1 else None
    factors = multiplied(node)
    if factors is not None and factors[0] is factors[1]:
        return factors[0]
    if len(operands) != 2 or not isinstance(operands[0], Data):
        return None
    first, second = operands[0].node, operands[1]
    if operation == "**" or (module in MODULES and name in ("power", "pow", "integer_pow")):
        even = isinstance(second, Constant) and second.value in (2, 4)
        return first if even else None
    return None


def multiplied(node: Node) -> tuple[Node, Node] | None:
    """The two arrays that a node multiplies, be it element by element or in a sum of products."""
    operands = node.operands
    if node.operation == "jax.numpy.einsum":
        operands = operands[1:]
    elif node.operation != "*" and node.operation not in CONTRACTIONS:
        return None
    if len(operands) != 2:
        return None
    first, second = operands
    if not isinstance(first, Data) or not isinstance(second, Data):
        return None
    return first.node, second.node


def views(node: Node, through_items: bool = True) -> Iterator[Node]:
    """A value, and what it is a view or an element of, on the other side of boundaries."""
    node = origin(node)
    yield node
    while node.inputs and (
        (through_items and node.operation == "item") or node.operation.rpartition(".")[2] in _LINEAR
    ):
        node = origin(node.inputs[0])
        yield node


def viewed(node: Node, through_items: bool = True) -> Node:
    """What a value is a view or an element of, in the end."""
    *_, last = views(node, through_items)
    return last


def stopped(node: Node) -> Node | None:
    """What a value is, but for its gradient that was stopped."""
    return node.inputs[0] if node.operation == STOP and node.inputs else None
