"""Which findings to keep: `--select`, `--ignore` and `--preview`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .errors import UsageError
from .finding import Finding, Verified
from .report import Report


@dataclass(frozen=True)
class Selection:
    """Beginnings of codes to keep (all, where there are none) and to leave out.

    Where both match, the longer one wins, and of two equal ones the one that leaves out. What rules
    in preview say is kept only with `preview`.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool = False

    def keeps(self, code: str) -> bool:
        """Whether findings with this code are kept, apart from preview."""
        kept = _longest(code, self.select) if self.select else 0
        return kept > _longest(code, self.ignore)

    def apply(self, report: Report) -> Report:
        """The report with only what is kept."""
        return replace(
            report,
            issues=tuple(filter(self._keeps, report.issues)),
            verified=tuple(filter(self._keeps, report.verified)),
            warnings=tuple(filter(self._keeps, report.warnings)),
        )

    def _keeps(self, entry: Finding | Verified) -> bool:
        return (self.preview or not entry.preview) and self.keeps(entry.code)

    def silent(self) -> tuple[str, ...]:
        """A note for each code that is selected although its rule is in preview, which is off."""
        if self.preview or not self.select:
            return ()
        from .rules.registry import all_rules  # slow to load

        return tuple(
            f"{rule.code} is in preview; --preview enables it"
            for rule in all_rules()
            if rule.preview and rule.code in self.select
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
