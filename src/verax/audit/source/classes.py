"""Classes of the project: what their bodies define, what they derive from, how they are made."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .frame import Frame, Site
from .graph import Node
from .remember import remembered
from .text import text_of
from .values import (
    Bound,
    Class,
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
    class_of,
    nodes_of,
)

if TYPE_CHECKING:
    from .machine import Interpreter

_DATACLASSES = frozenset(
    (
        "dataclasses.dataclass",
        "flax.struct.dataclass",
        "chex.dataclass",
        "jax_dataclasses.pytree_dataclass",
        "verax.dataclass",
        "verax.state.dataclass",
        "attr.s",
        "attrs.define",
        "attrs.frozen",
        "tjax.dataclasses.dataclass",
    )
)
# Classes derived from these have their annotated fields as parameters of the constructor.
_FIELD_BASES = frozenset(
    (
        "typing.NamedTuple",
        "equinox.Module",
        "flax.struct.PyTreeNode",
        "flax.linen.Module",
        "pydantic.BaseModel",
    )
)


def class_statement(machine: Interpreter, frame: Frame, syntax: ast.ClassDef) -> None:
    """Define a class: run its body and its decorators."""
    from .statements import decorated

    bases = [machine.evaluate(frame, base) for base in syntax.bases]
    cls = Class(syntax, frame, bases)
    machine.record.classes.append(cls)
    for base in bases:
        if isinstance(base, Class):
            base.derived.append(cls)
    name = f"{frame.name}.{syntax.name}" if frame.name else syntax.name
    inner = Frame(frame.module, name, syntax, frame, frame.region, frame.caller)
    for statement in syntax.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = text_of(statement.annotation)
            if "KW_ONLY" in annotation or "ClassVar" in annotation:
                continue  # One marks the fields after it, the other is the class's own.
            cls.fields[statement.target.id] = statement
    machine.execute(inner, syntax.body)
    cls.attributes = inner.environment
    # A function does not see the names of the class around it.
    for value in cls.attributes.values():
        function = innermost_function(value)
        if function is not None and function.frame is inner:
            function.frame = frame
            function.cls = cls
    cls.decorators = [machine.evaluate(frame, it) for it in syntax.decorator_list]
    frame.environment[syntax.name] = cls
    _init_subclass(machine, Site(frame, syntax), cls)
    decorated(machine, frame, syntax.decorator_list, cls)


def _init_subclass(machine: Interpreter, site: Site, cls: Class) -> None:
    """Let the classes that a new one derives from do with it what they do: register it, say."""
    lineage = iter(cls.lineage())
    next(lineage)
    for base in lineage:
        hook = base.attributes.get("__init_subclass__") if isinstance(base, Class) else None
        function = innermost_function(hook)
        if function is not None:
            given = {it.arg: machine.evaluate(site.frame, it.value) for it in cls.syntax.keywords}
            keywords = {name: it for name, it in given.items() if name not in (None, "metaclass")}
            machine.call(site, Bound(function, cls), [], keywords)
            return


def innermost_function(value: Value | None) -> Function | None:
    """The function of the project under transformations, partials, methods and callable objects."""
    for _ in range(16):
        if isinstance(value, Function):
            return value
        if isinstance(value, (Bound, Transformed)):
            value = value.function
        elif isinstance(value, Partial):
            # `partial(jax.lax.scan, step)` is another function than `step`.
            marker = value.function.name if isinstance(value.function, External) else ""
            is_marker = marker.startswith(("builtins.", "verax.")) and value.args
            value = value.args[0] if is_marker else value.function
        else:
            cls = None if value is None else class_of(value)
            if cls is None:
                return None
            value = cls.find("__call__")
    return None


def base_names(cls: Class) -> list[str]:
    """The full names of the classes outside of the project that a class derives from."""
    return [it.name for it in cls.lineage() if isinstance(it, External)]


def has_fields_as_parameters(cls: Class) -> bool:
    """Whether the constructor takes the annotated fields."""
    if any(name in _FIELD_BASES for name in base_names(cls)):
        return True
    for it in cls.lineage():
        if isinstance(it, Class) and any(_decorator_name(d) in _DATACLASSES for d in it.decorators):
            return True
    return False


# Classes from outside that leave alone what a class says in its body.
_PLAIN_BASES = frozenset(("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"))


def is_plain(cls: Class) -> bool:
    """Whether nothing makes fields of annotated names: `rate: float = 0.2` is the class's own."""
    for it in cls.lineage():
        if isinstance(it, External) and it.name not in _PLAIN_BASES:
            return False
        if isinstance(it, Class):
            are_known = all(isinstance(base, (Class, External)) for base in it.bases)
            names = [_decorator_name(decorator) for decorator in it.decorators]
            if not are_known or any(not name.startswith("jax.tree_util.") for name in names):
                return False
    return True


