"""Dataclasses that JAX can take apart and put back together.

`dataclass` is Python's own decorator, frozen by default, with each class registered as a pytree.
`field(static=True)` marks what is part of the program and not of its data: sizes, names, modes.

JAX rebuilds an instance without calling `__init__`, so that trees of tracers, shapes or
specifications never reach a `__post_init__` that was written to check arrays.
"""

from __future__ import annotations

import dataclasses
import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

import jax

from ._lens_fields import install_lens_fields, lens_field
from ._statics import check_statics, static_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

# dataclasses.MISSING for a type checker: it fits every default, as in the standard library's stubs.
_MISSING: Any = dataclasses.MISSING


@overload
def field(
    *,
    default: T,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = ...,
    static: bool = False,
) -> T: ...
@overload
def field(
    *,
    default_factory: Callable[[], T],
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = ...,
    static: bool = False,
) -> T: ...
@overload
def field(
    *,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = ...,
    static: bool = False,
) -> Any: ...
def field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = _MISSING,
    static: bool = False,
) -> Any:
    """`dataclasses.field`, and a say in whether JAX sees the value.

    A static field belongs to the structure of the tree. `jit` compiles anew when it changes, no
    transformation touches it, and its value must be hashable.

    Example:
        >>> import jax
        >>> @dataclass
        ... class Grid:
        ...     spacing: float
        ...     cells: int = field(static=True, default=8)
        >>> jax.tree.leaves(Grid(spacing=0.5))
        [0.5]

    Args:
        default: the value where none is given; not together with `default_factory`.
        default_factory: makes the value where none is given.
        init: whether `__init__` takes the field.
        repr: whether `repr` shows it.
        hash: whether `__hash__` reads it; None means as `compare` says.
        compare: whether comparisons read it.
        metadata: anything else to keep with the field.
        kw_only: whether `__init__` takes it by keyword only.
        static: whether it belongs to the structure instead of the data.
    """
    # "static" is the key that jax.tree_util.register_dataclass reads as well.
    return dataclasses.field(
        default=default,
        default_factory=default_factory,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        metadata={**(metadata or {}), "static": True} if static else metadata,
        kw_only=kw_only,
    )


@overload
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(
    cls: None = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = True,
    match_args: bool = True,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field, lens_field, dataclasses.field))
def dataclass(
    cls: type[T] | None = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = True,
    match_args: bool = True,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> type[T] | Callable[[type[T]], type[T]]:
    """A dataclass that is a pytree, frozen unless told otherwise.

    Every argument means what it means for `dataclasses.dataclass`; only the default of `frozen`
    differs. A subclass is decorated again, as it is for the standard library.

    `jax.tree.map` and the transformations rebuild instances field by field, without `__init__`
    and `__post_init__`; `dataclasses.replace` and lenses call both.

    Example:
        >>> import dataclasses, jax
        >>> @dataclass
        ... class State:
        ...     step: int
        ...     name: str = field(static=True)
        >>> state = State(step=1, name="run")
        >>> jax.tree.map(lambda leaf: leaf + 1, state)
        State(step=2, name='run')
        >>> dataclasses.replace(state, name="other")
        State(step=1, name='other')

    Raises:
        TypeError: when an instance is made whose static field holds something unhashable.
    """

    def decorate(plain: type[T]) -> type[T]:
        made = dataclasses.dataclass(
            init=init,
            repr=repr,
            eq=eq,
            order=order,
            unsafe_hash=unsafe_hash,
            frozen=frozen,
            match_args=match_args,
            kw_only=kw_only,
            slots=slots,
            weakref_slot=weakref_slot,
        )(plain)
        _check_statics_after_init(made)
        install_lens_fields(made)
        _register(made)
        return made

    return decorate if cls is None else decorate(cls)


def _check_statics_after_init(cls: type) -> None:
    # JAX would hash the field later, inside jit, where nothing names class or field any more.
    names = static_names(cls)
    init = cls.__dict__.get("__init__")
    if not names or init is None:
        return

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        check_statics(self, names)

    type.__setattr__(cls, "__init__", checked)


def _register(cls: type) -> None:
    static = static_names(cls)
    data = tuple(one.name for one in dataclasses.fields(cls) if one.name not in static)
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in data)
    read_data, read_static = _reader(data), _reader(static)
    names, write = data + static, object.__setattr__

    def flatten(instance: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return read_data(instance), read_static(instance)

    def flatten_with_keys(instance: Any) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        return tuple(zip(keys, read_data(instance), strict=True)), read_static(instance)

    def unflatten(static_values: tuple[Any, ...], data_values: Any) -> Any:
        instance = object.__new__(cls)
        for name, value in zip(names, (*data_values, *static_values), strict=True):
            write(instance, name, value)
        return instance

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Reads the named attributes as a tuple, also when there are none or one."""
    match names:
        case ():
            return lambda _instance: ()
        case (name,):
            return lambda instance: (getattr(instance, name),)
        case _:
            return attrgetter(*names)
