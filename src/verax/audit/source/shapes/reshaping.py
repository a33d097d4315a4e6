"""Reshapes: the new shape, and what becomes of the axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from .dims import Dim, Size, differ, exact_quotient, floordiv, mul, product, same, show
from .shape import Known, Mismatch, Shape, known, show_shape


def element_count(shape: Shape) -> Dim:
    """The number of elements."""
    return product(shape) if isinstance(shape, tuple) else None


def flatten(shape: Shape) -> Known:
    """All axes as one."""
    return (element_count(shape),)


def reshape(shape: Shape, new: Sequence[Dim] | Dim) -> Known:
    """The new shape, its -1 worked out."""
    wanted = tuple(new) if isinstance(new, Sequence) else (new,)
    inferred = [axis for axis, dim in enumerate(wanted) if dim == -1]
    if len(inferred) > 1:
        raise Mismatch("only one size of a new shape can be -1")
    count = element_count(shape)
    if not inferred:
        if differ(count, product(wanted)):
            raise Mismatch(_unequal(shape, wanted, count))
        return wanted
    rest = product(tuple(dim for dim in wanted if dim != -1))
    at = inferred[0]
    size = exact_quotient(count, rest)
    if size is None and count is not None and rest is not None:
        if type(count) is int and type(rest) is int:
            if rest == 0:
                raise Mismatch("the size -1 beside a size of 0 can be anything")
            raise Mismatch(_unequal(shape, wanted, count))
        size = floordiv(count, rest)
    if size is not None and type(size) is int and size < 0:
        size = None
    return (*wanted[:at], size, *wanted[at + 1 :])


def _unequal(shape: Shape, new: Known, count: Dim) -> str:
    return f"{show_shape(shape)} has {show(count)} elements, which do not fill {show_shape(new)}"


def moved_axis(old: Shape, new: Shape) -> tuple[int, int] | None:
    """An axis that a reshape keeps by its size but not by its place, as far as symbols tell.

    What stays in place has as many elements before it as it had: `x.reshape(b, h, t, -1)` of an
    `x` with (b, t, d) hands out steps of other times.
    """
    before, after = known(old), known(new)
    if before is None or after is None or _only_adds_ones(product(before), product(after)):
        return None
    for axis, dim in enumerate(before):
        if not isinstance(dim, Size) or before.count(dim) != 1 or after.count(dim) != 1:
            continue
        at = after.index(dim)
        first, second = product(before[:axis]), product(after[:at])
        if first is None or second is None or first == second:
            continue
        if exact_quotient(second, first) is not None or exact_quotient(first, second) is not None:
            return axis, at
    return None


def _only_adds_ones(old: Dim, new: Dim) -> bool:
    """Whether as many elements remain only if some sizes are one: `x.reshape(x.shape[1:])`."""
    whole = exact_quotient(old, new), exact_quotient(new, old)
    return old != new and any(it is not None for it in whole)


class Group(NamedTuple):
    """Neighbouring axes that became neighbouring axes with as many elements.

    `kind` is "kept" (one axis stays), "merged" (several become one), "split" (one becomes several),
    "permuted" (the same sizes in another order: values change places as no transpose would move
    them), "crossed" (each is a product of some that were no neighbours) or "mixed" (anything else).
    """

    kind: str
    old_axes: tuple[int, ...]
    new_axes: tuple[int, ...]


def regroup(old: Shape, new: Shape) -> tuple[Group, ...] | None:
    """Which axes of a reshape became which, outermost first; None if that cannot be told.

    Axes of size one belong to no group.
    """
    before, after = known(old), known(new)
    if before is None or after is None or None in before or None in after:
        return None
    sources = [axis for axis, dim in enumerate(before) if dim != 1]
    targets = [axis for axis, dim in enumerate(after) if dim != 1]
    groups: list[Group] = []
    while sources and targets:
        taken, made = [sources.pop(0)], [targets.pop(0)]
        have, want = before[taken[0]], after[made[0]]
        while not same(have, want):
            if not (extends := _extends(have, want)):
                return None
            more_old, more_new = extends
            if (more_old and not sources) or (more_new and not targets):
                return None
            if more_old:
                taken.append(sources.pop(0))
                have = mul(have, before[taken[-1]])
            if more_new:
                made.append(targets.pop(0))
                want = mul(want, after[made[-1]])
        kind = _kind([before[axis] for axis in taken], [after[axis] for axis in made])
        groups.append(Group(kind, tuple(taken), tuple(made)))
    return None if sources or targets else tuple(groups)


def _extends(have: Dim, want: Dim) -> tuple[bool, bool] | None:
    """Which side of an unfinished group is too small; both, if neither divides the other."""
    if have is None or want is None:
        return None
    if type(have) is int and type(want) is int:
        return (have < want, want < have)
    if exact_quotient(want, have) is not None:
        return (True, False)
    return (exact_quotient(have, want) is None, True)


def _kind(old: list[Dim], new: list[Dim]) -> str:
    if len(old) == 1:
        return "kept" if len(new) == 1 else "split"
    if len(new) == 1:
        return "merged"
    if Counter(old) == Counter(new):
        return "permuted"
    return (
        "crossed" if len(new) < len(old) <= _MOST_CROSSED and _are_products(old, new) else "mixed"
    )


# Axes of which products are looked for.
_MOST_CROSSED = 6


def _are_products(old: list[Dim], new: list[Dim]) -> bool:
    """Whether each new size is a product of old ones, of which each is in one of them."""
    if not new:
        return not old
    for count in range(1, len(old) - len(new) + 2):
        for chosen in combinations(range(len(old)), count):
            if same(product(tuple(old[axis] for axis in chosen)), new[0]):
                rest = [dim for axis, dim in enumerate(old) if axis not in chosen]
                if _are_products(rest, new[1:]):
                    return True
    return False


def reinterpretation(old: Shape, new: Shape) -> Group | None:
    """The axes that a reshape permutes without transposing, if it does.

    `x.reshape(time, batch, feat)` of a `x` with (batch, time, feat) keeps the order of elements
    and so hands values of one batch to another, and so does `x.reshape(h * k, w * k)` of one with
    (h, w, k, k). Equal sizes cannot show that they were permuted.
    """
    for group in regroup(old, new) or ():
        if group.kind in ("permuted", "crossed"):
            return group
    return None