def _decorator_name(value: Value) -> str:
    if isinstance(value, Partial):
        value = value.function
    if isinstance(value, Data):
        return value.type or ""  # What a function from outside has given for its options.
    return value.name if isinstance(value, External) else ""


def decorator_names(cls: Class) -> list[str]:
    """The full names of the decorators from outside of the project."""
    return [name for name in map(_decorator_name, cls.decorators) if name]


# JAX takes the fields of such classes apart, except for those that are declared as static.
_LEAF_DECORATORS = _DATACLASSES - {
    "dataclasses.dataclass",
    "attr.s",
    "attrs.define",
    "attrs.frozen",
}
_LEAF_BASES = frozenset(("equinox.Module", "flax.struct.PyTreeNode", "typing.NamedTuple"))


def fields_are_leaves(cls: Class) -> bool:
    """Whether an object's fields are known to be leaves of a tree for JAX."""
    if not _LEAF_BASES.isdisjoint(base_names(cls)):
        return True
    if cls.leaf_names is not None or "jax.tree_util.register_dataclass" in decorator_names(cls):
        return True
    own = [it for it in cls.lineage() if isinstance(it, Class)]
    return any(not _LEAF_DECORATORS.isdisjoint(decorator_names(it)) for it in own)


def is_static_field(cls: Class, name: str) -> bool:
    """Whether a field is marked as no part of the tree, or its class leaves it out of that."""
    if cls.leaf_names is not None and name not in cls.leaf_names:
        return True
    for it in cls.lineage():
        syntax = it.fields.get(name) if isinstance(it, Class) else None
        if syntax is not None:
            return is_marked_static(syntax.value) or _is_static_type(syntax.annotation)
    return False


def _is_static_type(annotation: ast.expr) -> bool:
    """Whether a field's type says that it is static, as in jax_dataclasses: `Static[int]`."""
    kind = annotation.value if isinstance(annotation, ast.Subscript) else None
    return isinstance(kind, (ast.Name, ast.Attribute)) and text_of(kind).endswith("Static")


def is_marked_static(value: ast.expr | None) -> bool:
    """Whether a default is `field(static=True)`, `field(pytree_node=False)` or the like."""
    if not isinstance(value, ast.Call):
        return False
    if text_of(value.func).endswith(("static_field", "static")):
        return True
    for keyword in value.keywords:
        text = text_of(keyword.value)
        if keyword.arg == "static" and text == "True":
            return True
        if keyword.arg == "pytree_node" and text == "False":
            return True
        if keyword.arg == "metadata" and "static" in text and "True" in text:
            return True
    return False


def is_named_tuple(cls: Class) -> bool:
    """Whether its instances are tuples."""
    return "typing.NamedTuple" in base_names(cls)


def is_typed_dict(cls: Class) -> bool:
    """Whether a class only says which keys a dict has."""
    return any(name.endswith(".TypedDict") for name in base_names(cls))


def field_of(cls: Class, name: str) -> ast.AnnAssign | None:
    """A field of a class, or of one that it derives from and that no method has replaced."""
    for it in cls.lineage():
        if isinstance(it, Class):
            if name in it.fields:
                return it.fields[name]
            if name in it.attributes:
                return None
    return None


def is_list_of_constants(cls: Class) -> bool:
    """Whether all that a class says is what some names stand for: there are no objects of it."""
    body = [it for it in cls.syntax.body if not isinstance(it, (ast.Expr, ast.Pass))]
    are_given = all(
        isinstance(it, ast.Assign) or (isinstance(it, ast.AnnAssign) and it.value is not None)
        for it in body
    )
    return bool(body) and are_given and not cls.bases and not all_fields(cls)


def is_abstract(cls: Class) -> bool:
    """Whether a class leaves methods to those that derive from it: there are no objects of it."""
    seen: set[str] = set()
    for it in cls.lineage():
        for statement in it.syntax.body if isinstance(it, Class) else ():
            if isinstance(statement, ast.FunctionDef) and statement.name not in seen:
                seen.add(statement.name)
                if _is_left_open(statement):
                    return True
    return False


def is_template(cls: Class) -> bool:
    """Whether a class says that it is there for others to derive from."""
    return any(text_of(it) in ("ABC", "abc.ABC") for it in cls.syntax.bases)


def _is_left_open(method: ast.FunctionDef) -> bool:
    if any("abstract" in text_of(it) for it in method.decorator_list):
        return True
    last = method.body[-1]
    is_bare = len(method.body) <= 2 and isinstance(last, ast.Raise) and last.exc is not None
    return is_bare and "NotImplemented" in text_of(last)


