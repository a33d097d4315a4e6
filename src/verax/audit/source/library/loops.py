"""JAX's loops: `scan`, `while_loop`, `fori_loop`, `map`, `associative_scan`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from .. import parts
from ..events import Fact, Loop
from ..frame import Region
from ..graph import Node
from ..joining import join
from ..shapes import Size
from ..values import (
    Constant,
    Data,
    Instance,
    Mapping,
    Sequence,
    Value,
    mapped,
)
from .arguments import argument
from .lanes import know_size, stacked
from .registry import handles
from .staging import as_result, as_traced

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("jax.lax.scan", "equinox.internal.scan", "haiku.scan")
def _scan(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    body = argument(args, keywords, 0, "f")
    initial = argument(args, keywords, 1, "init")
    xs = argument(args, keywords, 2, "xs")
    length = argument(args, keywords, 3, "length")
    if body is None or initial is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    return scanned(machine, site, body, initial, xs, keywords, length)


@handles("haiku.dynamic_unroll", "haiku.static_unroll")
def _unroll(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    core = argument(args, keywords, 0, "core")
    inputs = argument(args, keywords, 1, "input_sequence")
    initial = argument(args, keywords, 2, "initial_state")
    others = args[3:] or keywords.keys() & {"time_major", "return_all_states"}
    if core is None or inputs is None or initial is None or others:
        return machine.opaque(name, site, (*args, *keywords.values()))
    pair = scanned(machine, site, core, initial, inputs, keywords, is_core=True)
    last, outputs = _pair(machine, site, pair)
    return machine.tuple_of(outputs, last)


def scanned(
    machine: Interpreter,
    site: Site,
    body: Value,
    initial: Value,
    xs: Value | None,
    options: dict[str, Value],
    length: Value | None = None,
    is_spread: bool = False,
    is_core: bool = False,
) -> Value:
    """The carry and the outputs of a scan; with `is_spread`, each of `xs` is an argument.

    With `is_core` the body takes its slice first, and returns its output first.
    """
    region = site.region("scan")
    if isinstance(length, Constant) and length.value is not None:
        region.details["size"] = length.value
    carry_in = turned(initial, "carry", site, region)
    nothing = xs is None or (isinstance(xs, Constant) and xs.value is None)
    slices = Constant(None) if nothing or xs is None else turned(xs, "slice", site, region)
    several = slices.items if is_spread and isinstance(slices, Sequence) else None
    given = [slices] if several is None else several
    taken = [*given, carry_in] if is_core else [carry_in, *given]
    returned = machine.call(site.inside(region), body, taken, {})
    carry_out, ys = _pair(machine, site, returned)[:: -1 if is_core else 1]
    _promote(initial, carry_in, carry_out)
    initial, carry_in = (_unfolded(it, carry_out, site) for it in (initial, carry_in))
    outside = machine.tuple_of(
        _settled(join(initial, carry_out), region, site),
        stacked(as_result(as_traced(ys), site), region, site),
    )
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "scan",
            body,
            region,
            initial=initial,
            carry_in=carry_in,
            carry_out=carry_out,
            xs=xs,
            slices=slices,
            stacked=ys,
            length=length,
            returned=returned,
            outside=outside,
            options=options,
        )
    )
    return outside


@handles("jax.lax.while_loop", "equinox.internal.while_loop", "haiku.while_loop")
def _while_loop(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    condition = argument(args, keywords, 0, "cond_fun")
    body = argument(args, keywords, 1, "body_fun")
    initial = argument(args, keywords, 2, "init_val")
    if body is None or initial is None or condition is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = site.region("while_loop")
    carry_in = turned(initial, "carry", site, region)
    inside = site.inside(region)
    test = machine.call(inside, condition, [carry_in], {})
    carry_out = machine.call(inside, body, [carry_in], {})
    _promote(initial, carry_in, carry_out)
    initial, carry_in = (_unfolded(it, carry_out, site) for it in (initial, carry_in))
    outside = _settled(join(initial, carry_out), region, site)
    options = {"condition": test, **keywords}
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "while_loop",
            body,
            region,
            initial=initial,
            carry_in=carry_in,
            carry_out=carry_out,
            returned=carry_out,
            outside=outside,
            options=options,
        )
    )
    return outside


@handles("jax.lax.fori_loop", "haiku.fori_loop")
def _fori_loop(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    lower = argument(args, keywords, 0, "lower")
    upper = argument(args, keywords, 1, "upper")
    body = argument(args, keywords, 2, "body_fun")
    initial = argument(args, keywords, 3, "init_val")
    if body is None or initial is None or lower is None or upper is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = site.region("fori_loop")
    counter = Data(Node("counter", (), site.syntax, site.frame, frozenset((region,))), True, True)
    counter.node.shape, counter.node.dtype = (), "int32"
    if isinstance(upper, Constant):
        counter.limit = upper.value
    carry_in = turned(initial, "carry", site, region)
    carry_out = machine.call(site.inside(region), body, [counter, carry_in], {})
    _promote(initial, carry_in, carry_out)
    outside = _settled(join(initial, carry_out), region, site)
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "fori_loop",
            body,
            region,
            initial=initial,
            carry_in=carry_in,
            carry_out=carry_out,
            slices=counter,
            length=upper,
            returned=carry_out,
            outside=outside,
            options=keywords,
        )
    )
    return outside


@handles("jax.lax.map", "haiku.map")
def _map(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    body = argument(args, keywords, 0, "f")
    xs = argument(args, keywords, 1, "xs")
    if body is None or xs is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = site.region("map")
    slices = turned(xs, "slice", site, region)
    ys = machine.call(site.inside(region), body, [slices], {})
    outside = stacked(as_result(as_traced(ys), site), region, site)
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "map",
            body,
            region,
            xs=xs,
            slices=slices,
            stacked=ys,
            returned=ys,
            outside=outside,
            options=keywords,
        )
    )
    return outside


@handles("jax.lax.associative_scan")
def _associative_scan(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    combine = argument(args, keywords, 0, "fn")
    elements = argument(args, keywords, 1, "elems")
    if combine is None or elements is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = site.region("associative_scan")
    # The function gets many elements at a time, along the axis that they have anyway.
    one = turned(elements, "carry", site, region)
    other = turned(elements, "carry", site, region)
    result = machine.call(site.inside(region), combine, [one, other], {})
    axis = argument(args, keywords, 3, "axis") or Constant(0)
    data = {"combine": combine, "one": one, "other": other, "result": result}
    data |= {"elements": elements, "axis": axis}
    machine.note(Fact(site.syntax, site.frame, "associative scan", data))
    return _settled(as_result(result, site), region, site)


def turned(value: Value, operation: str, site: Site, region: Region) -> Value:
    """A value that is another one in each turn: a carry, or a slice of what is scanned."""

    def change(leaf: Data) -> Data:
        node = Node(operation, (leaf.node,), site.syntax, site.frame, leaf.node.varies | {region})
        node.label = leaf.node.label
        node.is_key = leaf.node.is_key
        node.dtype = leaf.node.dtype
        shape = leaf.node.shape
        if operation == "carry":
            node.shape = shape
        elif isinstance(shape, tuple) and shape:
            know_size(region, shape[0])
            node.shape = shape[1:]
        return Data(node, True, leaf.is_array)

    return mapped(as_traced(value), change)


def _pair(machine: Interpreter, site: Site, value: Value) -> tuple[Value, Value]:
    """The two parts of what a scan's body returns."""
    if isinstance(value, Sequence) and value.items is not None and len(value.items) == 2:
        return value.items[0], value.items[1]
    if isinstance(value, Data):
        return (
            parts.item(machine, site, value, Constant(0)),
            parts.item(machine, site, value, Constant(1)),
        )
    opaque = machine.opaque("carry", site, (value,), traced=True)
    return opaque, opaque


