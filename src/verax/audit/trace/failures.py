"""Why a program could not be traced: an exception read as facts.

JAX raises with long messages that hold the facts as text. One table recognises them; what it does
not know is of the kind "error". The frames of the traceback tell where in the user's code it
happened, and what the names in that line were.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ..finding import Evidence, Place
from ..report import Tensor
from .describe import assigned_name, axes_of
from .facts import Facts
from .places import place_at
from .sources import Statement


@dataclass(frozen=True)
class Pattern:
    """Messages that mean one thing: kinds of exception, and what their text contains."""

    kind: str
    text: str
    errors: tuple[type[BaseException], ...] = (Exception,)


_BOOLEAN = (jax.errors.TracerBoolConversionError,)

# The first that fits decides. Groups with a name are the facts of a failure.
PATTERNS: tuple[Pattern, ...] = (
    Pattern("condition", r"traced array with shape (?P<type>\S+\])", _BOOLEAN),
    Pattern("mask", r"indices must be concrete; got (?P<type>\S+\])"),
    Pattern(
        "mask",
        r"(size argument of (?P<function>jnp\.\w+) must be statically|argument of "
        r"(?P<other>jnp\.\w+)\(\).*size argument)",
    ),
    Pattern("size", r"Shapes must be 1D sequences of concrete values"),
    Pattern("size", r"(Slice entries must be static|slice indices must have static)"),
    Pattern("python value", r"arose with the `(?P<function>\w+)` function"),
    Pattern(
        "python value",
        r"(?P<function>__index__)\(\) method was called on traced array with shape (?P<type>\S+\])",
    ),
    Pattern(
        "python value",
        r"(?P<function>__array__)\(\) was called on traced array with shape (?P<type>\S+\])",
    ),
    Pattern(
        "python value",
        r"Abstract tracer value encountered where concrete value is expected: traced "
        r"array with shape (?P<type>\S+\])",
    ),
    Pattern("python value", r"(?P<function>format) string passed to \w*Tracer"),
    Pattern("static argument", r"Non-hashable static arguments.*of type <class '(?P<cls>[^']+)'>"),
    Pattern("dict key", r"unhashable type: '(\w*Tracer|ArrayImpl)'", (TypeError,)),
    Pattern("written in place", r"JAX arrays are immutable", (TypeError,)),
    Pattern(
        "carry",
        r"(?P<loop>scan|while_loop|fori_loop) body function carry input and carry output must have",
    ),
    Pattern("not a pair", r"scan body output must be a pair, got (?P<got>.+)\."),
    Pattern(
        "lengths",
        r"scan got (values with different leading axis sizes: (?P<sizes>[\d, ]+)|`length` "
        r"argument of (?P<length>\d+) which disagrees with leading axis sizes "
        r"\[(?P<leading>[\d, ]+)\])",
    ),
    Pattern(
        "loop condition",
        r"cond_fun must return a boolean scalar, but got.*?(?P<type>\w+\[[\d,]*\])",
    ),
    Pattern("branches", r"branch(es| outputs)? must have"),
    Pattern("branch condition", r"Pred must be a scalar, got .* of shape (?P<shape>\([\d, ]*\))"),
    Pattern("axis name", r"unbound axis name:? (?P<name>\w+)"),
    Pattern("mapped sizes", r"(?P<function>vmap|pmap) got inconsistent sizes for array axes"),
    Pattern(
        "mapped sizes",
        r"(?P<function>vmap|pmap) was requested to map its argument along axis "
        r"(?P<axis>-?\d+).*its shape is (?P<shape>\([\d, ]*\))",
    ),
    Pattern("in_axes", r"(?P<function>vmap|pmap) (in_axes|must have at least one non-None)"),
    Pattern(
        "out_axes",
        r"(got axis spec None but output was batched|mapped output, but its out_axes says "
        r"None|(?P<function>vmap|pmap) out_axes)",
    ),
    Pattern(
        "devices",
        r"(requires (?P<needed>\d+) logical devices, but only (?P<there>\d+)|requires "
        r"(?P<replicas>\d+) replicas, but only (?P<local>\d+))",
    ),
    Pattern(
        "class",
        r"(problematic value is of type <class '(?P<cls>[^']+)'> and was passed to the "
        r"function at path (?P<path>\S+?)\.(\n|$))",
    ),
    Pattern("class", r"returned a value of type <class '(?P<cls>[^']+)'>.*not a valid JAX type"),
    Pattern("class", r"of type '?<class '(?P<cls>[^']+)'>'? is not a valid JAX type"),
    Pattern("class", r"value of type <class '(?P<cls>[^']+)'> as an abstract array"),
    Pattern(
        "not an array",
        r"(?P<function>\w+) requires ndarray or scalar arguments, got <class "
        r"'(?P<cls>[^']+)'> at position (?P<position>\d+)",
    ),
    Pattern(
        "not an array",
        r"Value .* with dtype (?P<cls>object|<U\d+|\S+) is not a valid JAX array type",
    ),
    Pattern(
        "vector loss",
        r"Gradient only defined for scalar-output functions\. Output had shape: "
        r"(?P<shape>\([\d, ]*\))",
    ),
    Pattern(
        "tuple loss", r"Gradient only defined for scalar-output functions\. Output was (?P<got>.+)"
    ),
    Pattern("integer loss", r"grad requires real-valued outputs.*but got (?P<dtype>\w+)"),
    Pattern("integer argument", r"requires real- or complex-valued inputs.*but got (?P<dtype>\w+)"),
    Pattern(
        "auxiliary",
        r"(expected function with aux output to return|with has_aux=True the "
        r"differentiated function must)",
    ),
    Pattern(
        "argnums",
        r"differentiating with respect to argnums=(?P<argnums>\S+) requires at least "
        r"(?P<needed>\d+) positional arguments",
    ),
    Pattern("custom rule", r"Custom (?P<which>VJP|JVP)( (?P<part>bwd|fwd))? rule"),
    Pattern("leaked", r"", (jax.errors.UnexpectedTracerError,)),
    Pattern(
        "tree structure",
        r"(pytree structure error|Dict key mismatch|Tuple arity mismatch|List arity "
        r"mismatch|Expected .*, got|Custom node type mismatch)",
        (ValueError,),
    ),
    Pattern(
        "shapes",
        r"requires contracting dimensions to have the same shape, got (?P<left>\([\d, "
        r"]*\)) and (?P<right>\([\d, ]*\))",
    ),
    Pattern(
        "shapes",
        r"([Ii]ncompatible (shapes|types) for broadcasting|Cannot concatenate|cannot "
        r"reshape|must have the same shape|out of bounds for array of dimension|squeeze "
        r"out which has size|does not match previous terms|Too many indices|mismatch in "
        r"its core dimension|iteration over a 0-d array|dimension|shape)",
    ),
)


@dataclass(frozen=True)
class Frame:
    """A frame of the user's at the time of the failure."""

    place: Place
    names: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Operand:
    """Something in the failing line, and the array that it was."""

    text: str
    tensor: Tensor


