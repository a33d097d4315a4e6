"""What makes `verax.audit` both a package and a function.

Type checkers know no callable modules. For them `verax.audit` is the object `audit` below, which
has what the package has; `from verax.audit import Report` they read from the package itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, cast

from . import finding, report


class AuditModule(ModuleType):
    """The class of the module `verax.audit`."""

    AuditError: type[report.AuditError]
    Confidence: type[finding.Confidence]
    Engine: type[finding.Engine]
    Evidence: type[finding.Evidence]
    Finding: type[finding.Finding]
    Place: type[finding.Place]
    Report: type[report.Report]
    Severity: type[finding.Severity]
    Verified: type[finding.Verified]

    def __call__(
        self,
        function: Callable[..., object],
        /,
        *args: Any,
        axes: Mapping[str, Any] | None = None,
        ranges: Mapping[str, Any] | None = None,
        preview: bool = False,
        **kwargs: Any,
    ) -> report.Report:
        """Audit `function` as it would run on these arguments.

        It is traced, not run: arguments may be arrays, `jax.ShapeDtypeStruct`s, random keys, and
        any pytree of these. An exception while tracing is a finding, not an exception here.

        Args:
            function: The function to audit; it may be jitted, mapped, differentiated.
            *args: Example arguments.
            axes: What the axes of a parameter mean: parameter name to `"batch time feat"`, or to a
                pytree of such strings with the structure of the argument. A dict from fields may
                stand for a named tuple or a dataclass.
            ranges: Which values a parameter takes: parameter name to `(low, high)`, nested alike.
            preview: Whether to report what rules in preview find, which have been wrong on correct
                code.
            **kwargs: Example keyword arguments. (For one that is called `axes`, `ranges` or
                `preview`, audit a lambda that passes it on.)

        Returns:
            The report, without findings that a comment `# verax: ignore[CODE] reason` in their
            line suppresses.
        """
        from .causes import one_a_cause
        from .run import audit_callable
        from .selection import Selection
        from .suppressions import without_suppressed

        name = getattr(function, "__qualname__", None) or type(function).__name__
        target = f"{getattr(function, '__module__', None) or '?'}:{name}"
        found = audit_callable(function, args, kwargs, axes=axes, ranges=ranges, target=target)
        kept = Selection(preview=preview).apply(without_suppressed(found))
        return one_a_cause(kept)


audit: AuditModule = cast(AuditModule, sys.modules["verax.audit"])
