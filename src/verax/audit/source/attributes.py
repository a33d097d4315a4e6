"""Attributes of values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .axes import annotated_shape
from .classes import all_fields, base_names, field_of, is_enum, is_plain, is_static_field
from .events import Fact
from .field_types import held_object
from .graph import Node
from .imports import attribute_of_module
from .library.names import offered
from .numbering import number_of
from .remember import walked
from .shapes.dims import product
from .shaping import array_view
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
    class_of,
)

if TYPE_CHECKING:
    from .frame import Site
    from .machine import Interpreter

# Known while tracing, whatever the array's values are.
STATIC_ATTRIBUTES = frozenset(
    "shape ndim dtype size itemsize nbytes weak_type aval sharding device committed".split()
)
_PROPERTIES = frozenset(("builtins.property", "builtins.cached_property"))
_VIEWS = frozenset(("T", "mT", "real", "imag"))


def attribute(machine: Interpreter, site: Site, base: Value) -> Value:
    """The attribute that the syntax at a site takes from a value."""
    syntax = site.syntax
    assert isinstance(syntax, ast.Attribute)
    return named_attribute(machine, site, base, syntax.attr)


def named_attribute(machine: Interpreter, site: Site, base: Value, name: str) -> Value:
    """An attribute of a value, by its name."""
    if isinstance(base, External):
        return offered(f"{base.name}.{name}")
    if isinstance(base, Data):
        return _of_data(machine, site, base, name)
    if isinstance(base, Instance):
        return _of_instance(machine, site, base, name)
    if isinstance(base, Imported):
        return attribute_of_module(machine, base.module, name)
    if isinstance(base, Class):
        found = base.find(name)
        if isinstance(found, Sequence) and is_enum(base):
            # What a member is made from, as its constructor says.
            return machine.opaque("enum", site, (), traced=False)
        if found is not None:
            return unwrapped_method(found, base, is_class=True)
        if name == "__new__":
            return External("builtins.object.__new__")
    elif isinstance(base, Sequence) and base.type is not None:
        found = _of_named_tuple(machine, site, base, name)
        if found is not None:
            return found
        note_missing(machine, site, base, name)
    elif isinstance(base, (Sequence, Mapping)) and not hasattr(dict, name):
        note_missing(machine, site, base, name)
    elif isinstance(base, (Transformed, Function)) and name in ("__wrapped__", "func"):
        return base.function if isinstance(base, Transformed) else base
    elif isinstance(base, Partial):
        if name == "func":
            return base.function
        if is_property(base):
            return Partial(External(f"builtins.property.{name}"), [base], {})
    elif isinstance(base, Bound) and is_called(base, "ndarray.at[]"):
        return Bound(External(f"ndarray.at[].{name}"), base.owner)
    return Bound(External(f"{_kind(base)}.{name}"), base)


def is_called(value: Bound, name: str) -> bool:
    """Whether a method is the one outside of the project with this name."""
    return isinstance(value.function, External) and value.function.name == name


def _kind(value: Value) -> str:
    if isinstance(value, Sequence):
        return value.kind
    return {"Mapping": "dict", "Constant": "constant"}.get(type(value).__name__, "object")


def _of_data(machine: Interpreter, site: Site, base: Data, name: str) -> Value:
    while (replaced := machine.replaced.get(base.node)) is not None:
        base, changes = replaced
        found = changes.get(name)
        if found is not None:
            return found
    node = base.node
    if name in STATIC_ATTRIBUTES and (base.traced is not None or base.is_array or not base.type):
        return _static(site, base, name)
    if name in _VIEWS and (base.is_array or base.traced):
        return array_view(machine, site, name, base)
    if name == "at":
        return Bound(External("ndarray.at"), base)
    node = _unchanged_by(machine, node, name) or node
    child = node.child("field", name, site.syntax, site.frame)
    if node.operation.endswith((".finfo", ".iinfo")):
        child.shape = ()
    # A field of a tree may be static, as far as can be seen here.
    type_name = f"{base.type}.{name}" if base.type else ""
    traced = False if base.traced is False else None
    return Data(child, traced, type=type_name)


def _unchanged_by(machine: Interpreter, node: Node, field: str) -> Node | None:
    """The record whose field something still has, whichever of several ways was taken to it."""
    while (replaced := machine.replaced.get(node)) is not None:
        if field in replaced[1]:
            return None
        node = replaced[0].node
    if node.operation != "join":
        return node
    origins = {_unchanged_by(machine, it, field) for it in node.inputs}
    return origins.pop() if len(origins) == 1 else None


def _static(site: Site, base: Data, name: str) -> Value:
    node = base.node
    if node.is_key:
        # One of the old kind has an axis more.
        return Data(node.child("static", name, site.syntax, site.frame), False)
    if name == "shape" and isinstance(node.shape, tuple) and None not in node.shape:
        return Sequence("tuple", [Constant(size) for size in node.shape])
    if name == "ndim" and isinstance(node.shape, tuple):
        return Constant(len(node.shape))
    if name == "size" and isinstance(node.shape, tuple):
        count = product(node.shape)
        if count is not None:
            return Constant(count)
    if name == "dtype" and node.dtype is not None:
        return External(f"dtype.{node.dtype}")
    found = node.child("static", name, site.syntax, site.frame)
    if base.is_array and name in ("size", "ndim"):
        found.shape = ()
    return Data(found, False, type=name if name == "shape" else "")


def _of_instance(machine: Interpreter, site: Site, base: Instance, name: str) -> Value:
    found = base.attributes.get(name)
    if found is not None:
        return found
    inherited, field = base.cls.find(name), field_of(base.cls, name)
    is_default = field is not None and base.made_in is not None and is_plain(base.cls)
    if inherited is not None and (field is None or is_default):
        return _read(machine, site, unwrapped_method(inherited, base))
    is_method = name in ("replace", "_replace") and field is None
    if name in STATIC_ATTRIBUTES:
        return Data(base.node.child("static", name, site.syntax, site.frame), False)
    if name == "__dict__":
        return all_attributes(machine, site, base)
    if name.startswith("__") or is_method or _is_train_step(base.cls, name):
        return Bound(External(f"object.{name}"), base)
    if name in ("apply", "param") and "flax.linen.Module" in base_names(base.cls):
        return Bound(External(f"flax.linen.Module.{name}"), base)
    if field is None:
        note_missing(machine, site, base, name)
    owner = _unchanged_by(machine, base.node, name) or base.node
    child = owner.child("field", name, site.syntax, site.frame)
    is_open = not _is_leaf(base.cls, name) or (base.traced and _may_be_none(field))
    traced = None if is_open else base.traced
    held = held_object(machine, base, name, child, traced)
    if held is not None:
        base.attributes[name] = held
        return held
    value = Data(child, traced)
    told = (
        annotated_shape(field.annotation, number_of(base.cls), number_of(base.node))
        if field
        else None
    )
    if told is not None:
        child.shape, child.dtype = told
        child.has_told_shape = True
        value.is_array = True
    base.attributes[name] = value
    return value


def all_attributes(machine: Interpreter, site: Site, base: Instance) -> Mapping:
    """`vars(base)`: what its constructor sets, in that order, and what it is known to hold."""
    names = dict.fromkeys((*all_fields(base.cls), *set_by_constructor(base.cls)))
    items = {it: _of_instance(machine, site, base, it) for it in (*names, *base.attributes)}
    return Mapping(items, not names, site.frame, machine.control)


def set_by_constructor(cls: Class) -> list[str]:
    """The attributes that a constructor of the class itself stores, in order."""
    made = cls.find("__init__")
    syntax = made.syntax if isinstance(made, Function) else None
    owner = syntax.args.args[0].arg if syntax is not None and syntax.args.args else ""
    return [
        it.attr
        for it in (walked(syntax) if syntax is not None else ())
        if isinstance(it, ast.Attribute)
        and isinstance(it.ctx, ast.Store)
        and isinstance(it.value, ast.Name)
        and it.value.id == owner
    ]


def _is_train_step(cls: Class, name: str) -> bool:
    """Whether a name is the method of flax's state of training that makes the next one."""
    return name == "apply_gradients" and any(it.endswith("TrainState") for it in base_names(cls))


