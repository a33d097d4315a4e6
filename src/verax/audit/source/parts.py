"""Items and elements of values."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .attributes import is_called, note_missing
from .events import Fact
from .graph import Node, variation
from .joining import element_of, one_of
from .library.keys import may_be_key
from .numbering import number_of
from .shaping import of_index, size_symbol
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    External,
    Instance,
    Mapping,
    Sequence,
    Spread,
    Value,
    leaves,
    mapped,
    nodes_of,
)

if TYPE_CHECKING:
    from .frame import Site
    from .machine import Interpreter


def item(machine: Interpreter, site: Site, base: Value, index: Value) -> Value:
    """`base[index]`."""
    if isinstance(base, Data):
        return _item_of_data(machine, site, base, index)
    if isinstance(base, Sequence):
        return _item_of_sequence(machine, site, base, index)
    if isinstance(base, Mapping):
        return _item_of_mapping(machine, site, base, index)
    if isinstance(base, Bound) and is_called(base, "ndarray.at"):
        if isinstance(base.owner, Data):
            _note_index(machine, site, base.owner, index, base.owner)
        return Bound(External("ndarray.at[]"), machine.tuple_of(base.owner, index))
    if isinstance(base, (External, Class)):
        return base  # a generic type
    if isinstance(base, Instance):
        method = base.cls.find("__getitem__")
        if method is not None:
            return machine.call(site, Bound(method, base), [index], {})
    return machine.opaque("item", site, (base, index))


def _key(index: Value) -> Any:
    """What makes an index the same index again; `None` if that is not known."""
    if isinstance(index, Constant):
        return ("constant", index.value)
    if isinstance(index, Data):
        return ("node", index.node)
    if isinstance(index, Sequence) and index.items is not None:
        keys = [_key(it) for it in index.items]
        return (index.kind, *keys) if None not in keys else None
    return None


def _from_the_front(node: Node, index: Value) -> Value:
    """An index that counts from the end, of an array of known length: it is the same element."""
    number = index.value if isinstance(index, Constant) else None
    if not isinstance(number, int) or isinstance(number, bool) or number >= 0:
        return index
    length = node.shape[0] if isinstance(node.shape, tuple) and node.shape else None
    return Constant(length + number) if isinstance(length, int) and -length <= number else index


def _item_of_data(machine: Interpreter, site: Site, base: Data, index: Value) -> Value:
    if base.type == "shape":
        return _size(machine, site, base, index)
    taken = _size_of_slice(base.node, index)
    if taken is not None:
        return taken
    index = _from_the_front(base.node, index) if base.node.is_key else index
    key = _key(index)
    inputs = [leaf for leaf in (base, index) if isinstance(leaf, (Data, Sequence))]
    if key is None or not isinstance(index, (Constant, Data)):
        found = machine.opaque("item", site, inputs)
        node = found.node
    else:
        node = base.node.child("item", key, site.syntax, site.frame)
        if isinstance(index, Data) and index.node not in node.inputs:
            node.inputs = (base.node, index.node)
            node.varies = base.node.varies | index.node.varies
        if isinstance(index, Constant):
            node.label = repr(index.value)
    node.is_key = base.node.is_key
    by_number = not (isinstance(index, Constant) and isinstance(index.value, str))
    # What a dict makes by itself is of Python's own kind as well.
    kind = base.type if base.type == "collections.defaultdict" else ""
    result = Data(node, base.traced, base.is_array and by_number, kind)
    if isinstance(index, Data) and index.traced and base.traced is False and not base.is_array:
        result.traced = None
    if node.is_key or not isinstance(index, Constant):
        data = {"base": base, "index": index, "result": result}
        machine.note(Fact(site.syntax, site.frame, "indexed", data))
    of_index(machine, site, base, index, result)
    _note_index(machine, site, base, index, result)
    return result


def _note_index(machine: Interpreter, site: Site, base: Data, index: Value, result: Data) -> None:
    """Note an index by which the size of the result is not fixed: a mask, a computed slice."""
    several = index.items if isinstance(index, Sequence) and index.kind == "tuple" else None
    for part in several or (index,):
        if isinstance(part, Data):
            if not (part.traced and part.node.dtype == "bool"):
                continue
            data = {"base": base, "mask": part, "result": result}
            machine.note(Fact(site.syntax, site.frame, "mask", data))
        elif isinstance(part, Sequence) and part.kind == "slice":
            if not any(isinstance(bound, Data) for bound in part.items or ()):
                continue
            data = {"base": base, "bounds": part.items, "result": result, "index": index}
            machine.note(Fact(site.syntax, site.frame, "slice", data))


def _size_of_slice(part: Node, index: Value) -> Value | None:
    """A size out of `x.shape[:2]`, counted from the front: that size of the whole shape."""
    whole, cut = part.operands if part.operation == "item" and len(part.operands) == 2 else (0, 0)
    if not isinstance(whole, Data) or whole.type != "shape" or not isinstance(cut, Sequence):
        return None
    number = index.value if isinstance(index, Constant) else None
    bounds = [getattr(it, "value", -1) for it in cut.items or ()]
    start = bounds[0] if bounds else None
    if type(number) is not int or number < 0 or bounds[2:] != [None]:
        return None
    start = 0 if start is None else start
    return Constant(size_symbol(whole.node, start + number)) if _is_count(start) else None


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _size(machine: Interpreter, site: Site, base: Data, index: Value) -> Value:
    """One size of a shape that is not known: the same symbol whenever it is asked for."""
    if isinstance(index, Constant) and isinstance(index.value, int):
        return Constant(size_symbol(base.node, index.value))
    if isinstance(index, Sequence) and index.kind == "slice":
        part = base.node.child("item", _key(index) or number_of(index), site.syntax, site.frame)
        part.operands = (base, index)
        return Data(part, False)
    return machine.opaque("size", site, (), traced=False)


def _item_of_sequence(machine: Interpreter, site: Site, base: Sequence, index: Value) -> Value:
    items = base.items
    if isinstance(index, Constant) and isinstance(index.value, int) and items is not None:
        try:
            return items[index.value]
        except IndexError:
            return machine.opaque("item", site, (base,))
    if isinstance(index, Sequence) and index.kind == "slice":
        for bound in index.items or ():
            machine.convert(site, "slice", bound)
        return _sliced(site, base, index)
    if isinstance(index, Data) and index.traced:
        machine.convert(site, "index", index)
    if isinstance(index, Constant) and isinstance(index.value, str):
        note_missing(machine, site, base, index.value)
    _hand_out(items or ())
    found = element_of(base)
    if found is None:
        return machine.opaque("item", site, (base, index))
    # What is put into an empty list has to be found there again: no copy of it.
    is_one = items is not None or not nodes_of(found)
    if is_one and isinstance(found, Data) and variation(nodes_of(index)):
        is_one = False  # Each turn takes another one, if there are several turns.
    return found if is_one else _at_position(site, found, index)


def _at_position(site: Site, found: Value, index: Value) -> Value:
    """One element of many for which a single value stands: other positions hold other things."""
    position, varies = _key(index), variation(nodes_of(index))

    def change(leaf: Data) -> Data:
        key = number_of(site.syntax) if position is None else position
        node = leaf.node.child("item", key, site.syntax, site.frame)
        node.varies = leaf.node.varies | varies
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key = leaf.node.is_key
        return Data(node, leaf.traced, leaf.is_array, leaf.type, leaf.limit)

    return mapped(found, change)


def _sliced(site: Site, base: Sequence, index: Sequence) -> Sequence:
    bounds: list[Any] = [it.value if isinstance(it, Constant) else "" for it in index.items or ()]
    if base.items is not None and all(it is None or isinstance(it, int) for it in bounds):
        try:
            return Sequence(base.kind, base.items[slice(*bounds)], made_in=base.made_in)
        except ValueError:
            pass
    found = element_of(base)
    if found is not None:
        found = _at_position(site, found, index)
    return Sequence(base.kind, None, found, base.made_in)


def _item_of_mapping(machine: Interpreter, site: Site, base: Mapping, index: Value) -> Value:
    if isinstance(index, Constant):
        try:
            found = base.items.get(index.value)
        except TypeError:
            found = None
        if found is not None:
            return found
        spread = [it for key, it in base.items.items() if isinstance(key, Spread)]
        part = one_of([item(machine, site, it, index) for it in spread])
        if part is not None:
            return part
        if not base.is_open and isinstance(index.value, str):
            note_missing(machine, site, base, index.value)
    elif isinstance(index, (Data, Sequence)):
        machine.convert(site, "key", index)
        _hand_out(base.items.values())
    joined = None if base.is_open else one_of(base.items.values())
    return machine.opaque("item", site, (base, index)) if joined is None else joined


def _hand_out(values: Collection[Value]) -> None:
    """One of several things is taken, who knows which: a list that is empty may be filled then."""
    for value in values:
        if isinstance(value, Sequence) and value.kind == "list" and value.items == []:
            value.items, value.length = None, None


def hashed(machine: Interpreter, site: Site, key: Value) -> None:
    """A value becomes a key of a dict or an element of a set.

    What is gone through may be a dict with keys of its own, but what an index takes is a leaf.
    """
    parts = key.items if isinstance(key, Sequence) and key.kind == "tuple" else None
    for part in parts or (key,):
        if isinstance(part, Data) and (part.is_array or part.node.operation == "item"):
            machine.convert(site, "key", part)


def element(machine: Interpreter, site: Site, value: Value) -> Value:
    """One of the elements that going through a value gives."""
    if isinstance(value, Sequence):
        _hand_out(value.items or ())
        found = element_of(value)
        if found is not None:
            return found
    elif isinstance(value, Mapping):
        return machine.opaque("key of dict", site, (), traced=False)
    elif isinstance(value, Constant):
        return machine.opaque("element", site, (), traced=False)
    elif isinstance(value, Data):
        node = value.node.child("element", number_of(site.syntax), site.syntax, site.frame)
        node.is_key = value.node.is_key
        if isinstance(value.node.shape, tuple):
            node.shape = value.node.shape[1:]
        node.dtype = value.node.dtype
        return Data(node, value.traced, value.is_array)
    return machine.opaque("element", site, (value,))


def another(site: Site, value: Value) -> Value:
    """Another element of the same kind: not the same value, for all that is known."""

    def change(leaf: Data) -> Data:
        node = Node("element", (leaf.node,), site.syntax, site.frame, leaf.node.varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key, node.label = leaf.node.is_key, leaf.node.label
        return Data(node, leaf.traced, leaf.is_array, leaf.type)

    return mapped(value, change, is_same=True)


def as_text(machine: Interpreter, site: Site, values: list[Value]) -> Data:
    """A string that is made from values; with tracers among them it shows no numbers."""
    text = machine.opaque("format", site, values, traced=False, type="str")
    if any(leaf.traced for value in values for leaf in leaves(value)):
        data = {"values": values, "text": text}
        machine.note(Fact(site.syntax, site.frame, "format", data))
    return text


def shown_text(value: Value) -> str | None:
    """What `str` makes of a value, if that is known and short: names and keys are made so."""
    known = value.value if isinstance(value, Constant) else ...
    is_plain = known is None or isinstance(known, (str, int, float))
    if not is_plain or (isinstance(known, str) and len(known) > 200):
        return None
    return str(known) if not isinstance(known, int) or abs(known) < 10**18 else None


def copy_of(site: Site, value: Value) -> Value:
    """One of several copies of a random key; anything else may as well be shared."""
    if not isinstance(value, Data) or not may_be_key(value):
        return value
    node = value.node.child("copy", "", site.syntax, site.frame)
    node.shape, node.dtype, node.is_key = value.node.shape, value.node.dtype, value.node.is_key
    return Data(node, value.traced, value.is_array, value.type)