def _promote(initial: Value, carry: Value, after: Value) -> None:
    """Give parts of a carry that start as integers of Python's the dtype that the body makes them.

    Such a number has no dtype of its own: JAX takes it for what it becomes.
    """
    if isinstance(initial, Constant) and isinstance(carry, Data) and isinstance(after, Data):
        if type(initial.value) is int or isinstance(initial.value, Size):
            carry.node.dtype = after.node.dtype
    elif (
        isinstance(initial, Sequence)
        and isinstance(carry, Sequence)
        and isinstance(after, Sequence)
    ):
        parts = (it.items or () for it in (initial, carry, after))
        for part in zip(*parts, strict=False):
            _promote(*part)


def _unfolded(carry: Value, after: Value, site: Site) -> Value:
    """A carry of which nothing is known but that it has the structure of what the body returns."""
    if not isinstance(carry, Data) or carry.is_array or carry.node.is_key:
        return carry
    if isinstance(after, Mapping) and after.items and not after.is_open:
        return Mapping(
            {
                key: _unfolded(_part(carry, "item", ("constant", key), repr(key), site), it, site)
                for key, it in after.items.items()
            }
        )
    if isinstance(after, Instance) and after.attributes:
        whole = Instance(after.cls, carry.node, None, carry.traced)
        whole.attributes = {
            name: _unfolded(_part(carry, "field", name, name, site), it, site)
            for name, it in after.attributes.items()
            if not isinstance(it, Constant)
        }
        return whole
    if not isinstance(after, Sequence) or after.items is None or after.kind != "tuple":
        return carry
    names = list(after.type.fields) if after.type is not None else []
    parts: list[Value] = []
    for number, item in enumerate(after.items):
        known = carry.node.children or {}
        is_taken = ("item", ("constant", number)) in known
        if number < len(names) and not is_taken:
            part = _part(carry, "field", names[number], names[number], site)
        else:
            part = _part(carry, "item", ("constant", number), repr(number), site)
        parts.append(_unfolded(part, item, site))
    return Sequence("tuple", parts, type=after.type)


def _part(whole: Data, kind: str, key: Hashable, label: str, site: Site) -> Data:
    node = whole.node.child(kind, key, site.syntax, site.frame)
    node.label = label
    return Data(node, whole.traced)


def _settled(value: Value, region: Region, site: Site) -> Value:
    """A carry after the loop: it does not vary with it any more."""

    def change(leaf: Data) -> Data:
        node = Node("last", (leaf.node,), site.syntax, site.frame, leaf.node.varies - {region})
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key = leaf.node.is_key
        return Data(node, True if site.frame.is_staged else None, leaf.is_array)

    return mapped(value, change)
