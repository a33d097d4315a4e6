"""Arrays of which one random key selects or reorders the same rows.

Either a call is given the array itself, or it draws indices, and these select from an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import Call, Event, KeyUse
from ...frame import Region
from ...graph import Node
from ...shapes import Size
from ...shapes.dims import differ
from ...values import Constant, Data, Sequence, Value
from ..loops.bodies import calls
from ..nodes import users_of
from .reuse import counts

if TYPE_CHECKING:
    from ...facts import SourceFacts

REORDERING = frozenset(("jax.random.permutation", "jax.random.shuffle", "jax.random.choice"))
_DRAWS_INDICES = REORDERING | {"jax.random.randint"}
_TAKES = frozenset(("item", "jax.numpy.take", "ndarray.take"))


def moves_along(facts: SourceFacts, before: KeyUse, use: KeyUse) -> bool:
    """Whether two uses of a key reorder two arrays alike."""
    if use.by not in _DRAWS_INDICES or before.by != use.by or not _apart(before, use):
        return False
    one, other = _call_of(facts, before), _call_of(facts, use)
    if one is None or other is None:
        return False
    first, second = _reordered(one), _reordered(other)
    if first is None and second is None:
        picked = _picked_from(facts, one), _picked_from(facts, other)
        return all(picked) and picked[0].isdisjoint(picked[1]) and _draw_alike(one, other, 1)
    # The arrays may differ, but nothing else.
    is_apart = first is not None and second is not None and first is not second
    return is_apart and _draw_alike(one, other, 2)


def _apart(before: KeyUse, use: KeyUse) -> bool:
    """Whether no line calls a helper again, as one that picks something at random may be."""
    ways = [list(calls(it)) for it in (before, use)]
    if [syntax for _, syntax in ways[0]][1:] == [syntax for _, syntax in ways[1]][1:]:
        return True  # As `jax.tree.map` calls its function.
    frames = [{frame for frame, _ in way} for way in ways]
    shared = frames[0] & frames[1]
    helpers = [{it.function for it in way - shared} - {None} for way in frames]
    return helpers[0].isdisjoint(helpers[1])


def _call_of(facts: SourceFacts, use: KeyUse) -> Call | None:
    """The call that uses a key; a line may run several times in one frame."""
    uses = [it for it in facts.events(KeyUse) if _is_beside(it, use) and it.by == use.by]
    made = [it for it in facts.events(Call) if _is_beside(it, use) and it.name == use.by]
    return made[uses.index(use)] if len(uses) == len(made) else None


def _draw_alike(one: Call, other: Call, start: int) -> bool:
    """Whether two calls may be given the same, from one of their arguments on."""
    if len(one.args) != len(other.args) or one.keywords.keys() != other.keywords.keys():
        return False
    pairs = [*zip(one.args, other.args, strict=True)][start:]
    pairs += [(it, other.keywords[name]) for name, it in one.keywords.items() if name != "key"]
    return all(_may_be_equal(*pair) for pair in pairs)


def _may_be_equal(one: Value, other: Value) -> bool:
    if isinstance(one, Constant) and isinstance(other, Constant):
        if isinstance(one.value, Size) or isinstance(other.value, Size):
            return not differ(one.value, other.value)
        return one.value == other.value
    if isinstance(one, Sequence) and isinstance(other, Sequence) and one.items and other.items:
        is_same = len(one.items) == len(other.items)
        return is_same and all(map(_may_be_equal, one.items, other.items))
    return True


def _reordered(call: Call) -> Node | None:
    """The array that is reordered; none where only indices are drawn."""
    value = call.args[1] if len(call.args) > 1 and call.name in REORDERING else None
    if not isinstance(value, Data) or value.node.shape == ():
        return None
    return value.node if value.is_array or value.traced is not False else None


def _picked_from(facts: SourceFacts, call: Call) -> set[Node]:
    """The arrays from which indices select; none if these have another use as well."""
    indices = call.result.node if isinstance(call.result, Data) else None
    takers = users_of(facts).get(indices, []) if indices is not None else []
    if any(it.operation not in _TAKES or indices not in it.inputs[1:] for it in takers):
        return set()
    return {it.inputs[0] for it in takers}


def _is_beside(event: Event, use: KeyUse) -> bool:
    return event.syntax is use.syntax and event.frame is use.frame


def goes_through_arrays(use: KeyUse, region: Region) -> bool:
    """Whether a loop of Python's reorders one array after the other."""
    return use.by in REORDERING and region.kind == "loop" and not counts(region)
