"""What a program's functions were called with when it ran, and a run of each on that.

Annotations say what holds for every call, and what was observed is one call. So nothing else is
replaced by it: after everything that is run of a file in any case, a function that was seen runs
once more with parameters of the observed types, where its author has not declared others. What this
finds happens in a call that the program makes.

A function is known by its name and its text (`definitions`). One that has been edited since is as
if it had never been seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .classes import innermost_function
from .definitions import definitions
from .machine import Interpreter
from .project import Module
from .runs import names_object, run_generic
from .values import Data, Function, Value


class Parameter(NamedTuple):
    """An array that a function was called with; a size that differs between calls is `None`."""

    dtype: str
    shape: tuple[int | None, ...]
    is_key: bool = False


# By name and digest of a function, its parameters by their names.
Seen = Mapping[tuple[str, str], Mapping[str, Parameter]]


def encoded(seen: Seen) -> str:
    """What was observed of one file's functions as text, the same for the same."""
    return json.dumps(sorted([*key, sorted(own.items())] for key, own in seen.items()))


def decoded(text: str) -> Seen:
    """What `encoded` has made a text of."""
    return {
        (name, digest): {
            parameter: Parameter(dtype, tuple(shape), is_key)
            for parameter, (dtype, shape, is_key) in own
        }
        for name, digest, own in json.loads(text)
    }


def run_observed(machine: Interpreter, module: Module, seen: Seen) -> int:
    """Run the functions of a module that were observed, on what they were called with.

    Returns how many these are.
    """
    count = 0
    all_ = definitions(module.syntax, module.text)
    known = {it.syntax: seen.get((it.name, it.digest)) for it in all_}
    for function in _functions(machine, module):
        parameters = known.get(function.syntax)
        if parameters:
            count += 1
            owner = machine.record.objects.get(function.cls) if function.cls else None
            is_method = owner is not None and names_object(function)
            run_generic(machine, function, owner if is_method else None, _learning(parameters))
    return count


def _functions(machine: Interpreter, module: Module) -> list[Function]:
    """The functions that a module defines, wherever in it, as they are before any decorator."""
    values = list[Value](machine.record.defined)
    values += module.frame.environment.values() if module.frame is not None else ()
    for cls in machine.record.classes:
        values += cls.attributes.values()
    functions = filter(None, map(innermost_function, values))
    own = {it.syntax: it for it in functions if it.frame.module is module}
    return list(own.values())


def _learning(parameters: Mapping[str, Parameter]) -> Callable[[dict[str, Value]], None]:
    def learn(given: dict[str, Value]) -> None:
        for name, parameter in parameters.items():
            value = given.get(name)
            if isinstance(value, Data) and value.node.shape is None:
                node = value.node
                node.shape, node.is_key = parameter.shape, parameter.is_key
                node.dtype = "key" if parameter.is_key else node.dtype or parameter.dtype or None
                value.is_array = True

    return learn
