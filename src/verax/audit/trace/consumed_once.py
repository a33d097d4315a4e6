"""Whether every random key of a program is certainly consumed at most once.

Keys are treated as what a type system calls linear: each identity is drawn from, split, or handed
over once at most, to a loop that takes it as its carry, to the next iteration, to a map, or out of
either. Uses in branches that exclude each other count once. What is consumed inside of a loop or a
map has to be another key in each iteration or lane: a carry that is replaced, a slice, or a key
into which a counter of that loop is folded. Given that, no two iterations can hold the same key,
whatever the loops do with their carries, and however they are nested.

Nothing is concluded from what is not understood: an index or a choice that is not known, a captured
key (which may be the same as another), two numbers folded into one key that may be equal.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .counters import stride
from .gradients import CUSTOM_CALLS
from .key_uses import exclusive, runs_often
from .keys import Key
from .program import Loop, Mapping, Step, Value

if TYPE_CHECKING:
    from .facts import Facts


@dataclass(frozen=True)
class _Consumption:
    """A step that consumes a key; `inside` if it does so in its body, once an iteration.

    With a `number`, it is folded in, which leaves the key for other numbers.
    """

    step: Step
    kind: str
    inside: bool = False
    number: tuple[Any, ...] | None = None

    def repeats_over(self) -> list[Step]:
        """The loops, maps and shards that run it again."""
        around = [*([self.step] if self.inside else []), *self.step.ancestors()]
        return [it for it in around if runs_often(it)]


class _Unknown(Exception):
    """A key of which it is not certain which one it is."""


def each_key_once(facts: Facts) -> bool:
    """Whether every key that a program consumes is certainly another one."""
    if not facts.keys.complete or facts.keys.clamped:
        return False
    try:
        ledger = _ledger(facts)
    except _Unknown:
        return False
    return _have_apart_roots(ledger) and all(
        _is_consumed_once(facts, key, uses) for key, uses in ledger.items()
    )


def _ledger(facts: Facts) -> dict[Key, list[_Consumption]]:
    """What consumes each key, also by handing it over."""
    ledger: dict[Key, dict[_Consumption, None]] = defaultdict(dict)
    pending = [
        (it.key, _Consumption(it.step, it.kind))
        for it in facts.keys.uses
        if it.kind in ("draw", "split")
    ]
    pending += [
        (
            it.key,
            _Consumption(it.step, "fold", number=facts.keys.numbers.identity(it.step.inputs[1])),
        )
        for it in facts.keys.folds
    ]
    while pending:
        key, use = pending.pop()
        if use not in ledger[key]:
            ledger[key][use] = None
            pending += _handed_over(facts, key, use)
    return {key: list(uses) for key, uses in ledger.items()}


def _handed_over(facts: Facts, key: Key, use: _Consumption) -> list[tuple[Key, _Consumption]]:
    """The keys that had to be handed over for one to be there."""
    step = key.step
    if key.kind in ("input", "seed", "child", "folded"):
        return []
    if step is None or key.kind not in ("carry", "final", "each", "lane"):
        raise _Unknown
    if key.kind == "each":
        members = [facts.keys.made[it] for it in facts.keys.members(key)]
        return [(it, _Consumption(step, "share")) for it in members]
    if key.kind == "lane":
        return [(key.parents[0], _Consumption(step, "out", inside=True))]
    carry = key if key.kind == "carry" else key.parents[0]
    following = facts.keys.carried.get(carry)
    if following is None:
        raise _Unknown
    if following is carry:
        return [(carry.parents[0], use)]
    next_one = (following, _Consumption(step, "next", inside=True))
    return [next_one, (carry.parents[0], _Consumption(step, "loop"))]


def _have_apart_roots(ledger: dict[Key, list[_Consumption]]) -> bool:
    """Whether keys that are not made from others differ: inputs by assumption, seeds by number."""
    roots = {it.line()[-1] for it in ledger}
    if all(it.kind == "seed" for it in roots):
        return len(roots) == 1 or all(_is_word(it.index[0]) for it in roots)
    return all(it.kind == "input" for it in roots)


def _is_word(number: tuple[Any, ...]) -> bool:
    """Whether a number is known, and not the same as another one once it is cut to 32 bits."""
    return number[0] == "constant" and 0 <= number[1] < 2**32


def _is_consumed_once(facts: Facts, key: Key, uses: list[_Consumption]) -> bool:
    numbers = {it.number for it in uses if it.number is not None}
    consuming = [it for it in uses if it.number is None]
    if numbers:
        apart = len(numbers) == 1 or all(map(_is_word, numbers))
        return apart and not consuming
    return all(exclusive(a.step, b.step) for a, b in combinations(consuming, 2)) and all(
        _is_followed(it.step) and all(_differs(facts, key, over) for over in it.repeats_over())
        for it in consuming
    )


def _is_followed(step: Step) -> bool:
    """Whether a step runs as often as the bodies around it say.

    The condition of a loop is evaluated once more than its body, and what has a derivative of its
    own may run as another function.
    """
    body = step.within
    while body.owner is not None:
        owner = body.owner
        if owner.primitive in CUSTOM_CALLS or (
            owner.kind == "while" and body is not owner.bodies[-1]
        ):
            return False
        body = owner.within
    return True


def _differs(facts: Facts, key: Key, over: Step) -> bool:
    """Whether a key is certainly another one in each iteration or lane of a step."""
    while True:
        step = key.step
        if step is None or not key.parents:
            return False
        if key.kind == "folded" and _is_counted(key.index[1][0], over):
            return True
        if key.kind in ("child", "folded"):
            key = key.parents[0]
            continue
        if step is over and key.kind == "carry":
            return facts.keys.advances(key)
        members = facts.keys.members(key)
        if step is over and key.kind == "each":
            return len(members) == _length(over)
        if over not in step.ancestors():
            return False
        if key.kind == "each":
            return all(_differs(facts, facts.keys.made[it], over) for it in members)
        key = key.parents[0]


def _length(step: Step) -> int | None:
    return step.detail.length if isinstance(step.detail, Loop) else step.detail.size


def _is_counted(number: Value, over: Step) -> bool:
    """Whether a number is certainly another one in each iteration or lane of a step."""
    while number.producer is not over:
        step = number.producer
        if step is None or step.kind != "operation" or not _is_integer(number):
            return False
        if step.primitive == "axis_index":
            named = (
                it
                for it in step.ancestors()
                if isinstance(it.detail, Mapping)
                and it.detail.axis_name == step.params["axis_name"]
            )
            return next(named, None) is over
        terms = [it for it in step.inputs if not it.is_constant]
        if step.primitive not in _ONE_TO_ONE or len(terms) != 1:
            return False
        number = terms[0]
    if not _is_integer(number):
        return False
    if isinstance(over.detail, Mapping):
        return any(one is number and _are_different(all_) for all_, one, _ in over.detail.mapped)
    loop = over.detail
    return isinstance(loop, Loop) and (
        any(
            carry is number and stride(carry, carried)
            for carry, carried in zip(loop.carry, loop.carried, strict=True)
        )
        or any(
            one is number and _are_different(all_)
            for all_, one in zip(loop.scanned, loop.slices, strict=True)
        )
    )


_ONE_TO_ONE = frozenset("add sub convert_element_type reshape squeeze broadcast_in_dim".split())


def _is_integer(value: Value) -> bool:
    """Whether a value is one integer of a type that no counter leaves."""
    dtype = getattr(value.dtype, "type", object)
    is_one = np.prod(value.shape, dtype=int) == 1
    return is_one and np.issubdtype(dtype, np.integer) and value.dtype.itemsize >= 4


def _are_different(value: Value) -> bool:
    """Whether the elements along a single axis are certainly different integers."""
    if len(value.shape) != 1:
        return False
    if value.is_constant:
        return len(np.unique(np.asarray(value.constant))) == value.shape[0]
    return value.producer is not None and value.producer.primitive == "iota"
