"""What a program was seen to call: each function with the signatures that it was called with.

The recorder is a listener. Whatever goes wrong in it is remembered and told in the report; the
program never sees it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from ...errors import described
from ...finding import Place
from ...trace.places import UserCode, place_at
from .bodies import Bodies
from .calls import Call, Origin, Signature, signature_of
from .copies import DEFAULT_BUDGET, Copies
from .steps import Steps

# Limits how many signatures and compilations of one function are kept.
_MOST = 1000


@dataclass
class Compiled:
    """One compilation of a function: what for, where it was called from, and what it took."""

    signature: Signature
    place: Place | None
    function: Callable[[], Any]
    seconds: float = 0.0


@dataclass
class Observed:
    """A function that the program transformed, and what it was called with.

    `calls` are the first calls of as many signatures as are to be audited, with arguments that do
    not change any more: copies, or types.
    """

    kind: str
    origin: Origin
    calls: list[Call] = field(default_factory=list[Call])
    compiled: list[Compiled] = field(default_factory=list[Compiled])
    signatures: dict[Signature, int] = field(default_factory=dict[Signature, int])


class Recorder:
    """Takes notes of calls; with `steps`, it ends the program after so many steps."""

    def __init__(self, *, signatures: int = 3, steps: int = 0, budget: int = DEFAULT_BUDGET):
        self.functions: dict[tuple[str, Origin], Observed] = {}
        self.failures: list[str] = []
        self.bodies: Bodies = Bodies()  # filled by the audit, which traces what was called
        self._signatures, self._steps = signatures, Steps(steps) if steps else None
        self._copies = Copies(budget)
        self._user_code = UserCode()
        self._lock = threading.RLock()
        self._thread = threading.local()
        self._process = os.getpid()

    @property
    def is_forked(self) -> bool:
        """Whether this is a process that the program has forked, which reports nothing."""
        return os.getpid() != self._process

    def called(self, call: Call, caller: FrameType | None) -> None:
        """Take note of a call."""
        if self.is_forked:
            return
        try:
            with self._lock:
                self._note(call, caller)
        except Exception as error:
            self.failed(error)
        if self._steps is not None and caller is not None:
            self._steps.count(caller)

    def done(self) -> None:
        """The call is over: what is compiled now is for another."""
        self._thread.now = None

    def compiling(self, seconds: float) -> None:
        """Add to what the present call took. One for which nothing is compiled is none of these."""
        now: tuple[Observed, Compiled] | None = getattr(self._thread, "now", None)
        if now is None:
            return
        function, compiled = now
        if not compiled.seconds and len(function.compiled) < _MOST:
            function.compiled.append(compiled)
        compiled.seconds += seconds

    def _note(self, call: Call, caller: FrameType | None) -> None:
        function = self.functions.setdefault(
            (call.kind, call.origin), Observed(call.kind, call.origin)
        )
        signature = signature_of(call)
        is_new = signature not in function.signatures
        if is_new and len(function.signatures) < _MOST:
            function.signatures[signature] = 0
        if not is_new:
            function.signatures[signature] += 1
        if is_new and len(function.calls) < self._signatures:
            function.calls.append(self._kept(call, is_first=not function.calls))
        if call.kind in ("jit", "pmap"):
            compiled = Compiled(signature, self._place(caller), _reference(call.transformed))
            self._thread.now = function, compiled

    def _kept(self, call: Call, is_first: bool) -> Call:
        copies = self._copies if is_first else Copies(0)
        args = tuple(self._argument(call, copies, i, value) for i, value in enumerate(call.args))
        kwargs = {name: self._argument(call, copies, name, it) for name, it in call.kwargs.items()}
        return replace(call, args=args, kwargs=kwargs)

    def _argument(self, call: Call, copies: Copies, at: int | str, value: Any) -> Any:
        return value if at in call.static else copies.of(value)

    def _place(self, frame: FrameType | None) -> Place | None:
        """The line of the user's that a call comes from."""
        while frame is not None:
            if self._user_code.owns(frame.f_code.co_filename):
                return place_at(frame.f_code, frame.f_lasti)
            frame = frame.f_back
        return None

    def failed(self, error: Exception) -> None:
        """Remember that a call could not be observed, and why."""
        text = f"a call could not be observed: {described(error)}"
        if text not in self.failures:
            self.failures.append(text)


def _reference(function: Any) -> Callable[[], Any]:
    """A reference that keeps nothing alive; what cannot be referred to counts as gone."""
    try:
        return weakref.ref(getattr(function, "__func__", function))
    except TypeError:
        return lambda: None
