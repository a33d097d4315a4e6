"""A failure: its kind, the way to it, and the arrays in the failing line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ...errors import message_of
from ...finding import Evidence, Place
from ...report import Tensor
from ..describe import assigned_name, axes_of
from ..facts import Facts
from ..places import place_at
from ..sources import Statement
from .messages import recognised
from .references import expressions, value_of


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
        self.text: str = message_of(error)
        self.kind: str
        self.details: dict[str, str]
        self.kind, self.details = recognised(error, self.text)
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
        for expression in expressions(statement.text if statement else ""):
            text = ast.unparse(expression)
            if text in seen:
                continue
            seen.add(text)
            try:
                value = value_of(expression, frame.names)
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
