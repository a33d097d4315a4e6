"""Where the carry of a loop gets another structure than it started with."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from ...events import Event, Loop, Mutation
from ...graph import Node
from ...values import NONE, Constant, Data, Instance, Mapping, Sequence, Value, leaves
from ..origins import assignment
from ..structures.structure import parts_of, way_to_difference
from ..written import expressions_of
from .bodies import returned_at

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts


def structure_changed_at(facts: SourceFacts, loop: Loop) -> Place:
    """Where to mend a carry that enters and leaves a loop with different structures.

    What starts as `None` is missing from the start; a key that is not there is added by somebody;
    anything else is wrong where the body, or what it calls, makes the new container.
    """
    before, after = loop.initial, loop.carry_out
    if loop.carry_in is None or before is None or after is None:
        return returned_at(facts, loop) or loop.place
    outer: tuple[Value, Hashable] | None = None
    for key in way_to_difference(loop.carry_in, after):
        outer = before, key
        before, after = parts_of(before).get(key, before), parts_of(after).get(key, after)
    if outer is not None and isinstance(before, Constant) and before.value is None:
        written = _written(*outer)
        if written is not None:
            return written.place
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        added = [key for key in after.items if key not in before.items]
        for written in _added(facts, loop, after, added):
            return written.place
        displayed = _written(after, added[0]) if added else None
        if displayed is not None:
            return displayed.place
    return returned_at(facts, loop) or loop.place


# Nothing is made there: something that was there before is named or taken apart.
_TAKEN = frozenset(("parameter", "argument", "item", "field", "element"))


# They hand an array of numpy's over as it is.
_WRAPS = frozenset(("jax.numpy.asarray", "jax.numpy.array", "jax.device_put"))


def begun_at(loop: Loop, before: Data) -> Place | None:
    """Where a part of a loop's carry is made that it starts with.

    A function that puts into the carry what its caller took from something else makes it.
    """
    first = before.node.inputs[0] if before.node.inputs else before.node
    while first.operation in _WRAPS and len(first.operands) == 1 and len(first.inputs) == 1:
        first = first.inputs[0]
    is_given = first.operation in ("parameter", "argument") or is_example(first, loop)
    written = put_in(loop.initial, loop.carry_in, before) if first.operation in _TAKEN else None
    if written is not None and (is_given or written.frame is not first.frame):
        return written.place
    return _named_at(loop) if is_given else first.place


def is_example(first: Node, loop: Loop) -> bool:
    """Whether something is made by a function that has nothing to do with the loop: `inputs()`."""
    if first.frame is None:
        return False
    roots = [
        [frame.function for frame in it.callers() if frame.function is not None]
        for it in (first.frame, loop.frame)
    ]
    return all(roots) and roots[0][-1] is not roots[1][-1]


# Where loops take what they start from.
_FIRST = {"scan": (1, "init"), "fori_loop": (3, "init_val"), "while_loop": (2, "init_val")}


def _named_at(loop: Loop) -> Place | None:
    """Where the function around a loop gives the name to what is its carry from the start."""
    call = loop.syntax
    if not isinstance(loop.carry_in, Data) or not isinstance(call, ast.Call):
        return None
    position, name = _FIRST.get(loop.kind, (len(call.args), ""))
    given = [
        *call.args[position : position + 1],
        *(k.value for k in call.keywords if k.arg == name),
    ]
    named = given[0] if given and isinstance(given[0], ast.Name) else None
    statement = assignment(loop.frame, named.id) if named is not None else None
    return loop.frame.place(statement) if statement is not None else None


def handed_on_at(loop: Loop, part: Data) -> Place | None:
    """Where the body puts a part of the carry that it was given into the one that it hands on."""
    same = next((it for it in leaves(loop.carry_out or NONE) if it.node is part.node), None)
    written = put_in(loop.carry_out, loop.carry_out, same) if same is not None else None
    region = written.frame.region if written is not None else None
    is_inside = region is not None and loop.region in region.chain()
    return written.place if written is not None and is_inside else None


def put_in(initial: Value | None, inside: Value | None, leaf: Data, depth: int = 0) -> Event | None:
    """The expression for a leaf in the innermost container that is written with its parts."""
    if initial is None or inside is None or depth > 12:
        return None
    own = parts_of(initial)
    for key, part in parts_of(inside).items():
        if part is leaf:
            return _written(initial, key)
        found = put_in(own.get(key), part, leaf, depth + 1)
        if found is not None:
            return found
    return None


def started_at(facts: SourceFacts, tree: Value) -> Place | None:
    """Where the loop gets what it starts from, if a tree is its carry, or a part of that."""
    for loop in facts.events(Loop):
        if loop.carry_in is None or loop.initial is None:
            continue
        is_whole = loop.carry_in is tree
        parts = [key for key, part in parts_of(loop.carry_in).items() if part is tree]
        if is_whole or parts:
            written = _written(loop.initial, parts[0]) if parts else None
            return written.place if written is not None else loop.place
    return None


def _written(container: Value, key: Hashable) -> Event | None:
    """The expression for a part of a container that is written with its parts."""
    if isinstance(container, Instance):
        syntax, frame = container.node.syntax, container.node.frame
    elif isinstance(container, (Sequence, Mapping)):
        syntax, frame = container.syntax, container.made_in
    else:
        return None
    if syntax is None or frame is None:
        return None
    return Event(expressions_of(syntax, container).get(key, syntax), frame)


def _added(
    facts: SourceFacts, loop: Loop, container: Mapping, keys: list[Hashable]
) -> Iterator[Event]:
    """Where keys come into a dict inside of a loop."""
    for key in keys:
        written = _written(container, key)
        if written is not None and not isinstance(written.syntax, (ast.Call, ast.Dict)):
            yield written
    for change in facts.events(Mutation):
        region = change.frame.region
        if change.how != "item" or region is None or loop.region not in region.chain():
            continue
        index = change.syntax.slice if isinstance(change.syntax, ast.Subscript) else None
        if isinstance(index, ast.Constant) and index.value in keys:
            yield change
