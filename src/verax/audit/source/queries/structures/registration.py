"""Whether JAX can look into objects of a class, and which of their fields it takes for static."""

from __future__ import annotations

import ast

from ....syntax import expression_in
from ...classes import (
    all_fields,
    base_names,
    decorator_names,
    fields_are_leaves,
    has_derived,
    is_abstract,
    is_static_field,
)
from ...facts import SourceFacts
from ...project import Module
from ...remember import each, remembered, walked
from ...text import text_of
from ...values import Class, Data, External, Instance, Mapping, Sequence, Value, leaves

_TREES = frozenset(
    ("equinox.Module", "flax.struct.PyTreeNode", "typing.NamedTuple", "flax.nnx.Module")
)
# Of dicts and lists, JAX knows the classes themselves, and none that derives from them.
_PLAIN_BASES = frozenset(
    (
        "builtins.object",
        "builtins.dict",
        "builtins.list",
        "collections.UserDict",
        "pydantic.BaseModel",
        "types.SimpleNamespace",
        "typing.Generic",
        "abc.ABC",
    )
)
_PLAIN_DECORATORS = frozenset(
    (
        "attr.attrs",
        "attr.define",
        "attr.frozen",
        "attr.s",
        "attrs.define",
        "attrs.frozen",
        "attrs.mutable",
        "dataclasses.dataclass",
        "functools.total_ordering",
        "typing.final",
        "typing.runtime_checkable",
    )
)


# Where a class may register those that derive from it, when one is made or used first.
_HOOKS = frozenset(("__init_subclass__", "__new__"))


def is_tree(cls: Class) -> bool | None:
    """Whether a class is registered; `None` if that is not known."""
    if cls.registration is not None:
        return True
    names = base_names(cls)
    if not _TREES.isdisjoint(names):
        return True
    own = [it for it in cls.lineage() if isinstance(it, Class)]
    if any(not isinstance(base, (Class, External)) for it in own for base in it.bases):
        return None
    if any(name not in _PLAIN_BASES for name in names):
        return None
    if any(it.syntax.keywords or not _HOOKS.isdisjoint(it.attributes) for it in own):
        return None
    if len(decorator_names(cls)) != len(cls.decorators):
        return None
    if any(name not in _PLAIN_DECORATORS for name in decorator_names(cls)):
        return None
    if cls.find("__jax_array__") is not None or cls.find("__array__") is not None:
        return None
    return None if _registers_unseen(cls.frame.module) else False


def may_be_derived(value: Instance) -> bool:
    """Whether an object may be of a class that derives from its own, and is registered."""
    is_given = value.node.operation == "parameter"
    return is_given or has_derived(value.cls) or is_abstract(value.cls)


def _registers_unseen(module: Module) -> bool:
    """Whether a module registers classes in a way that is not followed: in a loop, say."""
    if "register" not in module.text:
        return False
    unknown = _unknown_registrations(module.syntax)
    known = module.frame.environment.values() if unknown and module.frame is not None else ()
    # A decorator of the project's own was followed for the classes that it stands above.
    followed = [it.registration for it in known if isinstance(it, Class)]
    return any(all(it is None or it.syntax is not call for it in followed) for call in unknown)


def _mentions_registering(function: ast.expr) -> bool:
    return any("register" in getattr(it, "attr", getattr(it, "id", "")) for it in walked(function))


@remembered
def _unknown_registrations(module: ast.Module) -> list[ast.Call]:
    """The calls that register something else than a class by its own name."""
    found: list[ast.Call] = []
    for node in each(module, ast.Call):
        if _mentions_registering(node.func):
            first = node.args[0] if node.args else None
            if not (isinstance(first, ast.Name) and first.id[:1].isupper()):
                found.append(node)
    return found


def opaque_objects(value: Value, path: str = "", depth: int = 0) -> list[tuple[str, Instance]]:
    """The objects in a tree that JAX certainly cannot look into, and where they are."""
    found: list[tuple[str, Instance]] = []
    if isinstance(value, Instance):
        if is_tree(value.cls) is False:
            found.append((path, value))
        for name in _tree_fields(value.cls) if depth < 8 else ():
            if name in value.attributes:
                found += opaque_objects(value.attributes[name], f"{path}.{name}", depth + 1)
    elif isinstance(value, Sequence) and value.kind in ("tuple", "list") and depth < 8:
        for number, item in enumerate(value.items or ()):
            found += opaque_objects(item, f"{path}[{number}]", depth + 1)
        if value.items is None and value.element is not None:
            found += opaque_objects(value.element, f"{path}[...]", depth + 1)
    elif isinstance(value, Mapping) and depth < 8:
        for key, item in value.items.items():
            found += opaque_objects(item, f"{path}[{key!r}]", depth + 1)
    return found


def _tree_fields(cls: Class) -> list[str]:
    """The fields of a registered class that JAX looks into."""
    if not fields_are_leaves(cls):
        return []
    known = cls.leaf_names
    fields = [it for it in all_fields(cls) if known is None or it in known]
    return [it for it in fields if not is_static_field(cls, it)]


def holds_arrays(facts: SourceFacts, value: Instance) -> list[str]:
    """The fields of an object that are arrays, by what is in them or by their annotations."""
    found = [
        name
        for name, item in value.attributes.items()
        if not name.startswith("__") and any(map(is_certain_array, leaves(item)))
    ]
    for name, syntax in all_fields(value.cls).items():
        if name not in found and is_array_annotation(syntax.annotation):
            found.append(name)
    return found


def is_certain_array(leaf: Data) -> bool:
    """Whether something is certainly an array, and not a number of Python's."""
    made_by = leaf.node.whole().operation
    is_made = made_by.startswith(("jax.numpy.", "jax.random.", "numpy."))
    return leaf.is_array and (is_made or bool(leaf.traced) or bool(leaf.node.shape))


_ARRAYS = frozenset("Array ndarray ArrayLike Float Int PRNGKeyArray".split())
_KINDS = frozenset(("Float", "Int"))
_CONTAINERS = frozenset("list tuple dict List Tuple Dict Sequence Mapping Optional Union".split())


def is_array_annotation(syntax: ast.expr | None) -> bool:
    """Whether an annotation says that something is an array of JAX or NumPy, or holds such."""
    if isinstance(syntax, ast.Constant) and isinstance(syntax.value, str):
        syntax = expression_in(syntax.value)
    if syntax is None:
        return False
    if isinstance(syntax, ast.BinOp):
        return is_array_annotation(syntax.left) or is_array_annotation(syntax.right)
    outer = syntax.value if isinstance(syntax, ast.Subscript) else syntax
    name = text_of(outer).rpartition(".")[2]
    if isinstance(syntax, ast.Subscript) and name in _CONTAINERS:
        inner = syntax.slice
        return any(
            map(is_array_annotation, inner.elts if isinstance(inner, ast.Tuple) else [inner])
        )
    # A kind of numbers is an array's only with its shape: `Float[Array, "n"]`.
    return name in _ARRAYS and (name not in _KINDS or isinstance(syntax, ast.Subscript))
