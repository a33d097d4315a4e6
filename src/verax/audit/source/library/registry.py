"""Which handler knows a function or a method, by its full name.

A handler gets the interpreter, the call's site, the function's name, and the arguments. For what
is not in the table, a module's prefix may have a handler for all of its functions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter
    from ..values import Data, Value

    Handler = Callable[[Interpreter, Site, str, list[Value], dict[str, Value]], Value]
    MethodHandler = Callable[[Interpreter, Site, Data, list[Value], dict[str, Value]], Value]

_FUNCTIONS: dict[str, Any] = {}
_PREFIXES: dict[str, Any] = {}
_METHODS: dict[str, Any] = {}
_TYPED_METHODS: dict[tuple[str, str], Any] = {}


def _put(table: dict[Any, Any], name: Any, handler: Any) -> None:
    """Fill in a place of a table; two handlers for one name would depend on their order."""
    if name in table:
        raise ValueError(f"{name} has a handler: {table[name].__module__}.{table[name].__name__}")
    table[name] = handler


def handles(*names: str) -> Callable[[Any], Any]:
    """Register a handler for functions, by their full names; `numpy.*` means a whole module."""

    def register(handler: Any) -> Any:
        for name in names:
            table = _PREFIXES if name.endswith(".*") else _FUNCTIONS
            _put(table, name.removesuffix(".*"), handler)
        return handler

    return register


def handles_method(*names: str, of: str = "") -> Callable[[Any], Any]:
    """Register a handler for methods of data: of any, or of what a function outside has made."""

    def register(handler: Any) -> Any:
        for name in names:
            if of:
                _put(_TYPED_METHODS, (of, name), handler)
            else:
                _put(_METHODS, name, handler)
        return handler

    return register


def function(name: str) -> Handler | None:
    """The handler for a function."""
    found = _FUNCTIONS.get(name)
    if found is None:
        found = _PREFIXES.get(name.rpartition(".")[0])
    return found


def method(owner: Data, name: str) -> MethodHandler | None:
    """The handler for a method of some data."""
    if owner.type:
        return _TYPED_METHODS.get((owner.type, name))
    return _METHODS.get(name)


def load() -> None:
    """Fill the tables."""
    for name in (
        "arrays",
        "branches",
        "builtins",
        "callbacks",
        "collectives",
        "containers",
        "filters",
        "flattening",
        "frameworks",
        "functional",
        "haiku",
        "inert",
        "iteration",
        "iterators",
        "layers",
        "lifted",
        "lifted_maps",
        "loops",
        "naming",
        "questions",
        "random",
        "records",
        "replacing",
        "transforms",
        "trees",
    ):
        import_module(f"{__package__}.{name}")
