"""Whether the order in which a function combines values matters, tried with numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from ...graph import Node
from ...values import Constant, Data, Value, leaves
from .bodies import paired_leaves

Numbers = list[float]


class _NotKnown(Exception):
    """Something that cannot be computed from what is known."""


_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "maximum": max,
    "minimum": min,
    "exp": math.exp,
    "square": lambda a: a * a,
    "negative": lambda a: -a,
}
_TRIALS = 3


def is_not_associative(one: Value, other: Value, result: Value) -> bool:
    """Whether `f(f(x, y), z)` and `f(x, f(y, z))` differ, for what a function gives for two values.

    Whatever else goes into the result may be any number, the same in each call.
    """
    first = leaves(one)
    # By their keys: what JAX hands in is sorted, and what a function returns is not.
    second = [it for _, it in paired_leaves(one, other)]
    after = [it for _, it in paired_leaves(one, result)]
    if not first or not len(first) == len(second) == len(after):
        return False
    pick = random.Random(0)
    try:
        return all(_trial(first, second, after, pick) for _ in range(_TRIALS))
    except (_NotKnown, ArithmeticError):
        return False


def _trial(first: list[Data], second: list[Data], after: list[Data], pick: random.Random) -> bool:
    free: dict[Node, float] = {}

    def combine(x: Numbers, y: Numbers) -> Numbers:
        given = {it.node: number for it, number in zip(first + second, x + y, strict=True)}
        return [_computed(it, given, free, pick) for it in after]

    x, y, z = ([pick.uniform(0.3, 1.7) for _ in first] for _ in range(3))
    left, right = combine(combine(x, y), z), combine(x, combine(y, z))
    return any(not math.isclose(a, b, rel_tol=1e-3) for a, b in zip(left, right, strict=True))


def _computed(
    value: Value, given: dict[Node, float], free: dict[Node, float], pick: random.Random
) -> float:
    if isinstance(value, Constant) and isinstance(value.value, (int, float)):
        return float(value.value)
    if not isinstance(value, Data):
        raise _NotKnown
    node = value.node
    if node in given:
        return given[node]
    if given.keys().isdisjoint(node.ancestors()):
        return free.setdefault(node, pick.uniform(0.3, 1.7))
    # What an operator of Python's is called, or a function of `jax.numpy` or `jax.lax`.
    module, _, name = node.operation.rpartition(".")
    operation = _OPERATIONS.get(name) if module in ("", "jax.numpy") else None
    numbers = [_computed(it, given, free, pick) for it in node.operands if operation is not None]
    if operation is None or not numbers:
        raise _NotKnown
    try:
        return operation(*numbers)
    except TypeError as error:  # Other arguments than these, such as `where=`.
        raise _NotKnown from error
