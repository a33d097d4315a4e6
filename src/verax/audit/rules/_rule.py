"""What a rule is: documentation that runs, and a check from facts to findings.

A rule is one small file in the folder of its family. Its documentation holds a wrong and a right
program, which the tests audit: the rule has to fire on the first and stay silent on the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..finding import Confidence, Edit, Engine, Evidence, Finding, Place, Severity, Verified
from ..phrases import unquoted

FAMILIES = {
    "dataflow": "DF",
    "axis": "AX",
    "scan": "SC",
    "vmap": "VM",
    "jit": "JT",
    "pytree": "PT",
    "grad": "GR",
    "prng": "RK",
    "env": "EN",
}

# What a check yields. A finding whose rule only warns goes to the section of warnings.
Verdict = Finding | Verified
Check = Callable[[Any], Iterator[Verdict]]


@dataclass(frozen=True)
class Rule:
    """One thing that the auditor looks for.

    `name` is for reading ("key-reused"), `title` for the report. `explanation` says what it finds
    and why that matters, in Markdown. `wrong` and `right` are whole programs with an `entry`, its
    `inputs()` and, where axes have a meaning, `AXES`. `trace` and `source` check the facts of an
    engine; a rule may have either or both. An error is raised `while_tracing`, or only by the
    compiled program. What `verified` entries of the trace say rules out findings of the rule, and
    of the others that it `also_rules_out`. A finding of a rule that it `explains`, at one of the
    same lines, is of the same defect. `by_absence` says that a finding follows from what a program
    does not do: it is reported only where nothing of the program is missing. `proves_all` says that
    a `verified` entry is about all that a function runs, and not only about its line.

    A finding is as certain as `confidence` says only if that is backed. `exact` says why a traced
    finding cannot be wrong: it reports what JAX raises, or what the trace has established. `proven`
    is for a rule that was right often enough, and `preview` for one that was wrong too often; the
    record decides about both (`verax.audit.record`), and a test compares.
    """

    code: str
    name: str
    title: str
    family: str
    severity: Severity
    explanation: str
    wrong: str
    right: str
    confidence: Confidence = Confidence.CERTAIN
    warns: bool = False
    exact: str = ""
    proven: bool = False
    preview: bool = False
    while_tracing: bool = True
    also_rules_out: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    by_absence: bool = False
    proves_all: bool = False
    trace: Check | None = field(default=None, compare=False)
    source: Check | None = field(default=None, compare=False)

    def finding(
        self,
        place: Place,
        *,
        current: str,
        expected: str,
        fix: str,
        evidence: tuple[Evidence, ...] = (),
        engine: Engine = Engine.TRACE,
        confidence: Confidence | None = None,
        severity: Severity | None = None,
        edit: Edit | None = None,
    ) -> Finding:
        """A finding of this rule at one place, certain only if the rule may say so."""
        confidence = confidence or self.confidence
        if not self.may_be_certain(engine):
            confidence = Confidence.LIKELY
        here = (place.file, place.line)
        return Finding(
            code=self.code,
            family=self.family,
            title=self.title,
            severity=severity or self.severity,
            confidence=confidence,
            place=place,
            current=unquoted(current),
            expected=unquoted(expected),
            fix=unquoted(fix),
            engine=engine,
            evidence=tuple(replace(it, text=unquoted(it.text)) for it in evidence),
            edit=edit,
            # What happened is reported, however often the static analysis was wrong about it.
            preview=self.preview and not self._is_exact(engine),
            paths=frozenset(((),) if place.calls is None else ((here, *place.calls),)),
        )

    def may_be_certain(self, engine: Engine) -> bool:
        """Whether findings of an engine can be certain, by their construction or by the record."""
        return self.proven or self._is_exact(engine)

    def _is_exact(self, engine: Engine) -> bool:
        return engine is Engine.TRACE and bool(self.exact)

    def verified(self, claim: str, reason: str, place: Place | None = None) -> Verified:
        """A claim of this rule that was proved."""
        return Verified(self.code, self.family, claim, reason, place, self.preview)
