"""Assertions inside compiled code: declared anywhere, collected at the boundary.

`runtime_assert` sends its predicate and values into a side channel. Without a collector that
is nothing at all; `with_runtime_assertions` collects.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from verax.channel import Channel, Emission, Query, ask, caller, collect, emit
from verax.channel import OnUnknown as OnUnknown

from .laws import FIRST, IN_LOOPS, LARGEST, Law
from .messages import placeholders
from .outcome import RuntimeAssertion

P = ParamSpec("P")
R = TypeVar("R")
State = TypeVar("State")

ASSERTIONS = Channel("assertions", IN_LOOPS)

_ALL_PASSED = Query(ASSERTIONS, True, lambda answer, payload: answer & payload["predicate"].all())


@dataclass(frozen=True)
class _Declaration:
    """What an assertion says besides its arrays."""

    message: str
    exception_type: type[Exception]
    static_info: Hashable
    fix_fn: Callable[..., Any] | None
    fix_law: Law
    fmt_static: tuple[tuple[str, Hashable], ...]
    rank: int


def runtime_assert(
    predicate: Any,
    message: str,
    fmt_args: Mapping[str, Any] | None = None,
    exception_type: type[Exception] = AssertionError,
    static_info: Hashable = None,
    fix_fn: Callable[[State, Any], State] | None = None,
    fix_args: Any = None,
    *,
    fix_law: Law = FIRST,
) -> None:
    """Declare that `predicate` holds at this point of a computation.

    The computation goes on whatever its value: the assertion is collected by
    `with_runtime_assertions` or `as_result_function` around the computation, and is nothing
    without them.

    Args:
        predicate: A boolean, or an array of booleans that must all be true.
        message: What to say on failure, with `{name}` for values known only when it runs.
        fmt_args: Values for the placeholders: arrays, pytrees of arrays, or static values.
        exception_type: Raised on failure, with the message.
        static_info: Any hashable value, to tell assertions apart on the host.
        fix_fn: `fix_fn(state, fix_args)` returns a repaired state. Runs on the host.
        fix_args: What `fix_fn` needs: a pytree of arrays.
        fix_law: Which `fix_args` to keep of several failures in loops, lanes and devices:
            of the `FIRST`, or the `LARGEST` elementwise.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from verax import runtime_assert, with_runtime_assertions
        >>> @jax.jit
        ... @with_runtime_assertions
        ... def root(x):
        ...     runtime_assert(x >= 0, "no root of {x:.1f}", {"x": x})
        ...     return jnp.sqrt(x)
        >>> value, (assertion,) = root(jnp.array(-4.0))
        >>> print(str(assertion).splitlines()[0])
        no root of -4.0
    """
    condition = _boolean(predicate)
    fmt_args = _named_values(fmt_args)
    _check_message(message, fmt_args)
    _check_declaration(exception_type, static_info, fix_law)
    _check_fix(fix_fn, fix_args, fix_law)
    dynamic, static = _divide(fmt_args)
    by_law = {FIRST: "first", LARGEST: "largest"}
    payload: dict[str, Any] = {"predicate": condition, "first": {"fmt": dynamic}, "largest": {}}
    payload[by_law[fix_law]]["fix"] = fix_args
    declaration = _Declaration(
        message, exception_type, static_info, fix_fn, fix_law, static, condition.ndim
    )
    emit(ASSERTIONS, payload, static=declaration)


def with_runtime_assertions(
    fn: Callable[P, R], *, on_unknown: OnUnknown = "raise"
) -> Callable[P, tuple[R, list[RuntimeAssertion]]]:
    """Make a function that returns its value and all assertions met while computing it.

    One `RuntimeAssertion` comes out for each `runtime_assert` that was traced, in program
    order (branches in the order of their index, so false before true), wherever it stood: in
    `jit`, loops, branches, `vmap`, derivatives, on devices.
    `on_unknown` says what to do about one inside a primitive that verax cannot take apart.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from verax import runtime_assert, with_runtime_assertions
        >>> def total(xs):
        ...     def step(carry, x):
        ...         runtime_assert(x > 0, "x is {x}", {"x": x})
        ...         return carry + x, None
        ...     return jax.lax.scan(step, 0.0, xs)[0]
        >>> value, (assertion,) = with_runtime_assertions(total)(jnp.array([1.0, -2.0, -3.0]))
        >>> bool(assertion.predicate), assertion.iteration.tolist()
        (False, [1])
    """
    if not callable(fn):
        raise TypeError(
            f"with_runtime_assertions and as_result_function take a function, not {fn!r}. Call "
            "what they return, not what they are given."
        )
    collected = collect(fn, ASSERTIONS, on_unknown=on_unknown)

    @functools.wraps(fn)
    def checked(*args: P.args, **kwargs: P.kwargs) -> tuple[R, list[RuntimeAssertion]]:
        value, emissions = collected(*args, **kwargs)
        return value, [_assertion(emission) for emission in emissions]

    return checked


def check_assertions() -> jax.Array:
    """Whether all assertions so far have passed, as a value inside the computation.

    Lets a compiled step take back its own work, which is the only way when its input buffers
    are donated. In a loop, earlier iterations count; in `vmap`, all lanes. In a bare run, where
    no assertion is checked, it is true.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from verax import as_result_function, check_assertions, runtime_assert
        >>> @jax.jit
        ... @as_result_function
        ... def step(x):
        ...     runtime_assert(x < 3, "too large")
        ...     return jnp.where(check_assertions(), x + 1, x)
        >>> int(step(jnp.array(2)).value), int(step(jnp.array(7)).value)
        (3, 7)
    """
    return ask(_ALL_PASSED)


def _assertion(emission: Emission) -> RuntimeAssertion:
    said = cast(_Declaration, emission.static)
    payload = emission.payload
    fix_args = payload["largest" if said.fix_law is LARGEST else "first"]["fix"]
    return RuntimeAssertion(
        predicate=payload["predicate"],
        message=said.message,
        fmt_args=payload["first"]["fmt"],
        exception_type=said.exception_type,
        static_info=said.static_info,
        fix_fn=said.fix_fn,
        fix_args=fix_args,
        fix_law=said.fix_law,
        fmt_static=said.fmt_static,
        site=emission.site,
        iteration=emission.path,
        rank=said.rank,
    )


def _boolean(predicate: Any) -> jax.Array:
    try:
        array = jnp.asarray(predicate)
    except (TypeError, ValueError):
        raise TypeError(
            f"runtime_assert at {caller()}: the predicate is a boolean or an array of booleans, "
            f"not {type(predicate).__name__}"
        ) from None
    if array.dtype != bool:
        raise TypeError(
            f"runtime_assert at {caller()}: the predicate is an array of {array.dtype}, not of "
            "booleans. Compare it with something, e.g. `x > 0` or `x != 0`."
        )
    return array


def _named_values(fmt_args: Any) -> dict[str, Any]:
    if fmt_args is None:
        return {}
    if not isinstance(fmt_args, Mapping) or not all(isinstance(name, str) for name in fmt_args):
        raise TypeError(
            f"runtime_assert at {caller()}: fmt_args maps names to values, e.g. "
            f"{{'x': x}}, and is {type(fmt_args).__name__}"
            + (" with keys that are not names" if isinstance(fmt_args, Mapping) else "")
        )
    return dict(cast(Mapping[str, Any], fmt_args))


def _check_message(message: Any, fmt_args: Mapping[str, Any]) -> None:
    if not isinstance(message, str):
        raise TypeError(
            f"runtime_assert at {caller()}: the message is a string, not {type(message).__name__}"
        )
    try:
        wanted = placeholders(message)
    except ValueError as error:
        raise ValueError(
            f"runtime_assert at {caller()}: {message!r} is not a format string: {error}. "
            "Write {{ and }} for braces that are meant as such."
        ) from None
    missing = [name for name in wanted if name not in fmt_args]
    if missing:
        holes = ", ".join(f"{{{name}}}" for name in missing)
        raise ValueError(
            f"runtime_assert at {caller()}: the message {message!r} has {holes}, but fmt_args "
            f"has {sorted(fmt_args) or 'nothing'}. Add the value under that name, or write "
            "{{ and }} for braces that are meant as such."
        )


def _check_declaration(exception_type: Any, static_info: Any, fix_law: Any) -> None:
    if not (isinstance(exception_type, type) and issubclass(exception_type, Exception)):
        raise TypeError(
            f"runtime_assert at {caller()}: exception_type is a class of exceptions, "
            f"not {exception_type!r}"
        )
    if not isinstance(fix_law, Law):
        raise TypeError(
            f"runtime_assert at {caller()}: fix_law is FIRST or LARGEST, not {fix_law!r}"
        )
    try:
        hash(static_info)
    except TypeError as error:
        raise TypeError(
            f"runtime_assert at {caller()}: static_info becomes part of the compiled program and "
            f"must be hashable: {error}. Use a tuple for a list; pass arrays in fmt_args."
        ) from None


def _check_fix(fix_fn: Any, fix_args: Any, fix_law: Law) -> None:
    if fix_fn is None:
        if fix_args is not None:
            raise TypeError(
                f"runtime_assert at {caller()}: fix_args are given, but no fix_fn to use them"
            )
        return
    if not callable(fix_fn):
        raise TypeError(
            f"runtime_assert at {caller()}: fix_fn is a function, not {type(fix_fn).__name__}"
        )
    if fix_args is None:
        raise TypeError(
            f"runtime_assert at {caller()}: fix_fn needs fix_args, the values with which "
            "fix_fn(state, fix_args) repairs a state on the host"
        )
    try:
        inspect.signature(fix_fn).bind(object(), object())
    except TypeError as error:
        raise TypeError(
            f"runtime_assert at {caller()}: fix_fn is called as fix_fn(state, fix_args), which "
            f"its signature {inspect.signature(fix_fn)} does not allow: {error}"
        ) from None
    except ValueError:
        pass  # Some functions written in C have no signature to look at.
    for leaf in jax.tree.leaves(fix_args):
        if not _is_number(leaf):
            raise TypeError(
                f"runtime_assert at {caller()}: fix_args are computed values, a pytree of arrays, "
                f"and have a {type(leaf).__name__}. Let fix_fn close over what is known already."
            )
        if fix_law is LARGEST and not _has_order(leaf):
            raise TypeError(
                f"runtime_assert at {caller()}: fix_law=LARGEST takes the maximum of numbers "
                f"that have an order, and fix_args has {jnp.asarray(leaf).dtype}"
            )


def _has_order(leaf: Any) -> bool:
    dtype = jnp.asarray(leaf).dtype
    return jnp.issubdtype(dtype, np.integer) or jnp.issubdtype(dtype, np.floating)


def _divide(
    fmt_args: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[tuple[str, Hashable], ...]]:
    """Values that are computed, and values that are known already (a name, a number, None)."""
    dynamic: dict[str, Any] = {}
    static: list[tuple[str, Hashable]] = []
    for name, value in fmt_args.items():
        leaves = jax.tree.leaves(value)
        if leaves and all(_is_array(leaf) for leaf in leaves):
            dynamic[name] = value
            continue
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"runtime_assert at {caller()}: fmt_args[{name!r}] is neither made of arrays nor "
                f"hashable: {type(value).__name__}. Pass its text, e.g. str(value)."
            ) from None
        static.append((name, value))
    return dynamic, tuple(static)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def _is_number(leaf: Any) -> bool:
    return _is_array(leaf) or isinstance(leaf, (bool, int, float, complex))
