"""`jax.tree`: trees that are taken apart into leaves and structure, and put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..events import Fact
from ..values import Constant, Data, Mapping, Sequence, Value, leaves, sorted_keys
from .registry import handles, handles_method

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_STRUCTURE = "jax.tree_util.PyTreeDef"


@handles("jax.tree.leaves", "jax.tree.flatten", "jax.tree.leaves_with_path")
def _leaves(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    tree = args[0] if args else Constant(None)
    found = leaves(tree)
    # With leaves of its own kind, anything may be one.
    is_open = "is_leaf" in keywords
    ordered = None if is_open else leaves_in_order(tree)
    if ordered:
        result = Sequence("list", ordered, None, site.frame, machine.control)
    else:
        traced = found[0].traced if found and not is_open else None
        leaf = machine.opaque("leaf", site, (tree,), traced=traced)
        leaf.is_array = not is_open
        result = Sequence("list", None, leaf, site.frame, machine.control)
    data = {"tree": tree, "name": name, "result": result}
    machine.note(Fact(site.syntax, site.frame, "leaves", data))
    if name.endswith("with_path"):
        path = machine.opaque("path", site, (), traced=False)
        items = [machine.tuple_of(path, it) for it in result.items or (result.element or path,)]
        return Sequence("list", None, items[0], site.frame, machine.control)
    if name.endswith("flatten"):
        structure = _structure_of(machine, site, "treedef", None if is_open else tree)
        return machine.tuple_of(result, structure)
    return result


def leaves_in_order(tree: Value) -> list[Value] | None:
    """The leaves of a tree in JAX's order, keys of a dict sorted; `None` if not all are known."""
    return list(_in_order(tree)) if _is_known(tree) else None


def _is_known(tree: Value) -> bool:
    if isinstance(tree, Sequence):
        return tree.items is not None and all(map(_is_known, tree.items))
    if isinstance(tree, Mapping):
        return not tree.is_open and all(map(_is_known, tree.items.values()))
    if isinstance(tree, Constant):
        return tree.value is None or isinstance(tree.value, (int, float, complex))
    return isinstance(tree, Data) and tree.is_array


def _in_order(tree: Value) -> Iterator[Value]:
    if isinstance(tree, Sequence):
        for item in tree.items or ():
            yield from _in_order(item)
    elif isinstance(tree, Mapping):
        for key in sorted_keys(tree):
            yield from _in_order(tree.items[key])
    elif isinstance(tree, Constant) and not is_none(tree):
        yield Constant(tree.value, tree.origin)  # To know it apart from what is in the tree.
    elif not is_none(tree):
        yield tree


def is_none(tree: Value) -> bool:
    """Whether something is `None`, which is a tree without leaves."""
    return isinstance(tree, Constant) and tree.value is None


@handles("jax.tree.structure")
def _structure(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    tree = args[0] if args and not keywords else None
    return _structure_of(machine, site, name, tree)


def _structure_of(machine: Interpreter, site: Site, name: str, tree: Value | None) -> Data:
    structure = machine.opaque(name, site, (), traced=False, type=_STRUCTURE)
    if tree is not None:
        machine.structures[structure.node] = tree
    return structure


@handles_method("unflatten", of=_STRUCTURE)
def _unflatten_method(
    machine: Interpreter, site: Site, owner: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return _unflatten(machine, site, "jax.tree.unflatten", [owner, *args], keywords)


@handles("jax.tree.unflatten")
def _unflatten(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    structure, given = [*args, None, None][:2]
    tree = machine.structures.get(structure.node) if isinstance(structure, Data) else None
    data = {"name": name, "args": args, "tree": tree}
    machine.note(Fact(site.syntax, site.frame, "unflatten", data))
    places = None if tree is None else leaves_in_order(tree)
    items = given.items if isinstance(given, Sequence) else None
    if tree is not None and places and items is not None and len(items) == len(places):
        return _put_together(site, tree, iter(items))
    found = [leaf.traced for value in args[1:] for leaf in leaves(value)]
    traced = found[0] if found and all(it == found[0] for it in found) else None
    return machine.opaque(name, site, args, traced=traced)


def _put_together(site: Site, tree: Value, given: Iterator[Value]) -> Value:
    """A tree with the structure of another one, and leaves from elsewhere."""
    if isinstance(tree, Sequence):
        items = [_put_together(site, it, given) for it in tree.items or ()]
        return Sequence(tree.kind, items, None, site.frame, type=tree.type)
    if isinstance(tree, Mapping):
        found = {key: _put_together(site, tree.items[key], given) for key in sorted_keys(tree)}
        return Mapping(found, False, site.frame)
    return tree if is_none(tree) else next(given)


@handles("jax.tree.transpose")
def _transpose(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A tree of pairs becomes a pair of trees."""
    outer, inner, tree = [*args, None, None, None][:3]
    outer = machine.structures.get(outer.node) if isinstance(outer, Data) else None
    inside = _at_leaves(outer, tree) if outer is not None and tree is not None else None
    if outer is not None and inside and leaves_in_order(outer):
        wanted = inside[0] if inner is None or is_none(inner) else inner
        if isinstance(wanted, Data):
            wanted = machine.structures.get(wanted.node, wanted)
        columns = [leaves_in_order(it) for it in inside]
        size = len(leaves_in_order(wanted) or ())
        if size and all(it is not None and len(it) == size for it in columns):
            rows = zip(*(it or () for it in columns), strict=True)
            return _put_together(
                site, wanted, (_put_together(site, outer, iter(it)) for it in rows)
            )
    traced = True if any(leaf.traced for it in args for leaf in leaves(it)) else None
    return machine.opaque(name, site, args, traced=traced)


def _at_leaves(structure: Value, tree: Value) -> list[Value] | None:
    """What a tree holds where another one has its leaves; `None` if it does not fit it."""
    own, other = _parts(structure), _parts(tree)
    if own is None:
        return [] if is_none(structure) else [tree]
    if other is None or own.keys() != other.keys():
        return None
    found = [_at_leaves(it, other[key]) for key, it in own.items()]
    return None if None in found else [leaf for it in found for leaf in it or ()]


def _parts(tree: Value) -> dict[Any, Value] | None:
    """The parts of a container, by key or position in JAX's order."""
    if isinstance(tree, Sequence):
        return dict(enumerate(tree.items or ()))
    return {it: tree.items[it] for it in sorted_keys(tree)} if isinstance(tree, Mapping) else None


@handles("jax.tree.all", "jax.tree.broadcast")
def _static(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return machine.opaque(name, site, (), traced=False)
