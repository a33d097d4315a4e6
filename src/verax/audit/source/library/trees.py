"""`jax.tree`: functions over the leaves of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import parts
from ..attributes import named_attribute, unwrapped_method
from ..classes import decorator_names, fields_are_leaves, is_static_field, opaque_instance
from ..events import Fact
from ..graph import Node, variation
from ..joining import join
from ..values import (
    Class,
    Constant,
    Data,
    External,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Value,
    leaves,
    sorted_keys,
)
from .arguments import argument
from .options import constants
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


# Leaves of a tree that are gone through one by one.
_MANY = 8
_MANY_OF_EXAMPLE = 64


@handles("jax.tree.map", "jax.tree.map_with_path")
def _map(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) < 2:
        return machine.opaque(name, site, (*args, *keywords.values()))
    function, trees = args[0], args[1:]
    path = [machine.opaque("path", site, (), traced=False)] if name.endswith("with_path") else []
    is_leaf = keywords.get("is_leaf", Constant(None))
    results: list[Value] = []
    numbers: list[Value] = []
    called_leaves: list[Value] = []

    def at_leaves(given: list[Value], depth: int) -> Value:
        first = given[0]
        whole = _is_called_leaf(machine, site, is_leaf, first)
        if whole:
            called_leaves.append(first)
            results.append(machine.call(site, function, [*path, *given], {}))
            return results[-1]
        if whole is None and isinstance(first, (Sequence, Mapping, Instance)):
            return machine.opaque(name, site, given)
        if depth < 8 and isinstance(first, Sequence) and first.items is not None:
            items = [
                at_leaves([_part(machine, site, it, i) for it in given], depth + 1)
                for i in range(len(first.items))
            ]
            return Sequence(first.kind, items, None, site.frame, type=first.type)
        if depth < 8 and isinstance(first, Sequence) and first.element is not None:
            element = at_leaves([_element(machine, site, it) for it in given], depth + 1)
            return Sequence(first.kind, None, element, site.frame, length=first.length)
        if depth < 8 and isinstance(first, Mapping):
            found = {
                key: at_leaves([_part(machine, site, it, key) for it in given], depth + 1)
                for key in sorted_keys(first)
            }
            return Mapping(found, first.is_open, site.frame)
        if depth < 8 and isinstance(first, Instance) and fields_are_leaves(first.cls):
            inputs = tuple(it.node for it in given if isinstance(it, (Instance, Data)))
            node = Node("object", inputs, site.syntax, site.frame, variation(inputs))
            copy = Instance(first.cls, node, site.frame, first.traced)
            copy.attributes = {
                key: value
                if is_static_field(first.cls, key)
                else at_leaves([_field(machine, site, it, key) for it in given], depth + 1)
                for key, value in first.attributes.items()
            }
            if copy.attributes:
                return copy
            # What nobody has looked into is a tree of some leaves, and none itself.
            given = [Data(it.node, it.traced) if isinstance(it, Instance) else it for it in given]
            first = given[0]
        if isinstance(first, Constant) and first.value is None and "is_leaf" not in keywords:
            return first  # a tree without leaves
        # What the caller calls a leaf need not be an array.
        arrays = [_leaf(machine, site, it, first) for it in given] if whole is False else given
        numbers.extend(it for it in arrays if isinstance(it, Constant))
        result = machine.call(site, function, [*path, *arrays], {})
        results.append(result)
        is_one = isinstance(first, Constant) or (isinstance(first, Data) and first.is_array)
        if isinstance(result, Data) and not is_one:
            # It stands for a whole tree of such leaves.
            return Data(result.node, result.traced, False, result.type)
        return result

    # A dict or list of many leaves is mapped by one of them.
    if len(leaves(trees[0])) > (_MANY_OF_EXAMPLE if machine.is_thorough else _MANY):
        trees = [_any_leaf(machine, site, tree) for tree in trees]
        if isinstance(trees[0], Data):
            trees[0] = Data(trees[0].node, trees[0].traced, False)  # It stands for a tree.
    result = at_leaves(trees, 0)
    data = {"function": function, "trees": args[1:], "results": results, "result": result}
    data |= {"numbers": numbers, "called leaves": called_leaves}
    machine.note(Fact(site.syntax, site.frame, "tree map", data))
    return result


def _is_called_leaf(machine: Interpreter, site: Site, is_leaf: Value, value: Value) -> bool | None:
    """Whether `is_leaf` takes something for a leaf; `None` if that is not known."""
    if isinstance(is_leaf, Constant) or (isinstance(value, Data) and value.is_array):
        return False  # An array is a leaf in any case.
    answer = machine.call(site, is_leaf, [value], {})
    return bool(answer.value) if isinstance(answer, Constant) else None


def _field(machine: Interpreter, site: Site, value: Value, name: str) -> Value:
    return named_attribute(machine, site, value, name)


def _part(machine: Interpreter, site: Site, value: Value, key: object) -> Value:
    return parts.item(machine, site, value, Constant(key))


def _leaf(machine: Interpreter, site: Site, value: Value, first: Value) -> Value:
    """What a function gets of a tree that is walked by the structure of another one."""
    is_tree = isinstance(value, (Sequence, Mapping)) or (
        isinstance(value, Instance) and fields_are_leaves(value.cls)
    )
    if isinstance(first, Data) and not first.is_array and is_tree:
        value = _any_leaf(machine, site, value)
    if isinstance(value, Constant):
        return Constant(value.value, value.origin)  # To know it apart from what is in the tree.
    return Data(value.node, value.traced, True) if isinstance(value, Data) else value


def _element(machine: Interpreter, site: Site, value: Value) -> Value:
    if isinstance(value, Sequence) and value.element is not None:
        return value.element
    return _part(machine, site, value, 0)


def _any_leaf(machine: Interpreter, site: Site, tree: Value) -> Value:
    """What stands for all leaves of a tree: for those of which nothing varies, some number."""
    found = leaves(tree)
    if not found:
        is_number = isinstance(tree, (Sequence, Mapping, Instance))
        return machine.opaque("leaf", site, (), traced=False) if is_number else tree
    joined: Value = found[0]
    for leaf in found[1:]:
        joined = join(joined, leaf)
    return joined


@handles("jax.tree.reduce")
def _reduce(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if len(args) < 2:
        return machine.opaque(name, site, (*args, *keywords.values()))
    data = {"function": args[0], "tree": args[1]}
    machine.note(Fact(site.syntax, site.frame, "tree reduce", data))
    leaf = _any_leaf(machine, site, args[1])
    given = argument(args, keywords, 2, "initializer")
    start = given or parts.another(site, leaf)
    result = machine.call(site, args[0], [start, leaf], {})
    if given is None:
        data = {"start": start, "leaf": leaf, "result": result}
        machine.note(Fact(site.syntax, site.frame, "reduced", data))
    return result


@handles("jax.tree_util.register_pytree_node_class", "jax.tree_util.register_dataclass")
@handles("jax.tree_util.register_static", "jax.tree_util.register_pytree_with_keys_class")
@handles("jax.tree_util.register_pytree_node", "jax.tree_util.register_pytree_with_keys")
@handles("flax.struct.dataclass", "chex.dataclass", "dataclasses.dataclass", "verax.dataclass")
@handles("chex.mappable_dataclass", "jax_dataclasses.pytree_dataclass", "verax.state.dataclass")
def _register(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    cls = args[0] if args else keywords.get("nodetype")
    if cls is None:
        return Partial(External(name), [], keywords)
    if isinstance(cls, Class):
        if name not in decorator_names(cls):
            # By a call, or a partial in a partial, which does the same.
            cls.decorators.append(Partial(External(name), [], keywords))
        data = {"name": name, "args": args, "keywords": keywords}
        fact = Fact(site.syntax, site.frame, "registered", data)
        if name != "dataclasses.dataclass":
            cls.registration = cls.registration or fact
            cls.leaf_names = _leaf_names(machine, site, cls, name, args, keywords)
    return cls


_WITH_METHODS = frozenset(
    (
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_pytree_with_keys_class",
    )
)
# What they call the function that takes an object apart.
_WITH_FUNCTIONS = {
    "jax.tree_util.register_pytree_node": "flatten_func",
    "jax.tree_util.register_pytree_with_keys": "flatten_with_keys",
}


def tree_functions(cls: Class) -> tuple[Value | None, Value | None]:
    """The functions that take an object apart and put it together, by the class's registration."""
    if cls.registration is None:
        return None, None
    data = cls.registration.data
    if data["name"] in _WITH_METHODS:
        found = cls.find("tree_unflatten")
        bound = None if found is None else unwrapped_method(found, cls, is_class=True)
        wanted = "tree_flatten_with_keys" if "keys" in data["name"] else "tree_flatten"
        return cls.find(wanted), bound
    if data["name"] in _WITH_FUNCTIONS:
        given = [*data["args"], None, None, None]
        named = data["keywords"]
        flatten = given[1] or named.get(_WITH_FUNCTIONS[data["name"]])
        return flatten, given[2] or named.get("unflatten_func")
    return None, None


