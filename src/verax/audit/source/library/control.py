"""JAX's loops and conditions: `scan`, `while_loop`, `fori_loop`, `map`, `cond`, `switch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import Fact, Loop
from ..frame import Region
from ..graph import Node
from ..joining import join
from ..values import Constant, Data, Sequence, Value, mapped
from .registry import handles
from .transforms import as_result, as_traced, know_size, stacked

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


def _argument(
    args: list[Value], keywords: dict[str, Value], position: int, name: str
) -> Value | None:
    return args[position] if position < len(args) else keywords.get(name)


def _inside(site: Site, region: Region) -> Site:
    from .transforms import _at  # pyright: ignore[reportPrivateUsage]

    return _at(site, region)


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
        return Data(node, True, leaf.is_array or (operation == "slice" and leaf.is_array))

    return mapped(as_traced(value), change)


def _pair(machine: Interpreter, site: Site, value: Value) -> tuple[Value, Value]:
    """The two parts of what a scan's body returns."""
    if isinstance(value, Sequence) and value.items is not None and len(value.items) == 2:
        return value.items[0], value.items[1]
    if isinstance(value, Data):
        from .. import parts

        return (
            parts.item(machine, site, value, Constant(0)),
            parts.item(machine, site, value, Constant(1)),
        )
    opaque = machine.opaque("carry", site, (value,), traced=True)
    return opaque, opaque


@handles("jax.lax.scan", "equinox.internal.scan", "haiku.scan")
def _scan(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    body = _argument(args, keywords, 0, "f")
    initial = _argument(args, keywords, 1, "init")
    xs = _argument(args, keywords, 2, "xs")
    length = _argument(args, keywords, 3, "length")
    if body is None or initial is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = Region("scan", site.frame.region, site.frame.place(site.syntax))
    if isinstance(length, Constant) and length.value is not None:
        region.details["size"] = length.value
    carry_in = turned(initial, "carry", site, region)
    nothing = xs is None or (isinstance(xs, Constant) and xs.value is None)
    slices = Constant(None) if nothing or xs is None else turned(xs, "slice", site, region)
    returned = machine.call(_inside(site, region), body, [carry_in, slices], {})
    carry_out, ys = _pair(machine, site, returned)
    outside = machine.tuple_of(
        _settled(join(initial, carry_out), region, site),
        stacked(as_result(as_traced(ys), site), region, site),
    )
    loop = Loop(
        site.syntax,
        site.frame,
        "scan",
        body,
        initial,
        carry_in,
        carry_out,
        xs,
        slices,
        ys,
        length,
        region,
        returned,
        outside,
        keywords,
    )
    machine.note(loop)
    return outside


def _settled(value: Value, region: Region, site: Site) -> Value:
    """A carry after the loop: it does not vary with it any more."""

    def change(leaf: Data) -> Data:
        node = Node("last", (leaf.node,), site.syntax, site.frame, leaf.node.varies - {region})
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key = leaf.node.is_key
        return Data(node, True if site.frame.is_staged else None, leaf.is_array)

    return mapped(value, change)


@handles("jax.lax.while_loop", "equinox.internal.while_loop")
def _while_loop(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    condition = _argument(args, keywords, 0, "cond_fun")
    body = _argument(args, keywords, 1, "body_fun")
    initial = _argument(args, keywords, 2, "init_val")
    if body is None or initial is None or condition is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = Region("while_loop", site.frame.region, site.frame.place(site.syntax))
    carry_in = turned(initial, "carry", site, region)
    inside = _inside(site, region)
    test = machine.call(inside, condition, [carry_in], {})
    carry_out = machine.call(inside, body, [carry_in], {})
    outside = _settled(join(initial, carry_out), region, site)
    options = {"condition": test, **keywords}
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "while_loop",
            body,
            initial,
            carry_in,
            carry_out,
            None,
            None,
            None,
            None,
            region,
            carry_out,
            outside,
            options,
        )
    )
    return outside


@handles("jax.lax.fori_loop")
def _fori_loop(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    lower = _argument(args, keywords, 0, "lower")
    upper = _argument(args, keywords, 1, "upper")
    body = _argument(args, keywords, 2, "body_fun")
    initial = _argument(args, keywords, 3, "init_val")
    if body is None or initial is None or lower is None or upper is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = Region("fori_loop", site.frame.region, site.frame.place(site.syntax))
    counter = Data(Node("counter", (), site.syntax, site.frame, frozenset((region,))), True, True)
    counter.node.shape, counter.node.dtype = (), "int32"
    if isinstance(upper, Constant):
        counter.limit = upper.value
    carry_in = turned(initial, "carry", site, region)
    carry_out = machine.call(_inside(site, region), body, [counter, carry_in], {})
    outside = _settled(join(initial, carry_out), region, site)
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "fori_loop",
            body,
            initial,
            carry_in,
            carry_out,
            None,
            counter,
            None,
            upper,
            region,
            carry_out,
            outside,
            keywords,
        )
    )
    return outside


