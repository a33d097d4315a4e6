"""Trace a function so that the transformations in it leave equations.

For the duration of a trace, the functions behind `vmap`, `grad`, `vjp`, `jvp`, `linearize`,
`scan` and `while_loop` are replaced wherever a loaded module holds them, so that `from jax import
vmap` and functions that were transformed long before are seen too. A context that is part of
JAX's cache keys keeps these traces apart from ordinary ones, and from those of other audits: what
a cached trace did is not seen again.

A program that fails is traced once more to keep what was there before the error (`salvage`): jits
open up, and a transformation whose function raises leaves what the function did until then.
"""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any

import jax

from ..._jax import CUSTOM_DERIVATIVES, ENTRY_POINTS
from . import staging
from .observe import Observer
from .replacing import replaced_everywhere
from .staging.salvage import SALVAGING, plainly, with_own_derivative
from .staging.unmarked import auditing

# Part of the keys of JAX's caches as well, and nothing else.
_anew = jax.make_user_context(default_value=0)
_numbers = itertools.count(1)
_lock = threading.RLock()


@contextmanager
def regions(observer: Observer | None = None, *, salvage: bool = False) -> Generator[None]:
    """Let transformations leave equations, in this thread, in whatever is traced inside."""
    owner = threading.get_ident()

    def wrapper(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
        signature = _signature(original)

        @wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            # Other threads, and what runs below an ordinary trace, must not notice.
            if threading.get_ident() != owner or not auditing.value:
                return original(*args, **kwargs)
            if signature is None:
                return ours(original, *args, **kwargs)
            try:
                # `scan(f=body, init=…)` is as good as by position.
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return original(*args, **kwargs)  # JAX says what is wrong with the call.
            return ours(original, *bound.args, **bound.kwargs)

        return replacement

    replacements = {
        id(ENTRY_POINTS[name]): wrapper(ENTRY_POINTS[name], ours) for name, ours in _OURS.items()
    }
    if salvage:
        for name, ours in SALVAGING.items():
            saving = partial(ours, _OURS.get(name, plainly), observer)
            replacements[id(ENTRY_POINTS[name])] = wrapper(ENTRY_POINTS[name], saving)
    if observer is not None:
        for function, noting in observer.tree_functions():
            # Not by `wrapper`: who takes notes looks at its caller.
            replacements[id(function)] = noting
    with ExitStack() as stack:
        stack.enter_context(_lock)
        if observer is not None:
            stack.enter_context(observer.instances())
        if salvage:
            stack.enter_context(jax.disable_jit())
            for cls in CUSTOM_DERIVATIVES:
                call = wrapper(cls.__call__, with_own_derivative)
                stack.enter_context(_changed(cls, "__call__", call))
        stack.enter_context(replaced_everywhere(replacements))
        with auditing(next(_numbers)):
            yield


@contextmanager
def anew() -> Generator[None]:
    """Trace as without an audit, but also what JAX has traced before: its caches would skip it."""
    with _anew(next(_numbers)):
        yield


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # What JAX caches, and calls itself, has none.
        return None


@contextmanager
def _changed(cls: type, name: str, value: Any) -> Generator[None]:
    own = cls.__dict__[name]
    setattr(cls, name, value)
    try:
        yield
    finally:
        setattr(cls, name, own)


def is_auditing() -> bool:
    """Whether an audit is tracing what runs now."""
    return bool(auditing.value)


_OURS: dict[str, Callable[..., Any]] = {
    "batch": staging.batch,
    "vjp": staging.vjp,
    "jvp": staging.jvp,
    "linearize": staging.linearize,
    "scan": staging.scan,
    "while_loop": staging.while_loop,
}
