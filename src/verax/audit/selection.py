"""Which findings to keep: `--select` and `--ignore`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .errors import UsageError
from .report import Report


@dataclass(frozen=True)
class Selection:
    """Beginnings of codes to keep (all, where there are none) and to leave out.

    Where both match, the longer one wins, and of two equal ones the one that leaves out.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def keeps(self, code: str) -> bool:
        """Whether findings with this code are kept."""
        kept = _longest(code, self.select) if self.select else 0
        return kept > _longest(code, self.ignore)

    def apply(self, report: Report) -> Report:
        """The report with only what is kept."""
        return replace(
            report,
            issues=tuple(it for it in report.issues if self.keeps(it.code)),
            verified=tuple(it for it in report.verified if self.keeps(it.code)),
            warnings=tuple(it for it in report.warnings if self.keeps(it.code)),
        )


def _longest(code: str, prefixes: Iterable[str]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def parse_codes(texts: Iterable[str], where: str) -> tuple[str, ...]:
    """Beginnings of codes from texts like `AX,RK001,key-reused`.

    Raises:
        UsageError: One means no rule; `where` says where it was written.
    """
    selectors = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if not selectors:
        return ()
    from .rules.registry import UnknownRuleError, code_prefix  # all rules: slow to load

    try:
        return tuple(map(code_prefix, selectors))
    except UnknownRuleError as error:
        raise UsageError(f"{where}: {error}") from None
