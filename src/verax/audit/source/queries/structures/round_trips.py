"""What becomes of an object that is taken apart and put together by its own class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...attributes import set_by_constructor
from ...classes import all_fields, innermost_function, opaque_instance
from ...facts import SourceFacts
from ...frame import Site
from ...graph import Node
from ...library.options import constants
from ...library.trees import taken_apart, tree_functions
from ...remember import each, walked
from ...values import (
    Class,
    Constant,
    Data,
    Function,
    Instance,
    Sequence,
    Value,
    leaves,
    nodes_of,
)
from .recomputed import computed_again
from .registration import is_certain_array


def unnamed_fields(facts: SourceFacts) -> Iterator[tuple[Class, ast.AST, str]]:
    """Fields that `register_dataclass` is told of neither as data nor as static.

    Each with its class and the call that registers it.
    """
    for cls in facts.record.classes:
        told = cls.registration
        if cls.frame.module is not facts.module or told is None:
            continue
        if told.data["name"] != "jax.tree_util.register_dataclass":
            continue
        _, *rest = [*told.data["args"], None, None, None]
        given = told.data["keywords"]
        lists = [rest[0] or given.get("data_fields"), rest[1] or given.get("meta_fields")]
        if not all(isinstance(it, Sequence) and it.items is not None for it in lists):
            continue  # Without lists the annotations tell.
        dropped = rest[2] or given.get("drop_fields")
        named = {str(it) for one in (*lists, dropped) if one is not None for it in constants(one)}
        for name, syntax in all_fields(cls).items():
            if name not in named and not _is_not_given(syntax.value):
                yield cls, told.syntax, name


def _is_not_given(default: ast.expr | None) -> bool:
    """Whether a field is marked as none of the constructor's."""
    keywords = default.keywords if isinstance(default, ast.Call) else ()
    return any(it.arg == "init" for it in keywords)


class Trip(NamedTuple):
    """A registered class, the one of its functions that is wrong, and how it is."""

    cls: Class
    function: Function
    problem: str


def trips(facts: SourceFacts) -> Iterator[Trip]:
    """The registered classes of a file that come back changed."""
    for cls in facts.record.classes:
        if cls.frame.module is not facts.module or cls.registration is None:
            continue
        flatten, unflatten = tree_functions(cls)
        function = innermost_function(unflatten)
        if flatten is None or unflatten is None or function is None:
            continue
        trip = _trip(facts, cls, flatten, unflatten, function)
        if trip is not None:
            yield trip


def _trip(
    facts: SourceFacts, cls: Class, flatten: Value, unflatten: Value, function: Function
) -> Trip | None:
    machine = facts.machine
    site = Site(cls.frame, cls.syntax)
    machine.start_root()
    before = opaque_instance(cls, Node("object", (), cls.syntax, cls.frame, label=cls.name), None)
    apart = taken_apart(machine, site, cls, before)
    if not isinstance(before, Instance) or apart is None:
        return None
    children, auxiliary = apart
    fields = {name: nodes_of(value) for name, value in before.attributes.items()}
    after = machine.call(site, unflatten, [auxiliary, children], {})
    count = len(children.items or ())
    wrong = _unpacked_count(function, count)
    if wrong:
        return Trip(cls, function, f"{count} children are flattened, and {wrong} are unpacked")
    if not isinstance(after, Instance) or after.cls is not cls:
        return None
    problem = _missing(function, count, after)
    if problem:
        return Trip(cls, function, problem)
    swapped = _swapped(fields, after)
    if swapped:
        # A function that puts an object together without its constructor has an order of its own.
        names = set_by_constructor(cls) or after.attributes
        is_in_order = _is_in_order(children, [fields.get(name, []) for name in names])
        is_deaf = is_in_order or _is_unread(function, auxiliary)
        wrong = function if is_deaf else innermost_function(flatten) or function
        return Trip(cls, wrong, swapped)
    forgotten = _forgotten(cls, fields, after)
    if forgotten:
        is_made_up = _is_made_in(after, forgotten[0], function)
        wrong = function if is_made_up else innermost_function(flatten) or function
        return Trip(cls, wrong, forgotten[1])
    changed = computed_again(fields, after)
    if changed:
        return Trip(cls, function, changed)
    return None


def _is_unread(function: Function, auxiliary: Value) -> bool:
    """Whether static data, the names of the children perhaps, is given to who does not read it."""
    names = [it.arg for it in function.syntax.args.args][-2:-1]
    is_given = not isinstance(auxiliary, Constant) or auxiliary.value is not None
    read = {it.id for it in each(function.syntax, ast.Name)}
    return is_given and bool(names) and read.isdisjoint(names)


