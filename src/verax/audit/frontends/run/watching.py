"""Learn of each call by which a running program enters a transformation of JAX's.

Jitted functions are watched where JAX compiles them: a call that it knows already costs nothing.
What is transformed without being jitted (`vmap`, `grad`, `scan` and the like, called on arrays) is
watched by the functions behind these, replaced wherever a module holds them. Only calls from
outside count: what is called while JAX traces is part of what is traced.

At its border, JAX is Python. The frame of the outermost function of JAX's that the program has
called holds what it was called with, and what was transformed; a function made of the frame's code
calls the same again.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from types import CellType, FrameType, FunctionType
from typing import Any, Protocol

import jax

from .... import _jax
from ...._jax import (
    ENTRY_POINTS,
    PASSED_THROUGH,
    JitCall,
    compile_times_reported,
    is_tracing,
    jit_calls_watched,
)
from ...trace.places import UserCode, is_jax
from ...trace.replacing import replaced_everywhere
from .calls import Call, Origin, origin_of, unwrapped

# The functions behind `vmap`, `grad` and the rest that are called when what they made is called.
_WATCHED = ("batch", "vjp", "jvp", "linearize", "scan", "while_loop")
# What the functions that these make are called in JAX, where that is not the transformation's name.
_KINDS = {
    "vmap_f": "vmap",
    "value_and_grad_f": "grad",
    "value_and_grad_f_aux": "grad",
    "grad_f": "grad",
    "grad_f_aux": "grad",
    "jacfun": "jacobian",
    "wrapped": "pmap",
}


class Listener(Protocol):
    """Whoever is interested in calls. It may raise only what is to reach the program."""

    def called(self, call: Call, caller: FrameType | None) -> None:
        """A call is about to be made."""
        ...

    def done(self) -> None:
        """The last call of this thread has been dispatched."""
        ...

    def compiling(self, seconds: float) -> None:
        """A part of the compilation of this thread's call took so long."""
        ...

    def failed(self, error: Exception) -> None:
        """A call could not be understood."""
        ...


@contextmanager
def watching(listener: Listener, *, each: bool = False) -> Generator[None]:
    """Report calls inside to a listener.

    With `each`, those of jitted functions are reported that JAX knows already, too.
    """
    own = threading.local()  # what the listener itself calls is not the program's

    def report(read: Callable[[], tuple[Call | None, FrameType | None]]) -> None:
        own.busy = True
        try:
            try:
                call, caller = read()
            except Exception as error:  # It is ours, and must not reach the program.
                listener.failed(error)
                return
            if call is not None:
                listener.called(call, caller)
        finally:
            own.busy = False

    def is_of_program() -> bool:
        return not getattr(own, "busy", False) and not is_tracing()

    def jitted(call: JitCall) -> None:
        if is_of_program():
            listener.done()
            frame = sys._getframe(2)
            report(lambda: (_of_jit(call, frame), _outside(frame)[1]))

    def dispatched() -> None:
        if is_of_program():
            listener.done()

    def watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            if is_of_program():
                frame = sys._getframe(1)
                report(lambda: _of_entry(frame, name, original, args, kwargs))
            return original(*args, **kwargs)

        return replacement

    for file in (_jax.__file__, __file__):
        _jax.leave_out_of_tracebacks(file)
    with ExitStack() as stack:
        stack.enter_context(jit_calls_watched(jitted, dispatched, each=each))
        stack.enter_context(compile_times_reported(listener.compiling))
        originals = {name: ENTRY_POINTS[name] for name in _WATCHED}
        replacements = {id(it): watched(name, it) for name, it in originals.items()}
        stack.enter_context(replaced_everywhere(replacements))
        yield


