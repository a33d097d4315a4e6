"""Fields and properties that are lenses on the class and values on an instance.

`Point.x` is then a lens into any `Point`, and `point.x` is the value, as ever.
"""

from __future__ import annotations

import dataclasses
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_origin, overload

from ._path_lens import PathLens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import MemberDescriptorType

    from ._lens import Lens

S = TypeVar("S")
T = TypeVar("T")

_MARK = "verax.lens_field"
# dataclasses.MISSING for a type checker: it fits every default, as in the standard library's stubs.
_MISSING: Any = dataclasses.MISSING


class LensField(Generic[T]):
    """The annotation of a field that is a lens when it is read from the class.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class Point(HasLensFields):
        ...     x: LensField[float]
        ...     y: LensField[float] = lens_field(default=0.0)
        >>> point = Point(1.0)
        >>> point.x
        1.0
        >>> Point.y.set(point, 4.0)
        Point(x=1.0, y=4.0)
    """

    def __init__(self, name: str, default: Any = _MISSING) -> None:
        self._name = name
        self._default = default
        # Made once, so that reading it from the class twice gives equal lenses.
        self._lens: PathLens[Any, T] = PathLens(attrgetter(name))

    @overload
    def __get__(self, instance: None, owner: type[S]) -> Lens[S, T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        # There is no __set__, so Python asks the instance first and comes here only in vain.
        if instance is not None and self._default is not dataclasses.MISSING:
            return self._default
        # A subclass that is still being decorated is asked for its own default and has none.
        if instance is not None or "__dataclass_fields__" not in vars(owner):
            raise AttributeError(f"{self._name} of {owner} is not set")
        return self._lens

    if TYPE_CHECKING:
        # From this signature a type checker learns what the constructor takes for the field.
        def __set__(self, instance: object, value: T) -> None: ...


class _SlotLensField(LensField[T]):
    """The same where the values are in slots, which are descriptors of the class themselves."""

    def __init__(self, name: str, slot: MemberDescriptorType) -> None:
        super().__init__(name)
        self._slot = slot

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            return super().__get__(None, owner)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return self._slot.__get__(instance, owner)

    def __set__(self, instance: object, value: T) -> None:
        self._slot.__set__(instance, value)


class HasLensFields:
    """The base of dataclasses whose `LensField` fields are lenses on the class; see there.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class Box(HasLensFields):
        ...     size: LensField[int] = lens_field(static=True)
        >>> Box.size.apply(Box(size=3), lambda size: 2 * size)
        Box(size=6)
    """

    __slots__ = ()


@overload
def lens_field(
    *,
    default: T,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = ...,
    static: bool = False,
) -> LensField[T]: ...
@overload
def lens_field(
    *,
    default_factory: Callable[[], T],
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = ...,
    static: bool = False,
) -> LensField[T]: ...
@overload
def lens_field(
    *,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: bool = ...,
    static: bool = False,
) -> LensField[Any]: ...
def lens_field(
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
    """`field` for an attribute annotated with `LensField`; the arguments are the same.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class Point(HasLensFields):
        ...     x: LensField[float] = lens_field(default=0.0)
        ...     name: LensField[str] = lens_field(default="origin", static=True)
        >>> Point.name.set(Point(), "there")
        Point(x=0.0, name='there')
    """
    return dataclasses.field(
        default=default,
        default_factory=default_factory,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        metadata={**(metadata or {}), _MARK: True, **({"static": True} if static else {})},
        kw_only=kw_only,
    )


class lens_property(property, Generic[S, T]):
    """A property that is a lens when it is read from the class.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class State:
        ...     table: dict
        ...     @lens_property
        ...     def energy(self):
        ...         return self.table["energy"]
        >>> state = State({"energy": 1.0})
        >>> state.energy
        1.0
        >>> State.energy.set(state, 2.0)
        State(table={'energy': 2.0})
    """

    # A property, so that a lens that meets one on its way looks into it like into any other.

    def __init__(self, getter: Callable[[S], T]) -> None:
        super().__init__(getter)
        self._lens: PathLens[S, T] = PathLens(getter)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Lens[S, T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._lens if instance is None else super().__get__(instance, owner)


def install_lens_fields(cls: type) -> None:
    """Put lenses in the place of class attributes, for the fields that ask for it."""
    for one in dataclasses.fields(cls):
        # An inherited field is served by the base class, unless slots were made anew.
        if not _is_lens_field(one) or isinstance(vars(cls).get(one.name), LensField):
            continue
        if not issubclass(cls, HasLensFields):
            raise TypeError(
                f"{cls.__qualname__}.{one.name} is a LensField, but {cls.__qualname__} does not "
                f"inherit from HasLensFields. Write: class {cls.__name__}(HasLensFields)."
            )
        slot = vars(cls).get(one.name) if one.name in _slots(cls) else None
        descriptor = (
            LensField[Any](one.name, one.default)
            if slot is None
            else _SlotLensField(one.name, slot)
        )
        type.__setattr__(cls, one.name, descriptor)


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_lens_field(one: dataclasses.Field[Any]) -> bool:
    if one.metadata.get(_MARK, False):
        return True
    if isinstance(one.type, str):  # from __future__ import annotations
        return re.match(r"([\w.]+\.)?LensField\b", one.type) is not None
    return (get_origin(one.type) or one.type) is LensField
