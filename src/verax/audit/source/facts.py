"""What rules can ask of a program that the interpreter has gone through."""

from __future__ import annotations

from typing import TypeVar

from .events import Event, Record
from .machine import Interpreter
from .project import Module

_Event = TypeVar("_Event", bound=Event)


class SourceFacts:
    """The facts of one root."""

    def __init__(self, machine: Interpreter, module: Module, strict: bool = False):
        self.machine = machine
        self.module = module
        self.strict = strict

    @property
    def record(self) -> Record:
        """All events."""
        return self.machine.record

    def events(self, kind: type[_Event]) -> list[_Event]:
        """The events of a class, each place and context in the order of the run."""
        return self.machine.record.of(kind)
