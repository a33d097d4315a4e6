"""Which classes have objects that cannot be changed, and until when they can."""

from __future__ import annotations

import ast

from ...classes import all_fields, base_names, innermost_function
from ...events import Mutation
from ...remember import each, remembered, walked
from ...values import Class, Constant, External, Instance, Partial, Sequence, Value
from ..syntax import body_of, holds, statements_in

_FROZEN_BASES = {
    "flax.linen.Module": "its `clone` method, or keep the value in a variable of the module",
    "equinox.Module": "`eqx.tree_at`",
    "flax.struct.PyTreeNode": "its `replace` method",
    "typing.NamedTuple": "its `_replace` method",
}
_FROZEN_DECORATORS = {
    "flax.struct.dataclass": "its `replace` method",
    "jax_dataclasses.pytree_dataclass": "`dataclasses.replace`",
    "verax.dataclass": "`dataclasses.replace`",
    "verax.state.dataclass": "`dataclasses.replace`",
    "attrs.frozen": "`attrs.evolve`",
}
# Frozen if they are told so.
_BY_OPTION = {
    "dataclasses.dataclass": "`dataclasses.replace`",
    "chex.dataclass": "its `replace` method",
}
# While these run, an object is not finished.
_MAKING = frozenset(
    "__init__ __post_init__ __new__ __setattr__ __setstate__ __init_subclass__ setup "
    "tree_unflatten __check_init__".split()
)


def frozen_class(value: Value, attribute: str) -> tuple[Class | None, str]:
    """The class of an object that takes no new attribute, and how to make another one instead."""
    cls = value.cls if isinstance(value, Instance) else None
    if isinstance(value, Sequence) and value.type is not None:
        cls = value.type
    if cls is None or cls.find("__setattr__") is not None:
        return None, ""
    for name in base_names(cls):
        if name == "typing.NamedTuple" and _has_room(cls, attribute):
            continue
        if name in _FROZEN_BASES:
            return cls, _FROZEN_BASES[name]
    for it in cls.lineage():
        for decorator in it.decorators if isinstance(it, Class) else ():
            found = _replacing(decorator)
            if found:
                return cls, found
    return None, ""


def _has_room(cls: Class, attribute: str) -> bool:
    """Whether a class that derives from a named tuple has a dict for more than its fields."""
    is_made_so = any(isinstance(it, External) for it in cls.bases)
    return not is_made_so and "__slots__" not in cls.attributes and attribute not in all_fields(cls)


def _replacing(decorator: Value) -> str:
    """How to replace objects of a class that a decorator freezes; empty if it does not."""
    options: dict[str, Value] = {}
    value = decorator
    while isinstance(value, Partial):
        options = {**value.keywords, **options}
        value = value.function
    name = value.name if isinstance(value, External) else ""
    told = options.get("frozen")
    is_frozen = isinstance(told, Constant) and told.value is True
    is_open = told is not None and not is_frozen
    if name in _FROZEN_DECORATORS:
        return "" if is_open else _FROZEN_DECORATORS[name]
    return _BY_OPTION.get(name, "") if is_frozen else ""


def is_still_made(change: Mutation, cls: Class) -> bool:
    """Whether an attribute is set while the object is made, or by a setter of its own."""
    attribute = getattr(change.syntax, "attr", "")
    if attribute.startswith("__") or (attribute in cls.attributes and attribute not in cls.fields):
        return True
    if "flax.linen.Module" in base_names(cls) and not (_is_own(change) and _is_bound(change)):
        return True  # one that is bound to no variables yet can be changed
    names = {getattr(frame.function, "name", "") for frame in change.frame.callers()}
    if not _MAKING.isdisjoint(names):
        return True
    return any(name in _called_while_made(cls) for name in names)


def _is_own(change: Mutation) -> bool:
    """Whether a method sets an attribute of the object that it was called on."""
    owner = change.syntax.value if isinstance(change.syntax, ast.Attribute) else None
    function = change.frame.function
    if not isinstance(owner, ast.Name) or not isinstance(function, ast.FunctionDef):
        return False
    return [owner.id] == [it.arg for it in function.args.args[:1]]


_OF_BOUND = frozenset("param variable make_rng sow perturb put_variable get_variable".split())


def _is_bound(change: Mutation) -> bool:
    """Whether a module of flax has its variables by now: it is applied, or asks for one of them."""
    functions = (it.function for it in change.frame.callers())
    return any(_is_applied(it) for it in functions if isinstance(it, ast.FunctionDef))


@remembered
def _is_applied(function: ast.FunctionDef) -> bool:
    marks = {getattr(it, "attr", getattr(it, "id", "")) for it in function.decorator_list}
    asked = {it.attr for it in each(function, ast.Attribute)}
    return function.name == "__call__" or "compact" in marks or not asked.isdisjoint(_OF_BOUND)


def is_unlocked(change: Mutation) -> bool:
    """Whether a `with` statement around a change does something to the object beforehand."""
    target = change.syntax.value if isinstance(change.syntax, ast.Attribute) else None
    owner = ast.dump(target) if target is not None else ""
    return any(
        isinstance(it, (ast.With, ast.AsyncWith))
        and isinstance(change.syntax, ast.expr)
        and holds(it, change.syntax)
        and any(ast.dump(node) == owner for part in it.items for node in walked(part))
        for it in statements_in(body_of(change.frame))
    )


def _called_while_made(cls: Class) -> set[str]:
    """The methods that a constructor calls to fill in the object."""
    found: set[str] = set()
    for name in _MAKING:
        function = innermost_function(cls.find(name))
        for node in walked(function.syntax) if function is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                found.add(node.func.attr)
    return found