def _missing(function: Function, count: int, after: Instance) -> str:
    """A parameter of the constructor that was given nothing."""
    if any(isinstance(it, ast.keyword) and it.arg is None for it in ast.walk(function.syntax)):
        return ""  # `cls(**children[0])` may give all of them.
    for name, value in after.attributes.items() if count else ():
        if isinstance(value, Data) and value.node.operation == "argument":
            return f"{count} children are flattened, and its constructor needs `{name}` too"
    return ""


def _unpacked_count(function: Function, count: int) -> int:
    """How many children a function unpacks, if that is another number than it gets."""
    if isinstance(function.syntax, ast.Lambda) or not count:
        return 0
    names = [it.arg for it in function.syntax.args.args]
    for node in walked(function.syntax):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
            continue
        target = node.targets[0]
        if node.value.id != names[-1] or not isinstance(target, (ast.Tuple, ast.List)):
            continue
        starred = any(isinstance(it, ast.Starred) for it in target.elts)
        if not starred and len(target.elts) != count:
            return len(target.elts)
    return 0


def _is_in_order(children: Value, fields: list[list[Node]]) -> bool:
    """Whether children come in the order in which the constructor stores the fields."""
    order = [node for nodes in fields for node in nodes]
    numbers = [order.index(node) for node in nodes_of(children) if node in order]
    return numbers == sorted(numbers)


# What is asked of a child is no child: `costs is not None`, `weights.dtype`.
_QUESTIONS = frozenset("is not in == != < <= > >= static".split())


def _swapped(fields: dict[str, list[Node]], after: Instance) -> str:
    """A field that holds what another one held."""
    for name, own in fields.items():
        value = after.attributes.get(name)
        if not isinstance(value, Data) or not own or value.node.operation in _QUESTIONS:
            continue
        sources = set(value.node.ancestors())
        if not sources.isdisjoint(own):
            continue
        for other, nodes in fields.items():
            if other != name and not sources.isdisjoint(nodes):
                return f"`{name}` comes back as what `{other}` was"
    return ""


def _forgotten(
    cls: Class, fields: dict[str, list[Node]], after: Instance
) -> tuple[str, str] | None:
    """A field that the constructor takes, and that is back at its default or at something new."""
    known = {node for nodes in fields.values() for node in nodes}
    init = innermost_function(cls.find("__init__"))
    for name in all_fields(cls) if init is None else _kept_parameters(init):
        value = after.attributes.get(name)
        if name in fields:
            continue
        if isinstance(value, Constant):
            return name, f"`{name}` is not kept, and comes back as {value.value!r}"
        node = value.node if isinstance(value, Data) and is_certain_array(value) else None
        if node is not None and known.isdisjoint(node.ancestors()):
            return name, f"`{name}` is not kept, and comes back as a new array"
    return None


def _is_made_in(after: Instance, name: str, function: Function) -> bool:
    """Whether the function that puts an object together makes something up for a field."""
    value = after.attributes[name]
    frame = value.node.frame if isinstance(value, Data) else None
    return frame is not None and frame.function is function.syntax


def _kept_parameters(init: Function) -> Iterator[str]:
    """Parameters with a default that a constructor keeps under their own names."""
    names = {it.arg for it in init.syntax.args.args}
    for node in walked(init.syntax):
        if not isinstance(node, ast.Assign):
            continue
        for kept, value in _pairs(node.targets[0], node.value):
            name = value.id if isinstance(value, ast.Name) else ""
            if isinstance(kept, ast.Attribute) and kept.attr == name in names:
                yield kept.attr


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned to what, also in `a, b = c, d`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def static_arrays(facts: SourceFacts, value: Value) -> Iterator[tuple[Class, Function, str]]:
    """Objects in a tree whose class keeps arrays as static data: class, function, attribute."""
    items = value.items if isinstance(value, Sequence) else None
    for it in [value, *(items or ())]:
        if not isinstance(it, Instance):
            continue
        flatten, _ = tree_functions(it.cls)
        function = innermost_function(flatten)
        if flatten is None or function is None:
            continue
        facts.machine.start_root()
        apart = taken_apart(facts.machine, Site(it.cls.frame, it.cls.syntax), it.cls, it)
        if apart is None:
            continue
        static = {leaf.node for leaf in leaves(apart[1]) if is_certain_array(leaf)}
        for name, attribute in it.attributes.items():
            if isinstance(attribute, Data) and attribute.node in static:
                yield it.cls, function, name
