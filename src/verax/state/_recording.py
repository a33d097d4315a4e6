"""Recording a getter, to learn which places in a state it points at.

A `Recorder` stands in for a state. Attributes, items and loops over it give further recorders,
each with the step that led there; everything else (arithmetic, comparison, calls into JAX) works
on the real value and gives a real result. Whatever comes out of the getter as a recorder is a
place that can be written to.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from ._replace import (
    Replace,
    replace_attributes,
    replace_entries_of_array,
    replace_fields,
    replace_items_of_mapping,
    replace_items_of_sequence,
)


class Recorder:
    """A value, and how it was reached: a `key` in its `parent`, and how to `replace` what is there.

    The slots have long names because every short name may be a field of the user's.
    """

    __slots__ = ("verax_key", "verax_parent", "verax_replace", "verax_value")

    def __init__(
        self,
        value: Any,
        parent: Recorder | None = None,
        key: Any = None,
        replace: Replace = replace_attributes,
    ) -> None:
        self.verax_value = value
        self.verax_parent = parent
        self.verax_key = key
        self.verax_replace = replace

    # isinstance and match statements in a getter shall see the type that they will meet.
    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self.verax_value)

    def __getattr__(self, name: str) -> Any:
        value = self.verax_value
        kind = _kind(type(value))
        if name in kind.fields:
            return Recorder(getattr(value, name), self, kind.fields[name], kind.replace_field)
        return _other_attribute(self, value, kind, name)

    def __getitem__(self, key: Any) -> Any:
        value, key = self.verax_value, unwrap(key)
        kind = _kind(type(value))
        if kind.replace_item is replace_items_of_sequence:
            if isinstance(key, slice):
                chosen = [self[index] for index in range(*key.indices(len(value)))]
                return chosen if isinstance(value, list) else tuple(chosen)
            return Recorder(value[key], self, key % len(value), replace_items_of_sequence)
        if kind.replace_item is replace_items_of_mapping:
            return Recorder(value[key], self, key, replace_items_of_mapping)
        if kind.replace_item is replace_entries_of_array:
            if self.verax_replace is replace_entries_of_array:  # array[i][j] is one step, not two
                chain = (*self.verax_key, key)
                return Recorder(value[key], self.verax_parent, chain, replace_entries_of_array)
            return Recorder(value[key], self, (key,), replace_entries_of_array)
        return kind.getitem(self, key) if kind.getitem else value[key]

    def __iter__(self) -> Iterator[Any]:
        value = self.verax_value
        kind = _kind(type(value))
        if kind.replace_item in (replace_items_of_sequence, replace_entries_of_array):
            return (self[index] for index in range(len(value)))
        return kind.iterate(self) if kind.iterate else iter(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        value = self.verax_value
        call = _kind(type(value)).call
        if call is not None:
            return call(self, *args, **kwargs)
        return value(*map(unwrap, args), **{name: unwrap(one) for name, one in kwargs.items()})

    def __jax_array__(self) -> Any:
        return self.verax_value

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(self.verax_value, *args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.verax_value)


def unwrap(value: Any) -> Any:
    """The real value of a recorder, also inside an index."""
    if type(value) is Recorder:
        return value.verax_value
    if isinstance(value, tuple):
        return tuple(map(unwrap, value))
    if isinstance(value, slice):
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    return value


class _Kind(NamedTuple):
    """What a recorder needs to know about a class; worked out once a class."""

    fields: Mapping[str, Any] = {}
    replace_field: Replace = replace_fields
    replace_item: Replace | None = None
    opaque: bool = False
    getitem: Callable[..., Any] | None = None
    iterate: Callable[..., Any] | None = None
    call: Callable[..., Any] | None = None


@functools.cache
def _kind(cls: Any) -> _Kind:
    if issubclass(cls, jax.Array | Tracer | np.ndarray):
        return _Kind(replace_item=replace_entries_of_array, opaque=True)
    if issubclass(cls, type | ModuleType | FunctionType | MethodType):
        return _Kind(opaque=True)
    if issubclass(cls, list | tuple):
        names: tuple[str, ...] = getattr(cls, "_fields", ())
        return _Kind(
            {name: index for index, name in enumerate(names)},
            replace_field=replace_items_of_sequence,
            replace_item=replace_items_of_sequence,
        )
    if issubclass(cls, Mapping) and not dataclasses.is_dataclass(cls):
        return _Kind(replace_item=replace_items_of_mapping)
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return _Kind(
        {one.name: one.name for one in fields},
        getitem=_python_method(cls, "__getitem__"),
        iterate=_python_method(cls, "__iter__"),
        call=_python_method(cls, "__call__"),
    )


def _python_method(cls: type, name: str) -> Callable[..., Any] | None:
    """A method that can run on a recorder in place of its instance, and so be recorded."""
    method = _class_attribute(cls, name)
    return method if isinstance(method, FunctionType) else None


def _class_attribute(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _other_attribute(recorder: Recorder, value: Any, kind: _Kind, name: str) -> Any:
    if kind.opaque:
        return getattr(value, name)
    if kind.replace_item is replace_items_of_mapping and name in _MAPPING_METHODS:
        return functools.partial(_MAPPING_METHODS[name], recorder)
    in_class = _class_attribute(type(value), name)
    if isinstance(in_class, property) and in_class.fget is not None:
        return in_class.fget(recorder)
    if isinstance(in_class, functools.cached_property):
        return in_class.func(recorder)
    if isinstance(in_class, MemberDescriptorType) or name in getattr(value, "__dict__", ()):
        return Recorder(getattr(value, name), recorder, name, replace_attributes)
    if isinstance(in_class, FunctionType):
        return MethodType(in_class, recorder)
    return getattr(value, name)


def _get(recorder: Recorder, key: Any, default: Any = None) -> Any:
    return recorder[key] if key in recorder else default  # noqa: SIM401 - this is that method


_MAPPING_METHODS: dict[str, Callable[..., Any]] = {
    "keys": lambda recorder: recorder.verax_value.keys(),
    "values": lambda recorder: [recorder[key] for key in recorder],
    "items": lambda recorder: [(key, recorder[key]) for key in recorder],
    "get": _get,
}


def _delegate_operators() -> None:
    """Operators compute, so they leave the recording: real operands, real result."""

    def on_values(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda recorder, *others: function(recorder.verax_value, *map(unwrap, others))

    def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda recorder, other: function(other, recorder.verax_value)

    arithmetic = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    for name in (*arithmetic, *"eq ne lt le gt ge contains neg pos abs invert index".split()):
        setattr(Recorder, f"__{name}__", on_values(getattr(operator, f"__{name}__")))
    for name in arithmetic:
        setattr(Recorder, f"__r{name}__", reflected(getattr(operator, f"__{name}__")))
    for function in (bool, int, float, complex, hash, len, str, format, divmod, round):
        setattr(Recorder, f"__{function.__name__}__", on_values(function))


_delegate_operators()
