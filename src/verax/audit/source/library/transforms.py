"""JAX's transformations of functions: what they make, and how what they made is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from ..binding import positional_names
from ..calls import run
from ..captures import captures
from ..classes import fields_are_leaves, innermost_function
from ..events import Applied, Fact, Made
from ..frame import Region
from ..graph import NOWHERE, Node
from ..shapes import Dim
from ..shapes.axes import insert_axis
from ..shapes.names import name_of
from ..shapes.shape import partial
from ..values import (
    Bound,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
    mapped,
)
from .custom_rules import run_rules
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

# Full name -> (kind, names of positional parameters after the function, filtered as in equinox)
_TRANSFORMS: dict[str, tuple[str, str, bool]] = {
    "jax.jit": ("jit", "", False),
    "jax.vmap": ("vmap", "in_axes out_axes axis_name axis_size", False),
    "jax.pmap": ("pmap", "axis_name", False),
    "jax.shard_map": ("shard_map", "mesh in_specs out_specs", False),
    "jax.grad": ("grad", "argnums has_aux", False),
    "jax.value_and_grad": ("value_and_grad", "argnums has_aux", False),
    "jax.jacrev": ("jacrev", "argnums has_aux", False),
    "jax.jacfwd": ("jacfwd", "argnums has_aux", False),
    "jax.hessian": ("hessian", "argnums has_aux", False),
    "jax.checkpoint": ("checkpoint", "", False),
    "jax.custom_vjp": ("custom_vjp", "nondiff_argnums", False),
    "jax.custom_jvp": ("custom_jvp", "nondiff_argnums", False),
    "jax.custom_gradient": ("custom_gradient", "", False),
    "jax.eval_shape": ("eval_shape", "", False),
    "jax.make_jaxpr": ("make_jaxpr", "", False),
    "jax.linear_transpose": ("linear_transpose", "", False),
    "equinox.filter_jit": ("jit", "", True),
    "equinox.filter_pmap": ("pmap", "", True),
    "equinox.filter_vmap": ("vmap", "", True),
    "equinox.filter_grad": ("grad", "", True),
    "equinox.filter_value_and_grad": ("value_and_grad", "", True),
    "equinox.filter_checkpoint": ("checkpoint", "", True),
    "equinox.filter_custom_vjp": ("custom_vjp", "", True),
    "flax.nnx.jit": ("jit", "", True),
    "flax.nnx.vmap": ("vmap", "", True),
    "flax.nnx.grad": ("grad", "", True),
    "flax.nnx.value_and_grad": ("value_and_grad", "", True),
    "flax.nnx.remat": ("checkpoint", "", True),
    "flax.linen.jit": ("jit", "", True),
    "haiku.grad": ("grad", "argnums has_aux", True),
    "haiku.value_and_grad": ("value_and_grad", "argnums has_aux", True),
    "chex.chexify": ("named", "", False),
}
DERIVATIVES = frozenset("grad value_and_grad jacrev jacfwd hessian".split())


@handles(*_TRANSFORMS)
def _transform(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind, names, is_filtered = _TRANSFORMS[name]
    keywords = dict(keywords)
    function = args[0] if args else keywords.pop("fun", keywords.pop("f", None))
    options = dict(zip(names.split(), args[1:], strict=False)) | keywords
    if function is None:
        # `@partial`-like use: `@jax.jit(static_argnums=0)`.
        return Partial(External(name), [], options)
    if kind == "eval_shape" and (len(args) > 1 or keywords):
        transformed = Transformed(kind, function, {}, site.syntax, site.frame)
        return apply(machine, site, transformed, args[1:], keywords)
    made = Transformed(kind, function, options, site.syntax, site.frame, is_filtered)
    region = site.frame.region
    in_loop = region is not None and region.kind == "loop"
    machine.note(Made(site.syntax, site.frame, made, in_loop))
    return made


@handles("jax.vjp", "jax.jvp", "jax.linearize", "equinox.filter_vjp", "equinox.filter_jvp")
def _direct(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind = name.rpartition(".")[2].removeprefix("filter_")
    if not args:
        return machine.opaque(name, site, ())
    is_filtered = name.startswith("equinox")
    primals = args[1:]
    tangents: list[Value] = []
    if kind == "jvp":
        given = args[1] if len(args) > 1 else keywords.get("primals")
        also = args[2] if len(args) > 2 else keywords.get("tangents")
        primals = list(given.items or ()) if isinstance(given, Sequence) else []
        tangents = [also] if also is not None else []
    transformed = Transformed(kind, args[0], keywords, site.syntax, site.frame, is_filtered)
    machine.note(Made(site.syntax, site.frame, transformed))
    value = apply(machine, site, transformed, primals, {})
    second = machine.opaque(name, site, (value, *tangents))
    if _is_true(keywords.get("has_aux")) and isinstance(value, Sequence) and value.items:
        return machine.tuple_of(value.items[0], second, *value.items[1:])
    return machine.tuple_of(value, second)


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Constant) and value.value is True


# --- calling what was made


def apply(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """Call a transformed function: change the arguments at the boundary, run, change back."""
    kind = transformed.kind
    region = Region(
        kind,
        site.frame.region,
        site.frame.place(transformed.syntax),
        axis_name=_axis_name(transformed),
        transformed=transformed,
    )
    entered, entered_keywords = _entered(machine, site, transformed, args, keywords, region)
    if kind == "jit" and not site.frame.is_staged:
        _note_captures(machine, site, transformed, args, entered)
    before = machine.used
    result, inner = _run_inside(machine, site, transformed, entered, entered_keywords, region)
    if kind == "eval_shape":
        machine.used = before
    if kind in ("custom_vjp", "custom_jvp"):
        run_rules(machine, site, transformed, args, keywords, result)
    outside = _left(machine, site, transformed, args, result, region)
    machine.note(
        Applied(
            site.syntax, site.frame, transformed, args, keywords, inner, result, outside, region
        )
    )
    return outside


def _note_captures(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    entered: list[Value],
) -> None:
    """Note what a jitted function reads from outside at this call."""
    owner: Value | None = None
    if isinstance(transformed.function, Bound):
        owner = transformed.function.owner
    elif args and isinstance(args[0], Instance) and args[0] is entered[0]:
        owner = args[0]
    found = captures(machine, transformed, owner)
    if found:
        data = {"transformed": transformed, "captures": found, "owner": owner}
        machine.note(Fact(site.syntax, site.frame, "captured", data))


def _axis_name(transformed: Transformed) -> object:
    value = transformed.options.get("axis_name")
    return value.value if isinstance(value, Constant) else None


def _run_inside(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[Value, dict[str, Value]]:
    function, args = unwrapped(transformed.function, args)
    inner_site = _at(site, region)
    if isinstance(function, Function):
        names = positional_names(function)
        inner = dict(zip(names, args, strict=False)) | keywords
        return run(machine, inner_site, function, args, keywords, region), inner
    return machine.call(inner_site, function, args, keywords), {}


def _at(site: Site, region: Region) -> Site:
    """The same place, inside of a region."""
    from ..frame import Frame
    from ..frame import Site as SiteClass

    frame = site.frame
    inside = Frame(frame.module, frame.name, None, frame.outer, region, frame, site.syntax)
    inside.environment = frame.environment
    return SiteClass(inside, site.syntax, site.is_open)


def unwrapped(function: Value, args: list[Value]) -> tuple[Value, list[Value]]:
    """A function without the method or partial around it, with the arguments that these add."""
    while True:
        if isinstance(function, Bound) and not isinstance(function.function, External):
            function, args = function.function, [function.owner, *args]
        elif isinstance(function, Partial) and not function.keywords:
            function, args = function.function, [*function.args, *args]
        else:
            return function, args


def static_names(transformed: Transformed, function: Function | None) -> set[object]:
    """Positions and names of the arguments that a jitted function takes as they are."""
    found: set[object] = set()
    names = positional_names(function) if function is not None else []
    for option in (
        "static_argnums",
        "static_argnames",
        "nondiff_argnums",
        "static_broadcasted_argnums",
    ):
        for value in constants(transformed.options.get(option)):
            if isinstance(value, int) and not isinstance(value, bool):
                position = value + len(names) if value < 0 else value
                found.add(position)
                if 0 <= position < len(names):
                    found.add(names[position])
            elif isinstance(value, str):
                found.add(value)
                if value in names:
                    found.add(names.index(value))
    return found


def constants(value: Value | None) -> list[object]:
    """The constants in an argument that is one, or a tuple or list of them."""
    if isinstance(value, Constant):
        return [] if value.value is None else [value.value]
    if isinstance(value, Sequence):
        return [found for item in value.items or () for found in constants(item)]
    return []


def _entered(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[list[Value], dict[str, Value]]:
    kind = transformed.kind
    if kind in ("jit", "checkpoint", "eval_shape", "make_jaxpr", "shard_map"):
        return _staged(transformed, args, keywords)
    if kind in ("vmap", "pmap"):
        return _mapped(site, transformed, args, keywords, region)
    if kind in DERIVATIVES or kind in ("vjp", "jvp", "linearize"):
        return _differentiated(site, transformed, args, region), keywords
    return args, keywords


def _staged(
    transformed: Transformed, args: list[Value], keywords: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    function = innermost_function(transformed.function)
    static = static_names(transformed, function)
    uncertain = _options_unknown(transformed)
    offset = 1 if isinstance(transformed.function, Bound) else 0

    def entered(value: Value) -> Value:
        if uncertain:
            return value
        return as_traced(value, transformed.is_filtered)

    names = positional_names(function) if function is not None else []
    new_args: list[Value] = []
    for position, value in enumerate(args):
        number = position + offset
        name = names[number] if number < len(names) else None
        is_static = position in static or (name is not None and name in static)
        new_args.append(value if is_static else entered(value))
    new_keywords = {
        name: value if name in static else entered(value) for name, value in keywords.items()
    }
    return new_args, new_keywords


def _options_unknown(transformed: Transformed) -> bool:
    """Whether it is not known which arguments are static."""
    for option in ("static_argnums", "static_argnames"):
        value = transformed.options.get(option)
        if value is not None and not isinstance(value, Constant) and not constants(value):
            return True
    return False


_DTYPES: dict[type, str] = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}


def as_traced(value: Value, is_filtered: bool = False) -> Value:
    """A value as it is inside of a jitted function."""
    if isinstance(value, Constant):
        if is_filtered or value.value is None or not isinstance(value.value, (int, float, complex)):
            return value
        node = Node("argument")
        node.shape = ()
        node.dtype = _DTYPES.get(type(value.value))
        return Data(node, True, True)

    def change(leaf: Data) -> Data:
        traced = True if not is_filtered or (leaf.is_array and leaf.traced) else leaf.traced
        kind = "" if leaf.type == "shape" else leaf.type
        return Data(leaf.node, traced, leaf.is_array, kind)

    if isinstance(value, (Sequence, Mapping)):
        return _containers_traced(value, is_filtered)
    if isinstance(value, Instance) and not fields_are_leaves(value.cls):
        return _object_traced(value)
    return mapped(value, change)


def _object_traced(value: Instance) -> Instance:
    """An object of which it is not known what JAX takes for its leaves."""
    inside = Instance(value.cls, value.node, None, None)
    for name, item in value.attributes.items():
        if isinstance(item, Constant) and isinstance(item.value, (int, float)):
            item = Data(Node("field", (value.node,), label=name), None)
        inside.attributes[name] = mapped(item, lambda leaf: Data(leaf.node, None, leaf.is_array))
    return inside


def _containers_traced(value: Sequence | Mapping, is_filtered: bool) -> Value:
    if isinstance(value, Sequence):
        items = None if value.items is None else [as_traced(it, is_filtered) for it in value.items]
        element = None if value.element is None else as_traced(value.element, is_filtered)
        return Sequence(value.kind, items, element, None, value.made_at, value.length, value.type)
    items_by_key = {key: as_traced(item, is_filtered) for key, item in value.items.items()}
    return Mapping(items_by_key, value.is_open, None, value.made_at)


def as_result(value: Value, site: Site) -> Value:
    """A value as it comes out of a jitted function: an array, or a tracer of what is around."""

    def change(leaf: Data) -> Data:
        if not leaf.traced:
            return leaf
        return Data(leaf.node, True if site.frame.is_staged else None, leaf.is_array, leaf.type)

    return mapped(value, change)


# --- vmap and pmap


def axes_of(transformed: Transformed, count: int) -> list[Value | None]:
    """`in_axes` for each positional argument; `None` where it is not known."""
    value = transformed.options.get("in_axes")
    if value is None:
        return [Constant(0)] * count
    if isinstance(value, Constant):
        return [value] * count
    if isinstance(value, Sequence) and value.items is not None:
        return [*value.items, *[None] * count][:count]
    return [None] * count


def _mapped(
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[list[Value], dict[str, Value]]:
    axes = axes_of(transformed, len(args))
    entered = [
        lane(value, axis, site, region, transformed.is_filtered)
        for value, axis in zip(args, axes, strict=True)
    ]
    zero = Constant(0)
    return entered, {
        name: lane(value, zero, site, region, transformed.is_filtered)
        for name, value in keywords.items()
    }


def lane(
    value: Value, axis: Value | None, site: Site, region: Region, is_filtered: bool = False
) -> Value:
    """The part of an argument that one lane of a map sees."""
    if isinstance(axis, Constant) and axis.value is None:
        return value
    if isinstance(axis, Sequence) and isinstance(value, Sequence):
        parts, axes = value.items or [], axis.items or []
        if parts and len(parts) == len(axes):
            items = [lane(v, a, site, region) for v, a in zip(parts, axes, strict=True)]
            return Sequence(value.kind, items, type=value.type)
    if isinstance(axis, Mapping) and isinstance(value, Mapping):
        found = {k: lane(v, axis.items.get(k), site, region) for k, v in value.items.items()}
        return Mapping(found, value.is_open)
    number = axis.value if isinstance(axis, Constant) else None

    def change(leaf: Data) -> Data:
        node = leaf.node.child("lane", (region, number), site.syntax, site.frame)
        node.varies = leaf.node.varies | {region}
        node.is_key = leaf.node.is_key
        node.label = leaf.node.label
        node.dtype = leaf.node.dtype
        shape = leaf.node.shape
        if (
            isinstance(shape, tuple)
            and isinstance(number, int)
            and -len(shape) <= number < len(shape)
        ):
            rest = list(shape)
            know_size(region, rest.pop(number))
            node.shape = tuple(rest)
        traced: bool | None = True
        if axis is None or is_filtered:
            traced = leaf.traced
        return Data(node, traced, leaf.is_array, leaf.type)

    return mapped(value, change)


def _left(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    result: Value,
    region: Region,
) -> Value:
    kind = transformed.kind
    if kind in ("jit", "checkpoint", "shard_map", "eval_shape", "make_jaxpr"):
        if kind == "make_jaxpr":
            return machine.opaque(kind, site, (result,), traced=False)
        return as_result(result, site)
    if kind in ("vmap", "pmap"):
        arrays = as_result(as_traced(result, transformed.is_filtered), site)
        return _lanes_together(arrays, region, site, transformed)
    if kind in DERIVATIVES:
        return _derivatives(machine, site, transformed, args, result)
    if kind in ("custom_vjp", "custom_jvp"):
        return as_result(result, site)
    if kind == "custom_gradient" and isinstance(result, Sequence) and result.items:
        return result.items[0]  # The other one is how to differentiate it.
    return result


def know_size(region: Region, size: Dim) -> None:
    """How many lanes or turns there are, as one of the arguments tells: a name says most."""
    known: Dim = region.details.get("size")
    if known is None or (name_of(size) and not name_of(known)):
        region.details["size"] = size


def _lanes_together(value: Value, region: Region, site: Site, transformed: Transformed) -> Value:
    """What the lanes of a map give, each result with the mapped axis where `out_axes` puts it."""
    axes = transformed.options.get("out_axes", Constant(0))
    if isinstance(axes, Sequence) and isinstance(value, Sequence):
        wanted, given = axes.items or (), value.items or ()
        if len(wanted) == len(given):
            items: list[Value] = [
                stacked(item, region, site, axis.value if _is_axis(axis) else None)
                for item, axis in zip(given, wanted, strict=True)
            ]
            return Sequence(value.kind, items, type=value.type)
    return stacked(value, region, site, axes.value if _is_axis(axes) else None)


def _is_axis(value: Value) -> TypeGuard[Constant]:
    return isinstance(value, Constant) and type(value.value) is int


def stacked(value: Value, region: Region, site: Site, axis: int | None = 0) -> Value:
    """What the lanes of a map, or the turns of a scan, give together, as a rule on a first axis."""
    size: Dim = region.details.get("size")

    def change(leaf: Data) -> Data:
        node = Node("stack", (leaf.node,), site.syntax, site.frame, leaf.node.varies - {region})
        node.dtype = leaf.node.dtype
        node.is_key = leaf.node.is_key
        shape = leaf.node.shape
        if axis is not None and isinstance(shape, tuple) and -len(shape) - 1 <= axis <= len(shape):
            node.shape = insert_axis(shape, axis, size)
        elif axis == 0 and shape is None:
            node.shape = partial((size,), ())
        return Data(node, leaf.traced, leaf.is_array)

    return mapped(value, change)


# --- derivatives


def argument_numbers(transformed: Transformed) -> list[int] | None:
    """The positions of the arguments that are differentiated; `None` if they are not known."""
    value = transformed.options.get("argnums")
    if value is None:
        return [0]
    found = constants(value)
    numbers = [it for it in found if isinstance(it, int)]
    return numbers if numbers else None


def _differentiated(
    site: Site, transformed: Transformed, args: list[Value], region: Region
) -> list[Value]:
    if transformed.kind in ("vjp", "jvp", "linearize"):
        numbers: list[int] | None = list(range(len(args)))
    else:
        numbers = argument_numbers(transformed)
    entered = list(args)
    for number in numbers or ():
        if -len(args) <= number < len(args):
            entered[number] = mapped(args[number], lambda leaf: primal(leaf, site, region))
    return entered


def primal(leaf: Data, site: Site, region: Region) -> Data:
    """An argument inside of the function that is differentiated with respect to it."""
    node = leaf.node.child("primal", region, site.syntax, site.frame)
    node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
    node.label, node.is_key = leaf.node.label, leaf.node.is_key
    return Data(node, leaf.traced, leaf.is_array, leaf.type)


def _derivatives(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    result: Value,
) -> Value:
    has_aux = transformed.options.get("has_aux")
    value, auxiliary = result, None
    if has_aux is not None and not (isinstance(has_aux, Constant) and has_aux.value is False):
        if isinstance(result, Sequence) and result.items is not None and len(result.items) == 2:
            value, auxiliary = result.items
        else:
            value = machine.opaque("value", site, (result,))
            auxiliary = machine.opaque("auxiliary", site, (result,))
    numbers = argument_numbers(transformed)
    single = transformed.options.get("argnums")
    is_single = single is None or isinstance(single, Constant)
    gradients = [
        _gradient(site, args[number], value)
        for number in numbers or ()
        if -len(args) <= number < len(args)
    ]
    if numbers is None or not gradients:
        gradient: Value = machine.opaque("gradient", site, (value,))
    else:
        gradient = gradients[0] if is_single else Sequence("tuple", gradients)
    if transformed.kind == "value_and_grad":
        first = value if auxiliary is None else machine.tuple_of(value, auxiliary)
        return machine.tuple_of(first, gradient)
    return gradient if auxiliary is None else machine.tuple_of(gradient, auxiliary)


def _gradient(site: Site, argument: Value, value: Value) -> Value:
    """The gradient with respect to an argument: of its structure and shape."""
    from ..values import nodes_of

    sources = tuple(nodes_of(value))

    def change(leaf: Data) -> Data:
        inputs = (leaf.node, *sources)
        varies = frozenset().union(*(node.varies for node in inputs)) or NOWHERE
        node = Node("gradient", inputs, site.syntax, site.frame, varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        traced = True if site.frame.is_staged else leaf.traced
        return Data(node, traced, leaf.is_array)

    if isinstance(argument, Constant):
        return Data(Node("gradient", sources, site.syntax, site.frame), None, True)
    if isinstance(argument, Instance):
        return mapped(argument, change)
    return mapped(argument, change)
