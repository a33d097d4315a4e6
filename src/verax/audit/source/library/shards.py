"""Values at the boundary of `shard_map`: what one device sees of them, and all devices together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ..frame import Region
from ..graph import Node
from ..shapes import Shape
from ..values import Constant, Data, Mapping, Sequence, Transformed, Value, leaves, mapped
from .registry import handles
from .staging import as_result, staged_arguments

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_SPEC = "jax.sharding.PartitionSpec"
# Makes something of a piece of data and its entry among the specs.
_Change: TypeAlias = Callable[[Data, Data], Data]


@handles(_SPEC)
def _spec(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    result = machine.opaque(name, site, (), traced=False, type=_SPEC)
    result.node.operands = tuple(args)
    return result


def sharded_arguments(
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments as one device sees them: what is divided differs from one to the next.

    That is said of one axis of devices; along several of them a value may vary on some only.
    """
    entered, by_name = staged_arguments(transformed, args, keywords)
    specs = transformed.options.get("in_specs")
    names = names_in(specs)
    if specs is None or keywords or names is None or len(names) != 1:
        return entered, by_name
    (region.axis_name,) = names
    each = [specs] * len(entered)
    if isinstance(specs, Sequence):
        each = list(specs.items or ())
    if len(each) != len(entered):
        return entered, by_name
    return [_shard(it, spec, site, region) for it, spec in zip(entered, each, strict=True)], {}


def _shard(value: Value, spec: Value, site: Site, region: Region) -> Value:
    """The part of an argument that one device gets."""

    def change(leaf: Data, spec: Data) -> Data:
        if not _divides(spec):
            return leaf
        # No axis is taken away, unlike in a `vmap`.
        node = leaf.node.child("lane", (region, None), site.syntax, site.frame)
        node.varies = leaf.node.varies | {region}
        node.is_key = leaf.node.is_key
        node.label = leaf.node.label
        node.dtype = leaf.node.dtype
        node.shape = _divided(leaf.node.shape, spec)
        return Data(node, leaf.traced, leaf.is_array, leaf.type)

    return _by_spec(value, spec, change)


def shards_together(value: Value, region: Region, site: Site, transformed: Transformed) -> Value:
    """What the devices give together."""
    value = as_result(value, site)
    specs = transformed.options.get("out_specs")
    if region.axis_name is None or specs is None:
        return value

    def change(leaf: Data, spec: Data) -> Data:
        node = Node("shards", (leaf.node,), site.syntax, site.frame, leaf.node.varies - {region})
        node.dtype = leaf.node.dtype
        node.is_key = leaf.node.is_key
        node.shape = _divided(leaf.node.shape, spec)
        return Data(node, leaf.traced, leaf.is_array)

    return _by_spec(value, specs, change)


def specs_in(value: Value | None) -> Iterator[Data]:
    """The specs that a tree holds."""
    for leaf in leaves(value) if value is not None else ():
        if leaf.type == _SPEC:
            yield leaf


def replicated(value: Value, specs: Value | None) -> Iterator[Data]:
    """The results of which their `out_specs` say that all devices have the same."""
    found: list[Data] = []

    def change(leaf: Data, spec: Data) -> Data:
        if not _divides(spec):
            found.append(leaf)
        return leaf

    if specs is not None and names_in(specs) is not None:
        _by_spec(value, specs, change)
    yield from found


def _by_spec(value: Value, spec: Value, change: _Change) -> Value:
    """A value with its data changed, each by the entry that is a prefix of where it is."""
    if isinstance(spec, Data):
        return mapped(value, lambda leaf: change(leaf, spec)) if spec.type == _SPEC else value
    if isinstance(spec, Sequence) and isinstance(value, Sequence):
        entries, items = spec.items or [], value.items or []
        if len(entries) == len(items):
            pairs = zip(items, entries, strict=True)
            changed = [_by_spec(one, entry, change) for one, entry in pairs]
            return Sequence(value.kind, changed, type=value.type)
    if isinstance(spec, Mapping) and isinstance(value, Mapping):
        return Mapping(
            {
                key: _by_spec(item, spec.items.get(key, Constant(None)), change)
                for key, item in value.items.items()
            },
            value.is_open,
        )
    return value


def names_in(spec: Value | None) -> set[str] | None:
    """The axes of devices that specs name; `None` if one of them is not known."""
    if isinstance(spec, Constant):
        return {spec.value} if isinstance(spec.value, str) else set()
    inner: list[Value] | None = None
    if isinstance(spec, Data) and spec.type == _SPEC:
        inner = list(spec.node.operands)
    elif isinstance(spec, Sequence):
        inner = spec.items
    elif isinstance(spec, Mapping) and not spec.is_open:
        inner = list(spec.items.values())
    found = [names_in(it) for it in inner] if inner is not None else [None]
    known = [it for it in found if it is not None]
    return set[str]().union(*known) if len(known) == len(found) else None


def _divides(spec: Data) -> bool:
    return bool(names_in(spec))


def _divided(shape: Shape, spec: Data) -> Shape:
    """A shape whose divided axes have another size: how many devices there are is not known."""
    if not isinstance(shape, tuple):
        return None
    entries = [*spec.node.operands, *[None] * len(shape)]
    return tuple(
        size if entry is None or not names_in(entry) else None
        for size, entry in zip(shape, entries, strict=False)
    )