def all_fields(cls: Class) -> dict[str, ast.AnnAssign]:
    """The fields of a class and of those that it derives from, in the constructor's order."""
    found: dict[str, ast.AnnAssign] = {}
    for it in reversed(list(cls.lineage())):
        if isinstance(it, Class):
            found.update(it.fields)
    return found


def has_derived(cls: Class) -> bool:
    """Whether an object that is said to be of a class may be of one that derives from it.

    Of a module that is imported, only those classes are read that somebody asks for.
    """
    return bool(cls.derived) or cls.name in _named_bases(cls.frame.module.syntax)


@remembered
def _named_bases(module: ast.Module) -> set[str]:
    """The names that classes of a module derive from."""
    classes = [it for it in module.body if isinstance(it, ast.ClassDef)]
    return {base.id for it in classes for base in it.bases if isinstance(base, ast.Name)}


def is_certain(cls: Class) -> bool:
    """Whether an object that is said to be of a class is of that one, and has its methods."""
    return not (has_derived(cls) or is_typed_dict(cls) or is_abstract(cls))


def is_enum(cls: Class) -> bool:
    """Whether the values of a class are those that it lists."""
    return any(name.startswith("enum.") for name in base_names(cls))


def construct(
    machine: Interpreter, site: Site, cls: Class, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A new object of a class."""
    if is_enum(cls):
        for value in args[:1]:
            machine.convert(site, "key", value)  # It is looked up among those that are listed.
        return machine.opaque("enum", site, (), traced=False)
    if is_typed_dict(cls):
        return Mapping(dict(keywords), bool(args), site.frame, machine.control, site.syntax)
    if has_fields_as_parameters(cls) and cls.find("__init__") is None:
        return _from_fields(machine, site, cls, args, keywords)
    inputs = tuple(node for value in (*args, *keywords.values()) for node in nodes_of(value))
    instance = Instance(cls, Node("object", inputs, site.syntax, site.frame), site.frame)
    init = cls.find("__init__")
    if init is not None:
        machine.call(site, Bound(init, instance), args, keywords)
    return instance


def _from_fields(
    machine: Interpreter, site: Site, cls: Class, args: list[Value], keywords: dict[str, Value]
) -> Value:
    names = list(all_fields(cls))
    given = dict(zip(names, args, strict=False)) | keywords
    values: dict[str, Value] = {}
    for name in names:
        default = None if name in given or site.is_open else _default(machine, site, cls, name)
        if name in given:
            values[name] = given[name]
        else:
            values[name] = default or machine.opaque("default", site, ())
    if is_named_tuple(cls):
        items = list(values.values())
        return Sequence("tuple", items, None, site.frame, type=cls, syntax=site.syntax)
    inputs = tuple(node for value in values.values() for node in nodes_of(value))
    instance = Instance(cls, Node("object", inputs, site.syntax, site.frame), site.frame)
    instance.attributes = values
    for name in ("__post_init__", "__check_init__"):
        method = cls.find(name)
        if method is not None:
            machine.call(site, Bound(method, instance), [], {})
    return instance


# Defaults that are known for what they are.
_DEFAULTS = (Constant, Sequence, Function, External, Partial, Transformed, Class, Instance)


def _default(machine: Interpreter, site: Site, cls: Class, name: str) -> Value | None:
    """What a field holds that the constructor is not given, if that is known."""
    for it in cls.lineage():
        if not isinstance(it, Class) or (name not in it.attributes and name not in it.fields):
            continue
        value = it.attributes.get(name)
        if name not in it.fields:  # A method or a property stands in for the field.
            return value if isinstance(value, (Constant, Sequence)) else None
        if isinstance(value, _DEFAULTS):
            return value
        written = it.fields[name].value
        for keyword in written.keywords if isinstance(written, ast.Call) else ():
            if keyword.arg in ("default_factory", "factory"):
                return machine.call(site, machine.evaluate(it.frame, keyword.value), [], {})
        return None
    return None


def opaque_instance(cls: Class, node: Node, traced: bool | None) -> Value:
    """An object of a class of which nothing else is known: a tuple for a named tuple."""
    if is_named_tuple(cls):
        items: list[Value] = []
        for name, syntax in all_fields(cls).items():
            child = node.child("field", name, syntax, cls.frame)
            items.append(Data(child, traced))
        return Sequence("tuple", items, type=cls)
    return Instance(cls, node, None, traced)


def leave_open(owner: Instance) -> None:
    """What is empty in an object may be filled by what nobody has followed."""
    for name, held in list(owner.attributes.items()):
        if isinstance(held, Sequence) and held.kind == "list" and held.items == []:
            held.items = held.length = None
        elif isinstance(held, Constant) and held.value is None:
            del owner.attributes[name]
