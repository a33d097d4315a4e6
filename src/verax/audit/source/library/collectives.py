"""Operations between the lanes of a named map: `psum`, `pmean`, `all_gather`, `axis_index`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..events import Fact
from ..graph import NOWHERE, Node
from ..operations import COLLECTIVES, bare
from ..shapes import Mismatch, lookup, symbol
from ..shaping import described
from ..values import Constant, Data, Sequence, Value, mapped
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Region, Site
    from ..machine import Interpreter

# After these, every lane has the same.
_UNITING = bare(COLLECTIVES)
_COLLECTIVES = (
    "psum pmean pmax pmin all_gather psum_scatter ppermute pshuffle pswapaxes all_to_all"
).split()


def names_given(axis: Value | None) -> list[str] | None:
    """The names of the axes that a collective goes over; `None` if they are not known."""
    if isinstance(axis, Constant):
        return [axis.value] if isinstance(axis.value, str) else None
    if isinstance(axis, Sequence) and axis.items is not None:
        found = [name for item in axis.items for name in names_given(item) or ()]
        return found if len(found) == len(axis.items) else None
    return None


def binding(region: Region | None, names: list[str]) -> Iterator[Region]:
    """The maps around some code that bind some names."""
    for it in region.chain() if region is not None else ():
        if it.kind in ("vmap", "pmap", "shard_map") and it.axis_name in names:
            yield it


def _maps_around(region: Region | None) -> Iterator[Region]:
    """The maps around some code: any of them may have an axis whose name is not known."""
    for it in region.chain() if region is not None else ():
        if it.kind in ("vmap", "pmap", "shard_map"):
            yield it


@handles(*(f"jax.lax.{name}" for name in _COLLECTIVES))
def _collective(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = args[0] if args else keywords.get("x", Constant(None))
    axis = args[1] if len(args) > 1 else keywords.get("axis_name")
    names = names_given(axis)
    short = name.rpartition(".")[2]
    over = frozenset(binding(site.frame.region, names or []))
    # A name that is not known may be that of any map around.
    meant = over if names is not None else frozenset(_maps_around(site.frame.region))
    function = lookup(name)
    whole = "axis_index_groups" not in keywords

    def change(leaf: Data) -> Data:
        united = meant if short in _UNITING and whole else NOWHERE
        varies = leaf.node.varies - united
        node = Node(name, (leaf.node,), site.syntax, site.frame, varies)
        if function is not None and axis is not None and not site.is_open:
            options = {key: described(it) for key, it in keywords.items() if key != "x"}
            rest = [described(it) for it in args[1:]]
            with suppress(Mismatch):
                found = function([described(leaf), *rest], options)
                node.shape, node.dtype = found.shape, found.dtype
        return Data(node, True if site.frame.is_staged or over else leaf.traced, leaf.is_array)

    if isinstance(value, Constant):
        result: Value = machine.array(name, site, (), is_jax=False)
    else:
        result = mapped(value, change)
    data = {"name": short, "axes": names, "value": value, "result": result, "over": over}
    machine.note(Fact(site.syntax, site.frame, "collective", data))
    return result


@handles("jax.sharding.Mesh", "jax.make_mesh", "jax.experimental.mesh_utils.Mesh")
def _mesh(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A mesh of devices: its label holds the names of its axes."""
    names = names_given(args[1] if len(args) > 1 else keywords.get("axis_names"))
    result = machine.opaque(name, site, (), traced=False, type="jax.sharding.Mesh")
    result.node.label = " ".join(names or ())
    return result


def names_of_mesh(mesh: Value | None) -> list[str] | None:
    """The names of the axes of a mesh; `None` if they are not known."""
    if not isinstance(mesh, Data) or mesh.type != "jax.sharding.Mesh" or not mesh.node.label:
        return None
    return mesh.node.label.split()


# How many devices there are: a size like any other.
DEVICES = symbol("devices")


@handles("jax.local_device_count", "jax.device_count")
def _device_count(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return Constant(DEVICES)


@handles("jax.lax.axis_index", "jax.lax.axis_size")
def _axis_index(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    axis = args[0] if args else keywords.get("axis_name")
    names = names_given(axis)
    over = frozenset(binding(site.frame.region, names or []))
    is_index = name.endswith("index")
    result = machine.array(name, site, (), is_jax=is_index, shape=(), dtype="int32")
    if is_index:
        result.node.varies = over or frozenset(_maps_around(site.frame.region))
        result.traced = True if over else result.traced
    short = name.rpartition(".")[2]
    data = {"name": short, "axes": names, "value": None, "result": result, "over": over}
    machine.note(Fact(site.syntax, site.frame, "collective", data))
    return result