def _outside(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """The outermost frame of JAX's that means something, and the program's frame that called it."""
    border: FrameType | None = None
    while frame is not None and is_jax(file := frame.f_code.co_filename):
        if file not in PASSED_THROUGH and not _is_ours(file):
            border = frame
        frame = frame.f_back
    return border, frame


_OWN = __file__.rpartition("audit")[0]


def _is_ours(file: str) -> bool:
    return file.startswith(_OWN)


def _of_jit(call: JitCall, frame: FrameType) -> Call | None:
    origin = origin_of(call.function)
    if origin is None:
        return None
    if is_jax(origin.file):
        # `jnp.sum` is jitted as well; `pmap` jits a function of its own around the user's.
        border, _ = _outside(frame)
        is_users = border is not None and _users((call.function,)) is not None
        return _rebuilt(border, only="pmap") if border is not None and is_users else None
    if (wrapper := _wrapper(frame)) is not None:
        return wrapper
    static = frozenset((*call.static_argnums, *call.static_argnames))
    donated = frozenset((*call.donate_argnums, *call.donate_argnames))
    again = jax.jit(
        call.function,
        static_argnums=call.static_argnums,
        static_argnames=call.static_argnames,
    )
    return Call("jit", origin, again, call.args, call.kwargs, static, donated, call.function)


def _wrapper(frame: FrameType | None) -> Call | None:
    """The call of a library's own form of `jit`, if it is by one that JAX was called.

    Such an object wraps a function of the program's, and jits one of the library's that takes its
    arguments in another form, without their names. The object itself is called again.
    """
    found: Call | None = None
    while frame is not None and not _user_code.owns(frame.f_code.co_filename):
        code, local = frame.f_code, frame.f_locals
        if code.co_name == "__call__" and code.co_argcount:
            wrapper = local.get(code.co_varnames[0])
            origin = origin_of(wrapper)
            if (
                callable(wrapper)
                and hasattr(wrapper, "__wrapped__")
                and origin
                and _user_code.owns(origin.file)
            ):
                (_, *args), kwargs = _arguments(frame)
                found = Call("jit", origin, wrapper, tuple(args), kwargs, transformed=wrapper)
        frame = frame.f_back
    return found


_user_code = UserCode()


def _of_entry(
    frame: FrameType,
    name: str,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Call | None, FrameType | None]:
    border, caller = _outside(frame)
    call = _direct(name, original, args, kwargs) if border is None else _rebuilt(border)
    return call, caller


def _direct(
    name: str, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Call | None:
    """A call of one of JAX's functions that takes the user's as an argument."""
    found = _users((*args, *kwargs.values()))
    return found and Call(name, found[1], original, args, kwargs, transformed=found[0])


def _rebuilt(frame: FrameType, only: str = "") -> Call | None:
    """The call that a frame of JAX's is in the middle of, if it has a function of the user's."""
    code, local = frame.f_code, frame.f_locals
    kind = _KINDS.get(code.co_name, code.co_name)
    if only and kind != only:
        return None
    closed_over = {name: local.get(name) for name in code.co_freevars}
    found = _users((closed_over | dict(local)).values())
    if found is None or any(name not in local for name in code.co_freevars):
        return None
    function = _function_of(frame, found[0])
    args, kwargs = _arguments(frame)
    return Call(kind, found[1], function, args, kwargs, transformed=found[0])


def _function_of(frame: FrameType, transformed: Any) -> Any:
    """A function that does what a frame's does: itself, if its module has it, or one like it."""
    code = frame.f_code
    known = unwrapped(frame.f_globals.get(code.co_name))
    if getattr(known, "__code__", None) is code:
        return known
    cells = tuple(CellType(frame.f_locals[name]) for name in code.co_freevars)
    function: Any = FunctionType(code, frame.f_globals, code.co_name, None, cells)
    if not code.co_argcount:  # It takes whatever the function takes that was transformed.
        function.__wrapped__ = transformed
    return function


def _arguments(frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a frame's function was called with."""
    info = inspect.getargvalues(frame)
    code = frame.f_code
    positional = info.args[: code.co_argcount]
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    args = [info.locals[name] for name in positional]
    args += info.locals[info.varargs] if info.varargs else ()
    # JAX deletes what it does not support any more, which has its default then.
    kwargs = {name: info.locals[name] for name in named if name in info.locals}
    kwargs |= info.locals[info.keywords] if info.keywords else {}
    return tuple(args), kwargs


def _users(values: Iterable[Any]) -> tuple[Any, Origin] | None:
    """The first function that is not JAX's among values, or closed over by a function of JAX's."""
    waiting, seen = [value for value in values if callable(value)], set[int]()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        value = waiting.pop(0)
        if id(value) in seen or value is None or isinstance(value, type):
            continue
        seen.add(id(value))
        # A mesh can be called, as a decorator, by code of the standard library.
        is_object_of_jax = type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
        origin = origin_of(value) if callable(value) and not is_object_of_jax else None
        if origin is not None and not is_jax(origin.file):
            return value, origin
        waiting += _closed_over(value)
    return None


_MOST_LOOKED_AT = 50


def _closed_over(function: Any) -> list[Any]:
    """What a function holds: wrapped, bound, in its closure, or in JAX's own form of functions."""
    names = ("__self__", "__wrapped__", "func", "f")
    found = [getattr(function, name, None) for name in names]
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # it is empty as yet
            found.append(cell.cell_contents)
    return found