def _read(machine: Interpreter, site: Site, found: Value) -> Value:
    """The value of a property, or what was found itself."""
    if isinstance(found, Bound) and is_called(found, "builtins.property"):
        return machine.call(site, found.owner, [], {})
    if isinstance(found, Bound) and is_called(found, "builtins.cached_property"):
        result = machine.call(site, found.owner, [], {})
        if site.frame.is_staged:
            data = {"function": found.owner, "args": [], "result": result}
            machine.note(Fact(site.syntax, site.frame, "cached", data))
        return result
    if isinstance(found, Instance) and found.cls.find("__get__") is not None:
        return machine.opaque("descriptor", site, (found,))
    return found


def _is_leaf(cls: Class, name: str) -> bool:
    if cls.leaf_names is not None:
        return name in cls.leaf_names
    field = all_fields(cls).get(name)
    if field is None or isinstance(field.value, ast.Call):
        return False
    return not is_static_field(cls, name)


def is_property(value: Value | None) -> bool:
    """Whether an attribute of a class is computed when an object is asked for it."""
    marker = value.function if isinstance(value, Partial) else None
    return isinstance(marker, External) and marker.name in _PROPERTIES


def unwrapped_method(found: Value, owner: Value, is_class: bool = False) -> Value:
    """A method as its owner gives it: bound, static, of the class, or a property's value."""
    if isinstance(found, Partial) and isinstance(found.function, External):
        marker = found.function.name
        if marker == "builtins.staticmethod":
            return found.args[0]
        if marker == "builtins.classmethod":
            return Bound(found.args[0], class_of(owner) or owner)
        if marker in _PROPERTIES and not is_class:
            return Bound(External(marker), Bound(found.args[0], owner))
    if isinstance(found, (Function, Transformed, Partial)) and not is_class:
        return Bound(found, owner)
    return found


def _may_be_none(field: ast.AnnAssign | None) -> bool:
    """Whether a field is declared to be nothing at times, which no tracer stands for."""
    for it in (*walked(field.annotation), field.value) if field is not None else ():
        name = getattr(it, "attr", None) or getattr(it, "id", "")
        if name == "Optional" or (isinstance(it, ast.Constant) and it.value is None):
            return True
    return False


def _of_named_tuple(machine: Interpreter, site: Site, base: Sequence, name: str) -> Value | None:
    assert base.type is not None
    names = list(all_fields(base.type))
    if name in names and base.items is not None and names.index(name) < len(base.items):
        return base.items[names.index(name)]
    found = base.type.find(name)
    return None if found is None else _read(machine, site, unwrapped_method(found, base))


def note_missing(machine: Interpreter, site: Site, base: Value, name: str) -> None:
    """Note that something is asked for a part that it seems not to have."""
    machine.note(Fact(site.syntax, site.frame, "missing", {"value": base, "name": name}))
