"""`verax.observe`: what `verax run` does for a script, for a part of a program or a notebook."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType

from ...report import Report
from .session import DEFAULT_SIGNATURES, Session


class observe:
    """Watch what runs inside of a `with` block, and audit it afterwards.

    Each function that is jitted, mapped, differentiated or scanned inside is audited on the
    arguments that it was called with. What it computes stays the same.

    Example:
        ```python
        with verax.observe() as seen:
            state = step(state, batch)
        print(seen.report)
        ```

    Args:
        signatures: Audit a function for at most so many kinds of arguments.
        preview: Whether to report what rules in preview find, which have been wrong on correct
            code.
    """

    def __init__(self, *, signatures: int = DEFAULT_SIGNATURES, preview: bool = False):
        self._session = Session(signatures=signatures)
        self._preview = preview
        self._is_over = False

    def __enter__(self) -> observe:
        self._session.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._session.stop()
        self._is_over = True

    @cached_property
    def report(self) -> Report:
        """What was found, once the block is over."""
        if not self._is_over:
            raise RuntimeError("the report is there once the `with verax.observe()` block is over")
        from ...causes import one_a_cause
        from ...selection import Selection
        from .auditing import report_of

        return one_a_cause(Selection(preview=self._preview).apply(report_of(self._session, "run")))
