"""The ways to check a value inside compiled code, behind one interface.

A benchmark writes its program once, with a parameter `check`. It calls
`value = check(value, ok, message, **numbers)` where a condition must hold; the value comes back
because equinox needs to thread it through. What is not installed does not take part.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import checkify

import verax

from .timing import Claim

Check = Callable[..., Any]
Program = Callable[..., Any]


@dataclass(frozen=True)
class Contestant:
    """One library.

    `transform` makes a program into what is compiled; `look` takes what the compiled program
    returns, waits for it, raises if a condition failed, and returns the value.
    """

    check: Check
    transform: Callable[[Program], Program]
    look: Callable[[Any], Any]

    def program(self, function: Program) -> Program:
        """The function of `check` and arguments, as a function of arguments to be compiled."""

        def program(*args: Any) -> Any:
            return function(self.check, *args)

        return self.transform(program)

    def compiled(self, function: Program) -> Callable[..., Any]:
        """The function compiled, with the look at the outcome that follows every call."""
        run = jax.jit(self.program(function))
        return lambda *args: self.look(run(*args))


@dataclass(frozen=True)
class _Chex(Contestant):
    """Chex wraps a function that is already compiled, and looks at the outcome by itself."""

    chexify: Any

    def compiled(self, function: Program) -> Callable[..., Any]:
        run = self.chexify(jax.jit(self.program(function)), async_check=False)
        return lambda *args: jax.block_until_ready(run(*args))


def no_check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
    """For a program without any check."""
    del ok, message, numbers
    return value


def _verax() -> Contestant:
    def check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
        verax.runtime_assert(ok, message, numbers)
        return value

    return Contestant(check, verax.as_result_function, _look_at_result)


def _look_at_result(result: Any) -> Any:
    if not result.all_assertions_pass:
        result.raise_assertion()
    return result.value


def _checkify() -> Contestant:
    def check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
        checkify.check(ok, message, **{name: jnp.asarray(n) for name, n in numbers.items()})
        return value

    def look(outcome: Any) -> Any:
        error, value = outcome
        error.throw()
        return value

    return Contestant(check, checkify.checkify, look)


def _equinox() -> Contestant:
    """The error is raised by a callback from compiled code; its text has no values."""
    equinox = importlib.import_module("equinox")

    def check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
        del numbers
        return equinox.error_if(value, ~ok, message)

    return Contestant(check, lambda program: program, jax.block_until_ready)


def _chex() -> Contestant:
    """A value assertion of a boolean; its text has no values when compiled."""
    chex = importlib.import_module("chex")

    def check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
        del message, numbers
        chex.assert_trees_all_equal(ok, jnp.asarray(True))
        return value

    return _Chex(check, lambda program: program, lambda value: value, chex.chexify)


def _kups() -> Contestant:
    assertion = importlib.import_module("kups.core.assertion")
    result = importlib.import_module("kups.core.result")

    def check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
        arrays = {name: jnp.asarray(number) for name, number in numbers.items()}
        assertion.runtime_assert(ok, message, fmt_args=arrays)
        return value

    return Contestant(check, result.as_result_function, _look_at_result)


_MAKERS = {
    "verax": _verax,
    "checkify": _checkify,
    "equinox": _equinox,
    "chex": _chex,
    "kups": _kups,
}


def _installed() -> tuple[dict[str, Contestant], list[str]]:
    found: dict[str, Contestant] = {}
    missing: list[str] = []
    for name, make in _MAKERS.items():
        try:
            found[name] = make()
        except ImportError:
            missing.append(name)
    return found, missing


CONTESTANTS, MISSING = _installed()


def ahead_of_peers(contestants: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claim that verax takes less time than each other library that takes part."""
    peers = [name for name in _MAKERS if name in contestants and name != "verax"]
    return tuple(Claim("verax", peer, 1.0) for peer in peers)


def versions() -> dict[str, str]:
    """Versions of JAX and of every library that takes part."""
    names = ["jax", "jaxlib", *(name for name in CONTESTANTS if name not in ("verax", "checkify"))]
    return {"verax": verax.__version__, **{n: importlib.metadata.version(n) for n in names}}
