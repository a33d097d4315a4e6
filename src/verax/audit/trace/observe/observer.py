"""Takes notes while a program is traced."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import Any

import jax

from ...._jax import registered_pytrees
from ...finding import Place
from ..places import UserCode
from .classes import body_place, class_place, definition
from .observations import LeafOrder, Observation, OpaqueLeaf, RoundTrip
from .round_trips import round_trip_problem
from .trees import (
    array_fields,
    containers_made,
    is_array,
    last_keys,
    mapped_to_tuples,
    stopped_above,
    tree_functions,
)


class Observer:
    """Takes notes during a trace."""

    def __init__(self, user_code: UserCode):
        self.user_code = user_code
        self.seen: list[Observation] = []
        self._instances: dict[type, list[Any]] = {}
        # What mapped functions returned that is a tree of its own, by identity, and kept for it.
        self._made: dict[int, Any] = {}

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
        for name, function in tree_functions().items():
            yield function, self._noting(name, function)

    def _noting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def noting(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            caller = sys._getframe(1)
            if self.user_code.owns(caller.f_code.co_filename):
                self._watch(name, args, kwargs, result, caller)
            return result

        return noting

    def _watch(self, name: str, args: Any, kwargs: Any, result: Any, caller: FrameType) -> None:
        is_map = "map" in name
        trees = args[1:] if is_map else args[:1]
        if not trees:
            return
        tree = trees[0]
        is_leaf = kwargs.get("is_leaf", None if is_map else (*args, None)[1])
        if is_leaf is not None:
            found = stopped_above(tree, is_leaf, self._made) if self._made else None
            if found is not None:
                self.note("stopped above", found)
            return  # The user says what a leaf is.
        known = _names_in(args[0]) if is_map else frozenset[str]()
        for found in self._opaque_leaves(name, tree, caller):
            # What takes the object's fields knows that it is given one.
            if known.isdisjoint((found.cls.__name__, *found.fields)):
                self.note("opaque leaf", found)
        if "leaves" in name or "flatten" in name:
            self.note("leaf order", LeafOrder(name, last_keys(tree), type(tree).__name__))
        if name.endswith("map"):
            self._made.update((id(it), it) for it in containers_made(tree, result))
            found = mapped_to_tuples(tree, result)
            if found is not None:
                self.note("mapped to tuples", found)

    def _opaque_leaves(self, name: str, tree: Any, caller: FrameType) -> Iterator[OpaqueLeaf]:
        seen: set[type] = set()
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            cls = type(leaf)
            if cls in seen or cls.__module__ == "builtins" or is_array(leaf):
                continue
            seen.add(cls)
            fields = array_fields(leaf)
            place = (class_place(cls) or self._place_by_name(cls)) if fields else None
            if place is not None and self.user_code.owns(place.file):
                where = jax.tree_util.keystr(path)
                is_dataclass, is_given = dataclasses.is_dataclass(cls), _is_given(caller, cls)
                yield OpaqueLeaf(cls, where, fields, name, place, is_dataclass, is_given)

    def _place_by_name(self, cls: type) -> Place | None:
        """Where a class of a module that is not loaded as one is defined."""
        if cls.__module__ in sys.modules:
            return None
        files = dict.fromkeys(frame.file for frame in self._frames())
        found = (definition(cls, file) for file in files)
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
            problems = [round_trip_problem(instance) for instance in instances]
            problem = next((it for it in problems if it), "")
            if problem:
                defined = class_place(cls)
                place = body_place(registered[cls]) or defined
                frames = (place,) if place else ()
                self.seen.append(
                    Observation("round trip", frames, RoundTrip(cls, problem, defined))
                )


def _names_in(function: Any) -> frozenset[str]:
    """The names and attributes that the code of a function mentions."""
    code = getattr(function, "__code__", None)
    return frozenset(getattr(code, "co_names", ()))


def _is_given(caller: FrameType, cls: type) -> bool:
    """Whether a function has an object of a class in one of its arguments."""
    code = caller.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = [caller.f_locals[name] for name in names if name in caller.f_locals]
    return any(type(leaf) is cls for leaf in jax.tree.leaves(given))
