"""What a failing program did before its error.

Such a program is traced once more. Jits open up, and a transformation whose function raises leaves
what the function did until then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import jax

from ..observe import CarryTypes, Observer
from ..regions import Region, bind_region, traced
from .loops import marked


def leave_part(
    kind: str,
    origin: tuple[str, str, int],
    arguments: tuple[str, ...],
    function: Any,
    types: Any,
    args: Any,
    **settings: Any,
) -> None:
    """Leave a region without results, for a function that raises."""

    def until_error(*xs: Any) -> list[Any]:
        with suppress(Exception):
            function(*xs)
        return []

    with suppress(Exception):
        jaxpr, consts = traced(until_error, types)
        region = Region(kind, origin, len(consts), arguments, **settings)
        bind_region(region, jaxpr, [*consts, *args], [])


def is_salvaging() -> bool:
    """Whether to save what there was before an error: then jits are open."""
    return bool(getattr(jax.config, "jax_disable_jit", False))


def plainly(original: Any, *args: Any, **kwargs: Any) -> Any:
    """What JAX itself does."""
    return original(*args, **kwargs)


def _saving(pieces: Callable[..., Any]) -> Callable[..., Any]:
    """An entry point that does what it did before, and runs its pieces in place if that fails.

    Without jit, JAX runs loops and branches in Python, so that here it is switched on for them.
    """

    def ours(before: Any, observer: Any, original: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with jax.disable_jit(False):
                return before(original, *args, **kwargs)
        except Exception:
            with suppress(Exception):
                pieces(observer, *args, **kwargs)
            raise

    return ours


def _first_iteration(
    observer: Observer | None, function: Any, init: Any, xs: Any = None, *_: Any, **__: Any
) -> None:
    given = marked("given", init)
    carried, _ = function(given, jax.tree.map(lambda x: x[0], xs))
    marked("handed on", carried)
    if observer is not None:
        types = CarryTypes(
            _leaf_types(init),
            _leaf_types(carried),
            str(jax.tree.structure(init)),
            str(jax.tree.structure(carried)),
        )
        observer.note("carry types", types)


def _leaf_types(tree: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (jax.tree_util.keystr(path), jax.typeof(leaf))
        for path, leaf in jax.tree.leaves_with_path(tree)
    )


def _first_turn(observer: Observer | None, condition: Any, body: Any, init: Any) -> None:
    condition(init)
    body(init)


def _branches(observer: Observer | None, chosen: Any, *rest: Any, **kwargs: Any) -> None:
    functions = (
        rest[0] if isinstance(rest[0], (list, tuple)) else [it for it in rest if callable(it)]
    )
    operands = [it for it in rest if it is not rest[0] and it not in functions]
    for function in functions:
        with suppress(Exception):
            function(*operands)


def _checkpointed(
    before: Any, observer: Any, original: Any, function: Any, *args: Any, **kwargs: Any
) -> Any:
    """A checkpoint traces its function apart from what it is called with, and binds the two.

    A function that raises gives a program without results here, so that it is bound; the error is
    raised when results are to be put together.
    """
    failure: list[Exception] = []

    def until_error(*xs: Any, **named: Any) -> Any:
        try:
            return function(*xs, **named)
        except Exception as error:
            failure.append(error)
            return ()

    jaxpr, consts, tree = original(until_error, *args, **kwargs)
    return jaxpr, consts, _Raising(failure[0]) if failure else tree


class _Raising:
    """Stands for the structure of results that are not there."""

    def __init__(self, error: Exception):
        self._error = error

    def unflatten(self, leaves: Any) -> Any:
        raise self._error


def _sharded(before: Any, observer: Any, original: Any, function: Any, **settings: Any) -> Any:
    """A `shard_map` whose function raises becomes one of what it did until then."""

    @wraps(function)
    def run(*args: Any) -> Any:
        def until_error(*xs: Any) -> tuple[()]:
            with suppress(Exception):
                function(*xs)
            return ()

        try:
            return original(function, **settings)(*args)
        except Exception:
            with suppress(Exception):
                original(until_error, **settings | {"out_specs": ()})(*args)
            raise

    return run


def with_own_derivative(original: Any, instance: Any, *args: Any, **kwargs: Any) -> Any:
    """A function with a derivative of its own, which runs in place if it fails."""
    try:
        return original(instance, *args, **kwargs)
    except Exception:
        with suppress(Exception):
            instance.fun(*args, **kwargs)
        raise


SALVAGING: dict[str, Callable[..., Any]] = {
    "scan": _saving(_first_iteration),
    "while_loop": _saving(_first_turn),
    "cond": _saving(_branches),
    "switch": _saving(_branches),
    "checkpoint": _checkpointed,
    "shard_map": _sharded,
}
