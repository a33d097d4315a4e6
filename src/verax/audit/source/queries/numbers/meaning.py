"""What a value means, by the operation that made it: probabilities, something normalised."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Set
from dataclasses import dataclass

from ....words import words_of
from ...graph import Node
from ...operations import (
    BROADCASTS,
    CASTS_TO_GIVEN,
    FLOAT_CASTS,
    MEANS,
    MODULES,
    RESHAPES,
    REVERSALS,
    SELECTIONS,
    SUMS,
    TRANSPOSES,
    bare,
)
from ...values import Constant, Data, External, Sequence, Value
from ..arithmetic import is_far_below
from ..sameness import Sameness

# They hand on what they are given, or a part of it, in another shape or precision.
_SAME_MEANING = bare(
    RESHAPES | TRANSPOSES | REVERSALS | BROADCASTS | CASTS_TO_GIVEN | FLOAT_CASTS
) | frozenset(
    "stop_gradient clip copy block_until_ready dynamic_slice dynamic_slice_in_dim "
    "dynamic_index_in_dim slice_in_dim index_in_dim".split()
)
_BOUNDARIES = frozenset("stack lane turn carry slice last primal item element".split())
_CHOICES = SELECTIONS | {"at.set"}
_FAR = 100
_TO_RADIANS = ("jax.numpy.deg2rad", "jax.numpy.radians")
_RADIAN = math.pi / 180


def first_behind(
    node: Node,
    accept: Callable[[Node], bool],
    also: Callable[[Node], bool] | None = None,
    through_choices: bool = False,
) -> Node | None:
    """What a value is, under operations that keep its meaning, if that is accepted.

    With `also`, operations for which it says yes count among them; with `through_choices`, those
    that choose between such values, or between one and a number, too.
    """
    for _ in range(30):
        if accept(node):
            return node
        if through_choices and node.operation in _CHOICES:
            return _of_choices(node, accept, also)
        module, _, name = node.operation.rpartition(".")
        is_same = node.operation in _BOUNDARIES or (module in MODULES and name in _SAME_MEANING)
        if not node.inputs or not (is_same or (also is not None and also(node))):
            return None
        node = node.inputs[0]
    return None


def _of_choices(
    node: Node, accept: Callable[[Node], bool], also: Callable[[Node], bool] | None
) -> Node | None:
    sides = [it.node for it in _chosen_between(node) if isinstance(it, Data)]
    found = [first_behind(it, accept, also, True) for it in sides if not _is_filled(it)]
    return found[0] if found and None not in found else None


def _chosen_between(node: Node) -> list[Value]:
    """What a choice chooses between: `where(mask, x, y)`, `x.at[mask].set(y)`."""
    if node.operation != "at.set":
        return list(node.operands[1:3])
    place, *values = node.operands
    array = place.items[:1] if isinstance(place, Sequence) and place.items else [place]
    return [*array, *values]


def _is_filled(node: Node) -> bool:
    """Whether it is one number, for whatever was not chosen."""
    name = node.operation.rpartition(".")[2].removesuffix("_like")
    return node.shape == () or name in ("zeros", "ones", "full")


def filled_as_logits(node: Node, made: Node) -> Node | None:
    """Where what was made of something gets numbers far below zero, as only logits do."""
    for it in node.ancestors():
        is_filled = it.operation in _CHOICES and any(map(is_far_below, it.operands))
        if is_filled and it.depends_on(made):
            return it
    return None


def is_taken(node: Node) -> bool:
    """Whether a value is picked from others: the probability of what was done."""
    return node.operation in ("jax.numpy.take_along_axis", "jax.numpy.take")


def is_arranged(node: Node) -> bool:
    """Whether values are picked from others, or put into another order, and stay what they are."""
    return is_taken(node) or node.operation.rpartition(".")[2] in ("sort", "top_k", "roll")


def is_tempered(node: Node) -> bool:
    """Whether a value is averaged over others of its kind, or multiplied by a number."""
    if node.operation in MEANS:
        return True
    is_scaled = node.operation in ("*", "/") and len(node.inputs) == 1
    return is_scaled and isinstance(node.operands[0], Data)


def is_probability(node: Node) -> bool:
    """Whether a value has just been made a probability."""
    return node.operation == "jax.nn.sigmoid" or is_softmax(node)


def is_softmax(node: Node) -> bool:
    """Whether it is a softmax, be it by hand: `e / e.sum()`, `exp(log_softmax(x))`."""
    if node.operation == "jax.nn.softmax":
        return True
    if node.operation == "jax.numpy.exp" and node.inputs:
        return node.inputs[0].operation == "jax.nn.log_softmax"
    if node.operation != "/" or len(node.inputs) != 2:
        return False
    of, total = node.inputs
    is_sum = total.operation in SUMS
    return of.operation == "jax.numpy.exp" and is_sum and total.inputs[0] is of


def is_log_probability(node: Node) -> bool:
    """Whether it has just been made the logarithm of one, be it by hand."""
    if node.operation in ("jax.nn.log_softmax", "jax.nn.log_sigmoid"):
        return True
    if node.operation != "-" or len(node.inputs) != 2:
        return False
    of, total = node.inputs
    while total.operation.rpartition(".")[2] in _SAME_MEANING and total.inputs:
        total = total.inputs[0]
    return total.operation.endswith(".logsumexp") and total.inputs[:1] == (of,)


def is_logarithm(node: Node) -> bool:
    """Whether the logarithm of a probability is a value, or one of the terms that it sums up."""
    pending, seen = [node], {node}
    while pending and len(seen) < _FAR:
        found = first_behind(pending.pop(), _is_log_or_sum, is_taken)
        if found is None:
            continue
        if is_log_probability(found):
            return True
        pending += [it for it in found.inputs if it not in seen]
        seen.update(found.inputs)
    return False


def _is_log_or_sum(node: Node) -> bool:
    return is_log_probability(node) or node.operation in ("+", "-")


@dataclass(frozen=True, eq=False)
class Normalised:
    """`(of - mean) / scale`; for a plain scaling, `mean` is none and `scale` a number.

    If `is_back`, from such numbers to those of an interval from `mean` to `scale`, or from
    standardised ones to those with this mean and deviation.
    """

    node: Node
    of: Node
    mean: Value | None
    scale: Value
    is_back: bool = False

    def is_by_the_same(self, other: Normalised, same: Sameness) -> bool:
        """Whether both take the same statistics, and in the same direction."""
        if self.is_back is not other.is_back:
            return False
        if self.mean is None or other.mean is None:
            return self.mean is other.mean and _number(self.scale) == _number(other.scale)
        pairs = ((self.mean, other.mean), (self.scale, other.scale))
        return all(_same(one, two, same) for one, two in pairs)


def _same(one: Value, other: Value, same: Sameness) -> bool:
    if isinstance(one, Data) and isinstance(other, Data):
        return same.are(one.node, other.node)
    return _number(one) is not None and _number(one) == _number(other)


def _number(value: Value) -> float | None:
    number = value.value if isinstance(value, Constant) else None
    return float(number) if isinstance(number, (int, float)) else None


def normalised_before(again: Normalised) -> Normalised | None:
    """What was done to a value before it is normalised, if it was normalised already."""
    found = first_behind(
        again.of,
        lambda it: normalised(it) is not None,
        _is_augmented if again.mean is None else _is_same_but_noise,
        through_choices=True,
    )
    return normalised(found) if found is not None else None


def normalised(node: Node) -> Normalised | None:
    """What a node normalises, or takes to an interval or to other units, if it does."""
    degrees = _degrees(node)
    if degrees is not None:
        return Normalised(node, degrees, None, Constant(_RADIAN))
    if len(node.operands) != 2:
        return None
    if node.operation == "+":
        return _interpolated(node) or _restored(node)
    above, scale = node.operands
    if not isinstance(above, Data):
        return None
    if node.operation != "/" and not (node.operation == "*" and _is_inverse(scale)):
        return None
    number = _number(scale)
    if number == 255:  # Pixels; other numbers may well divide a value twice.
        return Normalised(node, above.node, None, scale)
    difference = above.node
    if difference.operation != "-" or len(difference.operands) != 2:
        return None
    of, mean = difference.operands
    if not isinstance(of, Data):
        return None
    return Normalised(node, of.node, mean, scale)


def _degrees(node: Node) -> Node | None:
    """What a node takes to radians: `jnp.deg2rad(x)`, `x * jnp.pi / 180`."""
    if node.operation in _TO_RADIANS:
        return next(iter(node.inputs), None)
    if len(node.inputs) != 1 or len(node.operands) != 2:
        return None
    first, second = node.operands
    if node.operation == "/" and _number(second) == 180 and isinstance(first, Data):
        factors = first.node.operands if first.node.operation == "*" else ()
        is_turned = len(first.node.inputs) == 1 and any(map(_is_pi, factors))
        return first.node.inputs[0] if is_turned else None
    numbers = [it for it in map(_number, node.operands) if it is not None]
    is_radian = node.operation == "*" and any(math.isclose(it, _RADIAN) for it in numbers)
    return node.inputs[0] if is_radian else None


def _is_pi(value: Value) -> bool:
    number = _number(value)
    is_named = isinstance(value, External) and value.name.endswith(".pi")
    return is_named or (number is not None and math.isclose(number, math.pi))


def _is_augmented(node: Node) -> bool:
    """Whether pixels are changed at random, or by a small number, and stay pixels."""
    name = node.operation.rpartition(".")[2]
    if name in _PLACED:
        return True
    if node.operation not in ("+", "-", "*") or len(node.operands) < 2:
        return False
    other = node.operands[1]
    if isinstance(other, Data):
        return _is_random(other.node)
    number = _number(other)
    return number is not None and abs(number) < 10


def _is_same_but_noise(node: Node) -> bool:
    """Whether values are put elsewhere, joined with others like them, or shaken."""
    if node.operation.rpartition(".")[2] in _PLACED:
        return True
    noise = node.operands[1] if node.operation in ("+", "-") and len(node.operands) == 2 else None
    return isinstance(noise, Data) and _is_random(noise.node)


def _is_random(node: Node) -> bool:
    return any(it.operation.startswith("jax.random.") for it in node.ancestors())


def _is_inverse(scale: Value) -> bool:
    """Whether something is to be multiplied where one would divide: `rsqrt(var)`, `inv_std`."""
    if not isinstance(scale, Data):
        return False
    node = scale.node
    if node.operation == "/" and len(node.operands) == 2:
        return _number(node.operands[0]) == 1
    is_named = not _INVERSE.isdisjoint(words_of(node.label))
    return node.operation.rpartition(".")[2] in ("rsqrt", "reciprocal") or is_named


_INVERSE = frozenset("inv inverse rstd rsigma istd".split())
_PLACED = frozenset(
    "pad flip fliplr flipud roll rot90 dynamic_slice take concatenate stack vstack".split()
)


def _interpolated(node: Node) -> Normalised | None:
    """`low + share * (high - low)`: of which share, and between what."""
    for low, product in (node.operands, node.operands[::-1]):
        if not isinstance(low, Data) or not isinstance(product, Data):
            continue
        factors = _factors(product.node)
        widths = [it for it in factors if _is_width(it, low.node)]
        rest = [it for it in factors if it not in widths]
        if len(widths) == 1 and len(rest) == 1:
            high = widths[0].operands[0]
            return Normalised(node, _without_numbers(rest[0]), low, high, is_back=True)
    return None


def _restored(node: Node) -> Normalised | None:
    """`z * stats.std + stats.mean`: of what, and by which statistics, where they are named so."""
    for product, mean in (node.operands, node.operands[::-1]):
        if not isinstance(mean, Data) or not isinstance(product, Data):
            continue
        factors = product.node.operands if product.node.operation == "*" else ()
        if len(factors) != 2 or not _is_called(node, mean, _MEANS):
            continue
        for scale, of in (factors, factors[::-1]):
            is_scale = _is_called(product.node, scale, _DEVIATIONS)
            if is_scale and isinstance(of, Data) and isinstance(scale, Data):
                return Normalised(node, of.node, mean, scale, is_back=True)
    return None


_MEANS = frozenset("mean means mu avg average".split())
_DEVIATIONS = frozenset("std stds stddev sd sigma scale deviation".split())


def written_name(node: Node, operand: Value) -> str:
    """What an operation calls one of its two operands: by a name, a field or a key."""
    syntax = node.syntax
    if not isinstance(syntax, ast.BinOp) or len(node.operands) != 2:
        return ""
    written = syntax.left if operand is node.operands[0] else syntax.right
    if isinstance(written, ast.Name):
        return written.id
    if isinstance(written, ast.Subscript) and isinstance(written.slice, ast.Constant):
        return str(written.slice.value)
    return written.attr if isinstance(written, ast.Attribute) else ""


def _is_called(node: Node, operand: Value, words: Set[str]) -> bool:
    return not words.isdisjoint(words_of(written_name(node, operand)))


def _factors(node: Node) -> list[Node]:
    """What is multiplied, but for numbers."""
    if node.operation == "/" and len(node.inputs) == 1 and isinstance(node.operands[0], Data):
        return _factors(node.inputs[0])
    if node.operation != "*":
        return [node]
    return [one for it in node.operands if isinstance(it, Data) for one in _factors(it.node)]


def _is_width(node: Node, low: Node) -> bool:
    if node.operation != "-" or len(node.operands) != 2:
        return False
    subtracted = node.operands[1]
    return isinstance(subtracted, Data) and subtracted.node is low


def _without_numbers(node: Node) -> Node:
    """A value before numbers were added to it, or it was multiplied by them."""
    while node.operation in ("+", "-", "*", "/") and len(node.inputs) == 1:
        node = node.inputs[0]
    return node
