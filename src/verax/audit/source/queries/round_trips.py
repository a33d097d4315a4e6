"""What becomes of an object that is taken apart and put together by its own class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .. import parts
from ..classes import all_fields, innermost_function, opaque_instance
from ..facts import SourceFacts
from ..frame import Site
from ..graph import Node
from ..remember import walked
from ..values import Class, Constant, Data, Function, Instance, Sequence, Value, nodes_of


class Trip(NamedTuple):
    """A registered class, the function that puts it together, and what goes wrong.

    Where nothing does, `kept` are the fields that certainly come back as they were: all of them, or
    none.
    """

    cls: Class
    unflatten: Function
    problem: str = ""
    kept: tuple[str, ...] = ()


_WITH_METHODS = frozenset(
    (
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_pytree_with_keys_class",
    )
)


def trips(facts: SourceFacts) -> Iterator[Trip]:
    """What becomes of the registered classes of a file."""
    for cls in facts.record.classes:
        if cls.frame.module is not facts.module or cls.registration is None:
            continue
        flatten, unflatten = _functions(cls)
        function = innermost_function(unflatten)
        if flatten is None or unflatten is None or function is None:
            continue
        problem, kept = _outcome(facts, cls, flatten, unflatten, function)
        yield Trip(cls, function, problem, kept)


def _functions(cls: Class) -> tuple[Value | None, Value | None]:
    data = cls.registration.data
    if data["name"] in _WITH_METHODS:
        found = cls.find("tree_unflatten")
        bound = None if found is None else parts.unwrapped_method(found, cls, is_class=True)
        return cls.find("tree_flatten"), bound
    if data["name"] == "jax.tree_util.register_pytree_node":
        given = [*data["args"], None, None, None]
        named = data["keywords"]
        return given[1] or named.get("flatten_func"), given[2] or named.get("unflatten_func")
    return None, None


def _outcome(
    facts: SourceFacts, cls: Class, flatten: Value, unflatten: Value, function: Function
) -> tuple[str, tuple[str, ...]]:
    """What goes wrong, or which fields are kept."""
    machine = facts.machine
    site = Site(cls.frame, cls.syntax)
    machine.start_root()
    before = opaque_instance(cls, Node("object", (), cls.syntax, cls.frame, label=cls.name), None)
    apart = machine.call(site, flatten, [before], {})
    if not isinstance(before, Instance) or not isinstance(apart, Sequence):
        return "", ()
    if apart.items is None or len(apart.items) != 2 or not isinstance(apart.items[0], Sequence):
        return "", ()
    children, auxiliary = apart.items
    fields = {name: nodes_of(value) for name, value in before.attributes.items()}
    after = machine.call(site, unflatten, [auxiliary, children], {})
    count = len(children.items) if isinstance(children, Sequence) and children.items else 0
    wrong = _unpacked_count(function, count)
    if wrong:
        return f"{count} children are flattened, and {wrong} are unpacked", ()
    if not isinstance(after, Instance) or after.cls is not cls:
        return "", ()
    problem = _swapped(fields, after) or _forgotten(facts, cls, fields, after)
    return problem, () if problem else _kept(cls, fields, after)


def _kept(cls: Class, fields: dict[str, list[Node]], after: Instance) -> tuple[str, ...]:
    """All fields of a class, if each of them holds exactly what it held."""
    names = tuple(dict.fromkeys((*all_fields(cls), *_stored(cls))))
    same = all(
        fields.get(name)
        and (value := after.attributes.get(name)) is not None
        and nodes_of(value) == fields[name]
        for name in names
    )
    return names if same else ()


def _stored(cls: Class) -> Iterator[str]:
    """Attributes that methods of a class store in some object, whatever it is called."""
    for node in walked(cls.syntax):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


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


def _swapped(fields: dict[str, list[Node]], after: Instance) -> str:
    """A field that holds what another one held."""
    for name, own in fields.items():
        value = after.attributes.get(name)
        if not isinstance(value, Data) or not own:
            continue
        sources = set(value.node.ancestors())
        if not sources.isdisjoint(own):
            continue
        for other, nodes in fields.items():
            if other != name and not sources.isdisjoint(nodes):
                return f"`{name}` comes back as what `{other}` was"
    return ""


def _forgotten(
    facts: SourceFacts, cls: Class, fields: dict[str, list[Node]], after: Instance
) -> str:
    """A field that the constructor takes, and that is back at its default."""
    init = innermost_function(cls.find("__init__"))
    for name in all_fields(cls) if init is None else _kept_parameters(init):
        value = after.attributes.get(name)
        if name not in fields and isinstance(value, Constant):
            return f"`{name}` is not kept, and comes back as {value.value!r}"
    return ""


def _kept_parameters(init: Function) -> Iterator[str]:
    """Parameters with a default that a constructor keeps under their own names."""
    names = {it.arg for it in init.syntax.args.args}
    for node in walked(init.syntax):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == node.value.id in names:
                    yield target.attr