class Failure:
    """Why and where a program could not be traced."""

    def __init__(self, facts: Facts, error: BaseException):
        self._facts = facts
        self.error = error
        self.text: str = str(error)
        self.kind: str
        self.details: dict[str, str]
        self.kind, self.details = _recognised(error, self.text)
        self.frames: tuple[Frame, ...] = tuple(_frames(facts, error))[::-1]
        self._judge_by_frames()

    def _judge_by_frames(self) -> None:
        """What a message means also depends on who raised it."""
        frames = list(_traceback(self.error))
        owns = self._facts.traced.user_code.owns
        users = [at for at, it in enumerate(frames) if owns(it.tb_frame.f_code.co_filename)]
        below = frames[users[-1] + 1 :] if users else frames
        if not below and self.kind in ("shapes", "tree structure"):
            self.kind = "error"  # The user's own words.
        codes = [it.tb_frame.f_code for it in below]
        in_pmap = any("pmap" in it.co_filename or it.co_qualname.startswith("pmap") for it in codes)
        if in_pmap and self.kind in ("shapes", "mapped sizes"):
            self.kind = "devices"  # Where the device axis is taken off the arguments.

    @property
    def place(self) -> Place:
        """The innermost line of the user's where it happened."""
        if self.frames:
            return self.frames[0].place
        return self._facts.traced.place or Place("<unknown>", 1)

    @property
    def statement(self) -> Statement | None:
        """The statement at that line."""
        return self._facts.sources.statement(self.place)

    @property
    def first_line(self) -> str:
        """The exception's type and the first sentence of its message."""
        line = self.text.strip().partition("\n")[0]
        short = line if len(line) <= 160 else line[:157] + "…"
        return f"{type(self.error).__name__}: {short}" if short else type(self.error).__name__

    def calls(self) -> tuple[Evidence, ...]:
        """How the program got to the failing line, the outermost call first."""
        found: list[Evidence] = []
        for frame in self.frames[:0:-1]:
            statement = self._facts.sources.statement(frame.place)
            text = statement.text if statement else "a call"
            found.append(Evidence(f"called by `{text}`", frame.place))
        return tuple(found)

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The arrays that the failing statement names, with what they were."""
        if not self.frames:
            return ()
        return tuple(self._operands(self.frames[0]))

    def operands_in_words(self) -> str:
        """The arrays of the failing statement: `x` is f32[5,4], `w` is f32[3,2]."""
        return ", ".join(f"`{it.text}` is {it.tensor}" for it in self.operands)

    def _operands(self, frame: Frame) -> Iterator[Operand]:
        statement = self._facts.sources.statement(frame.place)
        seen: set[str] = set()
        for expression in _expressions(statement.text if statement else ""):
            text = ast.unparse(expression)
            if text in seen:
                continue
            seen.add(text)
            try:
                value = _value(expression, frame.names)
            except (LookupError, AttributeError, TypeError):
                continue
            if isinstance(value, (jax.Array, np.ndarray)):
                yield Operand(text, self._tensor(text, value))

    def _tensor(self, text: str, array: Any) -> Tensor:
        shape, dtype = tuple(array.shape), str(array.dtype)
        return Tensor(dtype, shape, self._axes(text, shape))

    def _axes(self, text: str, shape: tuple[int, ...]) -> tuple[str | None, ...]:
        """Names of axes, from a value of the program that has this name and shape."""
        wanted = text.replace('"', "'")
        for value in self._named.get(wanted, ()):
            if value.shape == shape:
                names = axes_of(self._facts, value)
                return names if any(names) else ()
        return ()

    @cached_property
    def _named(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        program = self._facts.program
        for value in program.body.inputs:
            found.setdefault(value.name, []).append(value)
        for step in self._facts.steps:
            for value in step.outputs:
                found.setdefault(assigned_name(self._facts, value), []).append(value)
        return found

    def find_class(self, name: str) -> type | None:
        """A class by its full name, as a message has it, if some frame can see it."""
        import sys

        module, _, cls = name.rpartition(".")
        found = getattr(sys.modules.get(module), cls, None)
        spaces = (frame.names for frame in self.frames)
        found = found or next((it[cls] for it in spaces if cls in it), None)
        return found if isinstance(found, type) else None


def failure_of(facts: Facts) -> Failure | None:
    """Why the program could not be traced, if it could not."""
    error = facts.traced.failure
    return None if error is None else Failure(facts, error)


def _recognised(error: BaseException, text: str) -> tuple[str, dict[str, str]]:
    for pattern in PATTERNS:
        if isinstance(error, pattern.errors):
            found = re.search(pattern.text, text, re.DOTALL if "\n" not in pattern.text else 0)
            if found:
                facts = {name: it for name, it in found.groupdict().items() if it is not None}
                return pattern.kind, facts
    return "error", {}


def _traceback(error: BaseException) -> Iterator[Any]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _frames(facts: Facts, error: BaseException) -> Iterator[Frame]:
    """The user's frames, outermost first."""
    for trace in _traceback(error):
        code = trace.tb_frame.f_code
        if facts.traced.user_code.owns(code.co_filename):
            names = {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals}
            yield Frame(place_at(code, trace.tb_lasti), names)


def _expressions(text: str) -> Iterator[ast.expr]:
    """Names, attributes and items in a statement, outer ones first, not what is assigned."""
    for candidate in (text, f"{text} pass", f"{text}\n pass"):
        try:
            tree = ast.parse(candidate)
            break
        except SyntaxError:
            continue
    else:
        return
    for node in ast.walk(tree):
        loads = isinstance(getattr(node, "ctx", None), ast.Load)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and loads:
            yield node


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of a name, an attribute or an item, without running code of the user's."""
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, names)
        if isinstance(owner, jax.Array):
            raise TypeError("an attribute of an array is computed")
        return (
            vars(owner)[node.attr] if node.attr in _variables(owner) else getattr(owner, node.attr)
        )
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = _value(node.value, names)
        if isinstance(owner, (dict, list, tuple)):
            item: Any = node.slice.value
            return owner[item]  # pyright: ignore[reportUnknownVariableType]
    raise TypeError("not a plain reference")


def _variables(owner: Any) -> Mapping[str, Any]:
    return getattr(owner, "__dict__", {})
