"""One value for several that an expression can have."""

from __future__ import annotations

from collections.abc import Collection

from .classes import fields_are_leaves, has_derived
from .graph import Node, variation
from .scalars import is_number
from .shapes.shape import common
from .values import Bound, Constant, Data, Instance, Mapping, Sequence, Value, is_bounded, nodes_of

# Of more values than these nothing is known together: a table may be read very often.
MANY = 64
# Parameters of a network are dicts of lists of dicts of dicts.
DEEPEST = 8


def join(one: Value, other: Value, depth: int = 0) -> Value:
    """A value that stands for either of two, with what holds for both."""
    if one is other:
        return one
    if depth == 0 and not (is_bounded(one) and is_bounded(other)):
        return _data(one, other)
    if isinstance(one, Constant) and isinstance(other, Constant):
        if type(one.value) is type(other.value) and one.value == other.value:
            return one
    elif isinstance(one, Data) and isinstance(other, Data):
        if one.node is other.node and one.traced == other.traced:
            return one
    elif isinstance(one, Sequence) and isinstance(other, Sequence):
        found = _sequences(one, other, depth)
        if found is not None:
            return found
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and depth < DEEPEST:
        if one.items.keys() == other.items.keys():
            items = {key: join(one.items[key], other.items[key], depth + 1) for key in one.items}
            return Mapping(items, one.is_open or other.is_open, one.made_in, one.made_at)
    elif isinstance(one, Instance) and isinstance(other, Instance) and one.cls is other.cls:
        return _instances(one, other, depth)
    elif isinstance(one, Bound) and isinstance(other, Bound) and one.function is other.function:
        return one
    return _object_or_given(one, other) or _object_or_given(other, one) or _data(one, other)


def _object_or_given(made: Value, given: Value) -> Instance | None:
    """`given or Default()`: what a caller may give instead of an object is one of its class."""
    if not isinstance(made, Instance) or has_derived(made.cls) or not isinstance(given, Data):
        return None
    if given.node.operation != "parameter" or given.traced is not None or given.is_array:
        return None
    nodes = (made.node, given.node)
    return Instance(made.cls, Node("join", nodes, varies=variation(nodes)))


def _sequences(one: Sequence, other: Sequence, depth: int) -> Sequence | None:
    if one.kind != other.kind or one.type is not other.type or depth >= DEEPEST:
        return None
    first, second = one.items, other.items
    if first is not None and second is not None and len(first) == len(second):
        items = [join(a, b, depth + 1) for a, b in zip(first, second, strict=True)]
        return Sequence(one.kind, items, None, one.made_in, one.made_at, None, one.type)
    a, b = element_of(one), element_of(other)
    element = b if a is None else a if b is None else join(a, b, depth + 1)
    return Sequence(one.kind, None, element, one.made_in, one.made_at, None, one.type)


def _instances(one: Instance, other: Instance, depth: int) -> Value:
    node = one.node
    if depth >= DEEPEST:
        return _data(one, other)
    if node is not other.node:
        # What can be changed in place has to stay the thing that others hold as well.
        if not fields_are_leaves(one.cls) or one.attributes.keys() != other.attributes.keys():
            return _data(one, other)
        inputs = (one.node, other.node)
        node = Node("join", inputs, varies=variation(inputs))
    joined = Instance(one.cls, node, one.made_in, _both(one.traced, other.traced))
    for name, value in one.attributes.items():
        if name in other.attributes:
            joined.attributes[name] = join(value, other.attributes[name], depth + 1)
    return joined


def element_of(sequence: Sequence) -> Value | None:
    """One value for all elements of a sequence; `None` if it has none."""
    return sequence.element if sequence.items is None else one_of(sequence.items)


def one_of(values: Collection[Value]) -> Value | None:
    """One value for all of several; `None` if there are none."""
    found: Value | None = None
    if len(values) > MANY:
        inputs = tuple(nodes_of(Sequence("tuple", list(values))))[:32]
        return Data(Node("join", inputs, varies=variation(inputs)))
    for value in values:
        found = value if found is None else join(found, value)
    return found


def _data(one: Value, other: Value) -> Data:
    inputs = (*nodes_of(one)[:16], *nodes_of(other)[:16])
    node = Node("join", inputs, varies=variation(inputs))
    if isinstance(one, Data) and isinstance(other, Data):
        first, second = one.node, other.node
        node.syntax, node.frame = first.syntax, first.frame
        node.shape = common(first.shape, second.shape)
        node.dtype = first.dtype if first.dtype == second.dtype else None
        node.is_key = first.is_key and second.is_key
        kind = one.type if one.type == other.type else ""
        return Data(node, _both(one.traced, other.traced), one.is_array and other.is_array, kind)
    if is_number(one) and is_number(other):
        node.shape = ()
    traced = _both(_tracedness(one), _tracedness(other))
    return Data(node, traced)


def _both(one: bool | None, other: bool | None) -> bool | None:
    return one if one is other else None


def _tracedness(value: Value) -> bool | None:
    if isinstance(value, (Data, Instance)):
        return value.traced
    return False if isinstance(value, Constant) else None
