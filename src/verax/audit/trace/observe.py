"""What is seen while a program is traced and is gone afterwards: calls of tree functions.

A jaxpr holds arrays only. How the user's code takes trees apart, and which of its classes JAX looks
into, is noted here at the moment of the call, as plain facts with the user's frames.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import jax
import numpy as np

from ..._jax import registered_pytrees
from ..finding import Place
from .places import UserCode


@dataclass(frozen=True)
class Observation:
    """Something that the user's code did while it was traced.

    `kind` says which of the classes below `data` is. `frames` are the user's, innermost first.
    """

    kind: str
    frames: tuple[Place, ...]
    data: Any

    @property
    def place(self) -> Place | None:
        """Where it happened."""
        return self.frames[0] if self.frames else None


@dataclass(frozen=True)
class OpaqueLeaf:
    """A leaf of a tree that is no array but holds some, since its class is not registered."""

    cls: type
    path: str
    fields: tuple[str, ...]
    function: str
    class_place: Place | None
    is_dataclass: bool


@dataclass(frozen=True)
class LeafOrder:
    """A tree that was taken apart into its leaves: the last key on the way to each, in order."""

    function: str
    keys: tuple[str, ...]
    root: str


@dataclass(frozen=True)
class MappedToTuples:
    """A `tree.map` whose function returned tuples of `length`, over a tree with `children`."""

    length: int
    root: str
    children: int


@dataclass(frozen=True)
class RoundTrip:
    """A registered class that does not come back as it was: `problem` in words."""

    cls: type
    problem: str
    class_place: Place | None


@dataclass(frozen=True)
class CarryTypes:
    """What a scan that failed was given as carry, and what its body handed on, leaf by leaf."""

    given: tuple[tuple[str, Any], ...]
    handed_on: tuple[tuple[str, Any], ...]
    given_structure: str
    handed_on_structure: str


class Observer:
    """Takes notes during a trace."""

    def __init__(self, user_code: UserCode):
        self.user_code = user_code
        self.seen: list[Observation] = []
        self._instances: dict[type, list[Any]] = {}

    def note(self, kind: str, data: Any) -> None:
        """Remember something, with the user's frames of this moment."""
        self.seen.append(Observation(kind, self._frames(), data))

    def _frames(self) -> tuple[Place, ...]:
        raw: list[tuple[Any, int]] = []
        frame: Any = sys._getframe(1)
        while frame is not None:
            raw.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return self.user_code.frames(raw)

    # --- functions on trees

    def tree_functions(self) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
        """JAX's functions on trees, each with one that takes notes and does the same."""
        for name, function in _tree_functions().items():
            yield function, self._noting(name, function)

    def _noting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def noting(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if self.user_code.owns(sys._getframe(1).f_code.co_filename):
                self._watch(name, args, kwargs, result)
            return result

        return noting

    def _watch(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        is_map = "map" in name
        trees = args[1:] if is_map else args[:1]
        if kwargs.get("is_leaf") is not None or len(args) > (99 if is_map else 1) or not trees:
            return  # The user says what a leaf is.
        tree = trees[0]
        for found in self._opaque_leaves(name, tree):
            self.note("opaque leaf", found)
        if "leaves" in name or "flatten" in name:
            self.note("leaf order", LeafOrder(name, _keys(tree), type(tree).__name__))
        if name.endswith("map"):
            found = _mapped_to_tuples(tree, result)
            if found is not None:
                self.note("mapped to tuples", found)

    def _opaque_leaves(self, name: str, tree: Any) -> Iterator[OpaqueLeaf]:
        seen: set[type] = set()
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            cls = type(leaf)
            if cls in seen or cls.__module__ == "builtins" or _is_array(leaf) or not path:
                continue
            seen.add(cls)
            fields = _array_fields(leaf)
            place = (class_place(cls) or self._place_by_name(cls)) if fields else None
            if place is not None and self.user_code.owns(place.file):
                where = jax.tree_util.keystr(path)
                yield OpaqueLeaf(cls, where, fields, name, place, dataclasses.is_dataclass(cls))

    def _place_by_name(self, cls: type) -> Place | None:
        """Where a class of a module that is not loaded as one is defined."""
        if cls.__module__ in sys.modules:
            return None
        files = dict.fromkeys(frame.file for frame in self._frames())
        found = (_definition(cls, file) for file in files)
        return next((it for it in found if it.line > 1), None)

    def _is_users(self, cls: type) -> bool:
        place = class_place(cls)
        return place is not None and self.user_code.owns(place.file)

    # --- registered classes

    @contextmanager
    def instances(self) -> Generator[None]:
        """Keep some instances of the user's registered classes that are made inside."""
        patched: list[tuple[type, Any]] = []
        for cls in registered_pytrees():
            own = cls.__dict__.get("__init__")
            if own is not None and self._is_users(cls):
                try:
                    cls.__init__ = self._remembering(own)
                except (AttributeError, TypeError):  # A class that cannot be changed.
                    continue
                patched.append((cls, own))
        try:
            yield
        finally:
            for cls, own in patched:
                cls.__init__ = own

    def _remembering(self, own: Callable[..., None]) -> Callable[..., None]:
        @wraps(own)
        def __init__(instance: Any, *args: Any, **kwargs: Any) -> None:
            own(instance, *args, **kwargs)
            self.remember(instance)

        return __init__

    def remember(self, instance: Any) -> bool:
        """Keep an instance of a registered class for `check_round_trips`; `False` always."""
        kept = self._instances.setdefault(type(instance), [])
        if len(kept) < 3:
            kept.append(instance)
        return False

    def check_round_trips(self) -> None:
        """Take kept instances apart and put them together again."""
        registered = registered_pytrees()
        for cls, instances in list(self._instances.items()):
            if cls not in registered or not self._is_users(cls):
                continue
            problems = [_round_trip_problem(instance) for instance in instances]
            problem = next((it for it in problems if it), "")
            defined = class_place(cls)
            place = (_body_place(registered[cls]) or defined) if problem else defined
            frames = (place,) if place else ()
            if problem:
                self.seen.append(
                    Observation("round trip", frames, RoundTrip(cls, problem, defined))
                )
            elif all(it == "" for it in problems):
                self.seen.append(
                    Observation("round trip holds", frames, RoundTrip(cls, "", defined))
                )


def _tree_functions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name in ("leaves", "flatten", "map", "reduce", "leaves_with_path", "flatten_with_path"):
        found[f"jax.tree.{name}"] = getattr(jax.tree, name)
        found[f"jax.tree_util.tree_{name}"] = getattr(jax.tree_util, f"tree_{name}")
    for skipped in ("jax.tree.reduce", "jax.tree_util.tree_reduce"):
        del found[skipped]  # Takes the tree second.
    return found


def _keys(tree: Any) -> tuple[str, ...]:
    return tuple(
        _key(path[-1]) if path else "" for path, _ in jax.tree_util.tree_leaves_with_path(tree)
    )


def _key(entry: Any) -> str:
    """The name of a dict's item or an attribute; empty for positions."""
    name = getattr(entry, "key", getattr(entry, "name", None))
    return name if isinstance(name, str) else ""


def _mapped_to_tuples(tree: Any, result: Any) -> MappedToTuples | None:
    """Whether every leaf became a tuple of one length."""
    structure = jax.tree.structure(tree)
    try:
        made = structure.flatten_up_to(result)
    except (ValueError, TypeError):
        return None
    lengths = {len(it) if type(it) is tuple else 0 for it in made}
    if len(lengths) != 1 or not made or 0 in lengths:
        return None
    children = structure.children()
    return MappedToTuples(lengths.pop(), type(tree).__name__, len(children))


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _array_fields(leaf: Any) -> tuple[str, ...]:
    """Attributes of an object that hold arrays, also inside of containers."""
    if (
        _is_array(leaf)
        or isinstance(leaf, type)
        or hasattr(leaf, "__jax_array__")
        or callable(leaf)
    ):
        return ()
    try:
        attributes = vars(leaf)
    except TypeError:
        slots = [it.name for it in dataclasses.fields(leaf)] if _is_dataclass(leaf) else []
        attributes = {name: getattr(leaf, name, None) for name in slots}
    return tuple(
        name
        for name, value in attributes.items()
        if any(_is_array(it) for it in jax.tree.leaves(value))
    )


def _is_dataclass(leaf: Any) -> bool:
    return dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)


def class_place(cls: type) -> Place | None:
    """Where a class is defined."""
    for member in vars(cls).values():
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        # Not what a decorator made, which lives in the decorator's file.
        if code is not None and code.co_qualname.startswith(f"{cls.__qualname__}."):
            if code.co_filename.startswith("<"):
                continue
            return _definition(cls, code.co_filename)
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or _file_of_globals(cls)
    return _definition(cls, file) if file else None


def _file_of_globals(cls: type) -> str | None:
    # A generated `__init__` still knows the module that it was made for.
    spaces = (getattr(member, "__globals__", None) or {} for member in vars(cls).values())
    own = (it for it in spaces if it.get("__name__") == cls.__module__)
    return next((it["__file__"] for it in own if "__file__" in it), None)


def _definition(cls: type, file: str) -> Place:
    import linecache
    import re

    pattern = re.compile(rf"\s*class\s+{re.escape(cls.__name__)}\b")
    for number, line in enumerate(linecache.getlines(file), start=1):
        if pattern.match(line):
            return Place(file, number, 1, cls.__qualname__)
    return Place(file, 1, 1, cls.__qualname__)


def _body_place(unflatten: Any) -> Place | None:
    """The first statement of the function that puts an instance together."""
    code = getattr(getattr(unflatten, "__func__", unflatten), "__code__", None)
    if code is None:
        return None
    lines = {line for _, _, line in code.co_lines() if line and line > code.co_firstlineno}
    line = min(lines, default=code.co_firstlineno)
    return Place(code.co_filename, line, 1, code.co_qualname)


def _round_trip_problem(instance: Any) -> str | None:
    """What changes when an instance is flattened and put together again.

    Empty if nothing does; `None` if that cannot be told.
    """
    try:
        children, structure = jax.tree.flatten(instance, is_leaf=lambda it: it is not instance)
        restored = jax.tree.unflatten(structure, children)
        again, structure_again = jax.tree.flatten(restored, is_leaf=lambda it: it is not restored)
        same = structure == structure_again
    except Exception:
        return None  # It cannot be done on these leaves, which is another matter.
    if type(restored) is not type(instance):
        return f"it comes back as {type(restored).__name__}"
    if len(again) != len(children):
        return f"it has {len(children)} children, and {len(again)} after it was put together again"
    problem = (
        _permuted(instance, children, again)
        or _lost(instance, restored)
        or _static_array(instance, structure)
    )
    same = same and all(a is b for a, b in zip(children, again, strict=True))
    return problem or ("" if same else None)


def _permuted(instance: Any, children: list[Any], again: list[Any]) -> str:
    before, after = [id(it) for it in children], [id(it) for it in again]
    if before == after or sorted(before) != sorted(after):
        return ""
    names = {id(value): name for name, value in _attributes(instance).items()}
    if all(it in names for it in before):
        order = [names[it] for it in before]
        swapped = [names[it] for it in after]
        return (
            f"its children are flattened as ({_words(order)}), and come back as ({_words(swapped)})"
        )
    return "its children come back in another order than they were flattened in"


def _words(names: list[str]) -> str:
    return ", ".join(names)


def _attributes(instance: Any) -> dict[str, Any]:
    try:
        return dict(vars(instance))
    except TypeError:
        names = [it.name for it in dataclasses.fields(instance)] if _is_dataclass(instance) else []
        return {name: getattr(instance, name, None) for name in names}


def _lost(instance: Any, restored: Any) -> str:
    """Attributes that are not the same object or number afterwards."""
    before, after = _attributes(instance), _attributes(restored)
    for name, value in before.items():
        if name not in after:
            return f"its attribute `{name}` is gone after it was put together again"
        other = after[name]
        if value is other:
            continue
        if _is_array(value) and other is None:
            return f"its array `{name}` is gone after it was put together again"
        plain = (bool, int, float, str)
        if isinstance(value, plain) and isinstance(other, plain) and value != other:
            return f"its attribute `{name}` was {value!r}, and is {other!r} afterwards"
    return ""


def _static_array(instance: Any, structure: Any) -> str:
    """An array among the static data of a class, where JAX neither traces nor compares it."""
    data = structure.node_data()
    for static in jax.tree.leaves(data[1] if data else None):
        if _is_array(static):
            names = [name for name, value in _attributes(instance).items() if value is static]
            which = f"`{names[0]}` is" if names else "one of its arrays is"
            return f"{which} part of its static data, which JAX compares and hashes, not traces"
    return ""
