"""Watch a program from the moment at which it imports JAX.

Importing JAX reads variables of the environment, which a program may set before it does so itself.
So nothing of ours imports JAX earlier than the program.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...errors import described

if TYPE_CHECKING:
    from .recorder import Recorder

DEFAULT_SIGNATURES = 3


class Session:
    """A run that is watched: `start`, run, `stop`; then `recorder` has what was seen, if JAX was.

    `failure` says why nothing was seen, if that was our fault; `started` is the time of the start.
    """

    def __init__(self, *, signatures: int = DEFAULT_SIGNATURES, steps: int = 0):
        self.recorder: Recorder | None = None
        self.failure: str = ""
        self.started: float = 0.0
        self._process = os.getpid()
        self._signatures, self._steps = signatures, steps
        self._stack = ExitStack()

    @property
    def is_forked(self) -> bool:
        """Whether this process is a copy, forked by the program, which has no report of its own."""
        return os.getpid() != self._process

    def start(self) -> None:
        """Watch from now on, or from when JAX is there."""
        self.started = time.time()
        if "jax" in sys.modules:
            self._watch()
        else:
            finder = _AfterImport("jax", self._watch)
            sys.meta_path.insert(0, finder)
            self._stack.callback(finder.remove)

    def stop(self) -> None:
        """Watch no longer."""
        self._stack.close()

    def _watch(self) -> None:
        try:
            from .recorder import Recorder
            from .watching import watching

            recorder = Recorder(signatures=self._signatures, steps=self._steps)
            self._stack.enter_context(watching(recorder, each=self._steps > 0))
            self.recorder = recorder
        except Exception as error:
            self.failure = f"the run could not be watched: {described(error)}"


class _AfterImport(MetaPathFinder):
    """Calls a function once, after a module has been imported."""

    def __init__(self, name: str, call: Callable[[], None]):
        self._name, self._call = name, call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as all others find it, which calls us back."""
        if fullname != self._name:
            return None
        self.remove()
        spec = importlib.util.find_spec(fullname)
        loader: Any = spec and spec.loader
        if loader is None:
            return spec
        execute = loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            self._call()

        loader.exec_module = executed
        return spec

    def remove(self) -> None:
        """Look at no further import."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
