"""Questions about the type of a value, which tell tracers from everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classes import is_named_tuple
from ..values import Class, Constant, Data, External, Instance, Mapping, Sequence, Value, View
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_TRACERS = frozenset(("jax.core.Tracer", "jax.extend.core.Tracer", "jax._src.core.Tracer"))
_ARRAYS = frozenset(("jax.Array", "jax.typing.ArrayLike", "chex.Array", *_TRACERS))
# No leaf of what JAX traces is one of these.
_OTHERS = frozenset(
    (
        *(f"builtins.{name}" for name in ("int", "float", "bool", "complex", "str", "bytes")),
        *(f"numpy.{name}" for name in ("ndarray", "generic", "number", "integer", "floating")),
        "numbers.Number",
        "numbers.Real",
        "numbers.Integral",
    )
)
_CONTAINERS = frozenset(("builtins.list", "builtins.tuple", "builtins.dict", "builtins.set"))
OF_ARRAYS = frozenset("shape dtype ndim size astype at T reshape".split())


_PLAIN = {f"builtins.{it.__name__}": it for it in (bool, int, float, str)}


@handles("builtins.isinstance")
def _isinstance(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value = args[0] if len(args) == 2 else None
    if value is not None and _has_known_type(value):
        types = args[1].items if isinstance(args[1], Sequence) else [args[1]]
        answers = [_is_one(value, it) for it in types or ()]
        if True in answers:
            return Constant(True)
        if answers and None not in answers:
            return Constant(False)
    return machine.opaque(name, site, (), traced=False)


def _has_known_type(value: Value) -> bool:
    if isinstance(value, Constant):
        return type(value.value) in _PLAIN.values()
    if isinstance(value, Data):
        return bool(value.traced or value.is_array)
    return isinstance(value, (Sequence, Mapping, Instance))


def _is_one(value: Value, kind: Value) -> bool | None:
    """Whether a tracer, a container or a number is of a type; `None` if that is not known."""
    if isinstance(kind, Class):
        return _is_of_class(value, kind)
    if not isinstance(kind, External):
        return None
    if isinstance(value, Instance):
        is_other = kind.name in _ARRAYS or kind.name in _OTHERS
        return False if is_other and is_plain_object(value) else None
    if isinstance(value, Constant):
        plain = _PLAIN.get(kind.name)
        if plain is not None:
            return isinstance(value.value, plain)
        # Numbers are like arrays, too.
        is_other = kind.name in _CONTAINERS or kind.name in ("jax.Array", *_TRACERS)
        return False if is_other else None
    if isinstance(value, Data) and not value.traced:
        return False if kind.name in _CONTAINERS else None  # a number, or an array of any kind
    if kind.name in _OTHERS:
        return False
    if isinstance(value, Sequence) and kind.name in _CONTAINERS and not isinstance(value, View):
        return kind.name == f"builtins.{value.kind}"
    if isinstance(value, Mapping) and kind.name in _CONTAINERS and kind.name != "builtins.dict":
        return False
    if not isinstance(value, Data):
        return False if kind.name in _ARRAYS else None
    if kind.name in _TRACERS:
        return True  # Nobody asks that of a container.
    if not value.is_array:
        return None
    if kind.name in _ARRAYS:
        return True
    return False if kind.name in _CONTAINERS else None


def _is_of_class(value: Value, kind: Class) -> bool | None:
    """Whether something is an object of a class of the project."""
    cls = value.cls if isinstance(value, Instance) else getattr(value, "type", None)
    if isinstance(cls, Class) and kind in cls.lineage():
        return True
    is_plain = is_named_tuple(kind) or not any(isinstance(it, External) for it in kind.lineage())
    if not is_plain:
        return None  # A protocol, for instance, asks for something else.
    if isinstance(cls, Class):
        # An annotation may have said no more than what it derives from.
        return None if cls in kind.lineage() else False
    is_array = isinstance(value, Data) and value.traced and value.is_array
    return False if is_array or isinstance(value, (Sequence, Mapping, Constant)) else None


@handles("builtins.hasattr")
def _hasattr(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    value, wanted = (*args, None, None)[:2]
    is_array = isinstance(value, Data) and (value.traced or value.is_array)
    if isinstance(wanted, Constant) and wanted.value in OF_ARRAYS:
        if is_array:
            return Constant(True)
        if isinstance(value, Instance) and is_plain_object(value):
            return Constant(_has(value, wanted.value))
    return machine.opaque(name, site, (), traced=False)


# They say nothing of what an object can do.
_SILENT_BASES = frozenset(("builtins.object", "abc.ABC", "typing.Generic", "equinox.Module"))


def is_plain_object(value: Instance) -> bool:
    """Whether an object is certainly no array or number, nor of a class that derives from one.

    What goes through the leaves of a tree may be shown one that is registered in their stead.
    """
    lineage = list(value.cls.lineage())
    bases = [base for it in lineage if isinstance(it, Class) for base in it.bases]
    names = {it.name for it in lineage if isinstance(it, External)}
    is_known = all(isinstance(it, (Class, External)) for it in bases)
    is_leaf = value.cls.registration is None and value.cls.find("__getattr__") is None
    return is_leaf and is_known and names <= _SILENT_BASES


def _has(value: Instance, name: str) -> bool:
    fields = [it.fields for it in value.cls.lineage() if isinstance(it, Class)]
    is_field = name in value.attributes or any(name in it for it in fields)
    return is_field or value.cls.find(name) is not None
