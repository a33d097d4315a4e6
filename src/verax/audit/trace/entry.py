"""From a function and example arguments to its program, whether or not it can be traced.

Arrays, their types and random keys become inputs; everything else in the arguments (Python
numbers, strings, functions, flags) is passed as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np

from ..._jax import whole_tracebacks
from ..finding import Place
from .build import Builder
from .capture import regions
from .observe import Observation, Observer
from .parameters import parameter_name
from .places import UserCode, place_of_function
from .program import Program
from .staging.unmarked import notes_taken


@dataclass(frozen=True)
class Input:
    """A flat input: its path from the parameter on, and its contents where they were given."""

    name: str
    type: Any
    concrete: Any = None

    @property
    def parameter(self) -> str:
        """The parameter that it belongs to."""
        return self.name.partition("[")[0].partition(".")[0]


@dataclass
class Traced:
    """What tracing gave: the program, or as much of it as there was before it failed."""

    function: Callable[..., Any]
    name: str
    place: Place | None
    program: Program
    inputs: list[Input]
    outputs: list[str]
    user_code: UserCode
    failure: Exception | None = None
    notes: list[str] = field(default_factory=list[str])
    observations: list[Observation] = field(default_factory=list[Observation])
    # Python's numbers among the arguments, which the program holds as constants.
    numbers: dict[str, float] = field(default_factory=dict[str, float])


def trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    user_code: UserCode | None = None,
) -> Traced:
    """Trace a function on example arguments."""
    user_code = user_code or UserCode(function)
    observer = Observer(user_code)
    entry = Entry(function, args, kwargs, observer)
    notes: list[str] = []
    with notes_taken() as unmarked:
        try:
            jaxpr, failure = entry.jaxpr(partial(regions, observer))
        except Exception as error:  # Not the user's error: those are caught inside of the trace.
            jaxpr, failure = None, error
    if failure is not None:
        plain, plain_failure = entry.jaxpr()
        if plain_failure is None:
            notes.append(
                "transformations could not be marked while tracing, so that vmap and grad are "
                f"not shown: {type(failure).__name__}: {failure}"
            )
            jaxpr = plain
        jaxpr, failure = (plain if jaxpr is None else jaxpr), plain_failure
    else:
        notes += unmarked
    if failure is not None:
        jaxpr = _until_failure(entry, observer) or jaxpr
        notes.append(
            "the program cannot be traced to its end; shown is what comes before the error"
        )
    observer.check_round_trips()
    program = Builder(user_code).program(jaxpr, [leaf.name for leaf in entry.inputs])
    return Traced(
        function=function,
        name=getattr(function, "__qualname__", getattr(function, "__name__", repr(function))),
        place=place_of_function(function),
        program=program,
        inputs=entry.inputs,
        outputs=entry.outputs,
        user_code=user_code,
        failure=failure,
        notes=notes,
        observations=observer.seen,
        numbers=entry.numbers,
    )


def _until_failure(entry: Entry, observer: Observer) -> Any:
    """A failing program up to its error, also where that is inside of a jit or a loop."""
    try:
        jaxpr, _ = entry.jaxpr(partial(regions, observer, salvage=True))
    except Exception:
        return None
    return jaxpr


class Entry:
    """A function of flat arrays, around the user's function."""

    def __init__(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], observer: Observer
    ):
        self._function = function
        everything = (tuple(args), dict(kwargs))
        leaves, self._tree = jax.tree.flatten(everything, is_leaf=observer.remember)
        paths = [path for path, _ in jax.tree.leaves_with_path((tuple(args), dict(kwargs)))]
        names = [_name(function, path) for path in paths]
        self._dynamic = [_is_array(leaf) for leaf in leaves]
        self._static = [
            None if is_array else leaf for leaf, is_array in zip(leaves, self._dynamic, strict=True)
        ]
        self.inputs: list[Input] = [
            Input(name, _type(leaf), None if isinstance(leaf, jax.ShapeDtypeStruct) else leaf)
            for name, leaf, is_array in zip(names, leaves, self._dynamic, strict=True)
            if is_array
        ]
        self.numbers: dict[str, float] = {
            name: leaf
            for name, leaf in zip(names, leaves, strict=True)
            if isinstance(leaf, (int, float))
        }
        self.outputs: list[str] = []

    def jaxpr(self, around: Callable[[], Any] | None = None) -> tuple[Any, Exception | None]:
        """The program, and the user's error if there was one."""
        failure: list[Exception] = []

        def flat(*arrays: Any) -> list[Any]:
            rest = iter(arrays)
            leaves = [
                next(rest) if is_array else static
                for is_array, static in zip(self._dynamic, self._static, strict=True)
            ]
            args, kwargs = jax.tree.unflatten(self._tree, leaves)
            try:
                out = self._function(*args, **kwargs)
                found = [it for it in jax.tree.leaves_with_path(out) if _is_array(it[1])]
            except Exception as error:
                failure.append(error)
                return []
            self.outputs = [jax.tree_util.keystr(path) for path, _ in found]
            return [leaf for _, leaf in found]

        types = [leaf.type for leaf in self.inputs]
        with whole_tracebacks(), around() if around is not None else nullcontext():
            jaxpr = jax.make_jaxpr(flat)(*types)
        return jaxpr, failure[0] if failure else None


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct))


def _type(leaf: Any) -> jax.ShapeDtypeStruct:
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def _name(function: Any, path: Sequence[Any]) -> str:
    """A leaf's name in the user's words: the parameter, then the way to the leaf."""
    where, argument, *rest = path
    by_keyword = where.idx == 1
    parameter = str(argument.key) if by_keyword else parameter_name(function, argument.idx)
    return parameter + jax.tree_util.keystr(tuple(rest))