@handles("jax.lax.map")
def _map(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    body = _argument(args, keywords, 0, "f")
    xs = _argument(args, keywords, 1, "xs")
    if body is None or xs is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = Region("map", site.frame.region, site.frame.place(site.syntax))
    slices = turned(xs, "slice", site, region)
    ys = machine.call(_inside(site, region), body, [slices], {})
    outside = stacked(as_result(as_traced(ys), site), region, site)
    machine.note(
        Loop(
            site.syntax,
            site.frame,
            "map",
            body,
            None,
            None,
            None,
            xs,
            slices,
            ys,
            None,
            region,
            ys,
            outside,
            keywords,
        )
    )
    return outside


@handles("jax.lax.associative_scan")
def _associative_scan(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    combine = _argument(args, keywords, 0, "fn")
    elements = _argument(args, keywords, 1, "elems")
    if combine is None or elements is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    region = Region("associative_scan", site.frame.region, site.frame.place(site.syntax))
    one = turned(elements, "slice", site, region)
    other = turned(elements, "slice", site, region)
    result = machine.call(_inside(site, region), combine, [one, other], {})
    return stacked(as_result(result, site), region, site)


@handles("jax.lax.cond")
def _cond(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    predicate = _argument(args, keywords, 0, "pred")
    if len(args) == 5 and not keywords:  # the older form with an operand for each branch
        branches, operands = [args[1], args[3]], [[args[2]], [args[4]]]
    else:
        true = _argument(args, keywords, 1, "true_fun")
        false = _argument(args, keywords, 2, "false_fun")
        if true is None or false is None or predicate is None:
            return machine.opaque(name, site, (*args, *keywords.values()))
        rest = args[3:] + ([keywords["operand"]] if "operand" in keywords else [])
        branches, operands = [true, false], [rest, rest]
    return _branches(machine, site, "cond", predicate, branches, operands)


@handles("jax.lax.switch")
def _switch(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    index = _argument(args, keywords, 0, "index")
    branches = _argument(args, keywords, 1, "branches")
    if index is None or not isinstance(branches, Sequence) or branches.items is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    rest = args[2:]
    return _branches(machine, site, "switch", index, branches.items, [rest] * len(branches.items))


def _branches(
    machine: Interpreter,
    site: Site,
    kind: str,
    predicate: Value | None,
    branches: list[Value],
    operands: list[list[Value]],
) -> Value:
    region = Region(kind, site.frame.region, site.frame.place(site.syntax))
    inside = _inside(site, region)
    used = machine.used
    all_used = dict(used)
    machine.control += 1
    results: list[Value] = []
    for branch, given in zip(branches, operands, strict=True):
        machine.used = dict(used)
        results.append(machine.call(inside, branch, [as_traced(it) for it in given], {}))
        all_used |= machine.used
    machine.control -= 1
    machine.used = all_used
    data = {"predicate": predicate, "branches": branches, "results": results, "region": region}
    machine.note(Fact(site.syntax, site.frame, kind, data))
    if not results:
        return machine.opaque(kind, site, ())
    joined = results[0]
    for result in results[1:]:
        joined = join(joined, result)
    return as_result(_chosen(joined, predicate, site), site)


def _chosen(value: Value, predicate: Value | None, site: Site) -> Value:
    """A result that also depends on what chose it."""
    if not isinstance(predicate, Data):
        return value
    chooser = predicate.node

    def change(leaf: Data) -> Data:
        inputs = (chooser, leaf.node)
        node = Node("cond", inputs, site.syntax, site.frame, leaf.node.varies | chooser.varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key = leaf.node.is_key
        return Data(node, True, leaf.is_array)

    return mapped(value, change)


@handles("jax.pure_callback", "jax.io_callback", "jax.debug.callback")
def _callback(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    region = Region("callback", site.frame.region, site.frame.place(site.syntax))
    start = 1 if name == "jax.debug.callback" else 2

    def on_host(leaf: Data) -> Data:
        return Data(leaf.node, False, leaf.is_array, leaf.type)

    if args:
        given = [mapped(it, on_host) for it in args[start:]]
        named = {key: mapped(it, on_host) for key, it in keywords.items()}
        machine.call(_inside(site, region), args[0], given, named)
    if name == "jax.debug.callback":
        return Constant(None)
    return machine.opaque(name, site, args[start:], traced=True if site.frame.is_staged else None)


@handles("jax.debug.print", "jax.debug.breakpoint", "jax.debug.visualize_array_sharding")
def _debug(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return Constant(None)


@handles("jax.lax.axis_index")
def _axis_index(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Another number in each lane of the map that has this axis."""
    result = machine.array(name, site, (), shape=(), dtype="int32")
    axis = args[0] if args else keywords.get("axis_name")
    wanted = axis.value if isinstance(axis, Constant) else None
    maps = ("vmap", "pmap", "shard_map")
    around = site.frame.region.chain() if site.frame.region is not None else ()
    found = [it for it in around if it.kind in maps and (it.axis_name == wanted or wanted is None)]
    result.node.varies = frozenset(found)
    return result


@handles("jax.lax.stop_gradient")
def _stop_gradient(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = args[0] if args else keywords.get("x", Constant(None))

    def change(leaf: Data) -> Data:
        node = Node(name, (leaf.node,), site.syntax, site.frame, leaf.node.varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        return Data(node, leaf.traced, leaf.is_array)

    return mapped(value, change)
