"""Static arguments that do not exist, or cannot be hashed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.binding import all_names
from ...source.events import Applied, Made
from ...source.library.options import constants, free_names
from ...source.parameters import positional
from ...source.queries.arguments import static_arguments
from ...source.values import (
    Bound,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
)
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Event
    from ...source.facts import SourceFacts
    from ...source.values import Class, Value

_OPTIONS = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Numbers and names without a parameter, and values without a hash."""
    for made in facts.events(Made):
        if made.transformed.kind == "jit" and not made.transformed.is_filtered:
            yield from _missing(made)
    for applied in facts.events(Applied):
        for name, value in static_arguments(applied):
            kind = _unhashable(value)
            if kind:
                # Where it is jitted stands for calls elsewhere.
                how = "takes" if applied.syntax is applied.transformed.syntax else "passes"
                yield _found(
                    applied,
                    f"`{applied.text}` {how} {kind} as `{name}`, which is static",
                    "static arguments have a hash: numbers, strings, tuples, frozen dataclasses",
                    "Pass a tuple instead of a list, a frozen dataclass instead of a dict or an "
                    "ordinary one, and arrays as ordinary arguments.",
                )


def _missing(made: Made) -> Iterator[Finding]:
    value = made.transformed.function
    function = value.function if isinstance(value, (Bound, Partial)) else value
    if not isinstance(function, Function):
        return
    positions = free_names(made.transformed)
    taken = len(positional(function.syntax)) - len(positions)
    names = all_names(function)[taken:]
    arguments = function.syntax.args
    for option in _OPTIONS:
        for given in constants(made.transformed.options.get(option)):
            if isinstance(given, bool):
                continue
            if isinstance(given, int):
                is_there = -len(positions) <= given < len(positions) or arguments.vararg is not None
            else:
                is_there = given in names or arguments.kwarg is not None
            if not is_there:
                listed = ", ".join(names) or "none"
                yield _found(
                    made,
                    f"`{option}` asks for {given!r}, and `{function.name}` has no such parameter "
                    f"(it has {listed})",
                    "the number or name of a parameter",
                    "Name the parameter as it is written in the function.",
                )


def _unhashable(value: Value) -> str:
    if isinstance(value, Sequence):
        return f"a {value.kind}" if value.kind in ("list", "set") else ""
    if isinstance(value, Mapping):
        return "a dict"
    if isinstance(value, Instance):
        return f"a {value.cls.name}" if _has_no_hash(value.cls) else ""
    if not isinstance(value, Data) or value.traced:
        return ""
    node = value.node
    if node.is_key:
        return "a random key, an array,"
    if not value.is_array:
        return ""
    while node.inputs and (node.operation == "item" or node.operation.startswith("ndarray.")):
        node = node.inputs[0]
    if node.operation.startswith(("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.")):
        return "an array"
    # A number of NumPy has a hash, and shape ().
    return "an array" if value.node.operation.startswith("numpy.") and value.node.shape else ""


def _has_no_hash(cls: Class) -> bool:
    """Whether it is a dataclass that compares its fields and may change."""
    if cls.find("__hash__") is not None:
        return False
    for decorator in cls.decorators:
        if isinstance(decorator, External) and decorator.name == "dataclasses.dataclass":
            return True
        if isinstance(decorator, Partial) and isinstance(decorator.function, External):
            options = decorator.keywords
            is_plain = all(
                isinstance(value, Constant) and bool(value.value) is (name == "eq")
                for name, value in options.items()
                if name in ("frozen", "unsafe_hash", "eq")
            )
            return decorator.function.name == "dataclasses.dataclass" and is_plain
    return False


def _found(event: Event, current: str, expected: str, fix: str) -> Finding:
    return RULE.finding(
        event.place, current=current, expected=expected, fix=fix, engine=Engine.SOURCE
    )


RULE = Rule(
    code="JT105",
    name="static-argument-wrong",
    title="Static argument that cannot be one",
    family="jit",
    severity=Severity.ERROR,
    explanation="""\
Arguments in `static_argnums` and `static_argnames` are looked up by their hash: lists, dicts,
arrays and ordinary dataclasses have none. A number or a name that no parameter has raises as well.
""",
    wrong="""\
import functools

import jax
import jax.numpy as jnp

@functools.partial(jax.jit, static_argnames="shape")
def grid(x, shape):
    return jnp.reshape(x, shape)

def entry(x):
    return grid(x, [2, 3])

def inputs():
    return (jnp.ones(6),)
""",
    right="""\
import functools

import jax
import jax.numpy as jnp

@functools.partial(jax.jit, static_argnames="shape")
def grid(x, shape):
    return jnp.reshape(x, shape)

def entry(x):
    return grid(x, (2, 3))

def inputs():
    return (jnp.ones(6),)
""",
    source=check_source,
)