def taken_apart(
    machine: Interpreter, site: Site, cls: Class, value: Value
) -> tuple[Sequence, Value] | None:
    """The children and the static data that an object's class gives, if both are known.

    Children that come with their keys are given without them.
    """
    flatten, _ = tree_functions(cls)
    apart = None if flatten is None else machine.call(site, flatten, [value], {})
    if not isinstance(apart, Sequence) or apart.items is None or len(apart.items) != 2:
        return None
    children, static = apart.items
    if not isinstance(children, Sequence):
        return None
    if "with_keys" not in cls.registration.data["name"]:
        return children, static
    pairs = children.items
    if pairs is None or not all(isinstance(it, Sequence) and it.length == 2 for it in pairs):
        return None
    items = [it.items[1] for it in pairs if isinstance(it, Sequence) and it.items]
    return Sequence("tuple", items, None, site.frame), static


def _leaf_names(
    machine: Interpreter,
    site: Site,
    cls: Class,
    name: str,
    args: list[Value],
    keywords: dict[str, Value],
) -> frozenset[str] | None:
    """The attributes of a class that its registration takes for leaves, or trees of them."""
    if name == "jax.tree_util.register_dataclass":
        fields = args[1] if len(args) > 1 else keywords.get("data_fields")
        return None if fields is None else frozenset(map(str, constants(fields)))
    node = Node("object", (), cls.syntax, cls.frame, label=cls.name)
    before = opaque_instance(cls, node, None)
    apart = taken_apart(machine, site, cls, before)
    if not isinstance(before, Instance) or apart is None:
        return None
    children, _ = apart
    kept = {id(child) for child in children.items or ()}
    found = [name for name, value in before.attributes.items() if id(value) in kept]
    return frozenset(found) if len(found) == len(children.items or ()) else None
