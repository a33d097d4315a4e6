"""One report from two: what the static analysis of files says, and what traces of functions show.

A static analysis follows code with arguments of which it knows little. A trace follows it with
those that are given, and has the facts. Where it went the same way and did not meet what the static
analysis says, the static finding is withdrawn: what is said of arguments of any kind does not hold
for these. A way is a line and the calls that lead to it, so that what was found on another way
through the same line stays, as does whatever the trace did not reach. Two things contradict:

- A line that raises, and a trace that has passed it.
- A finding of a rule, and what the same rule has proved of a trace.

What both have found is one finding, in the words of the trace: at one line under two codes, or at
two lines where a failing trace ends at one and the static analysis names it with the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .finding import CallPath, Confidence, Engine, Evidence, Finding, Place, Severity, Verified
from .report import Report, merged
from .rules.explaining import without_explained
from .rules.registry import all_rules

# The rule for whatever ends a trace: it says that, and a static finding says why.
_UNEXPLAINED = "JT299"


def reconciled(read: Report, traced: Report) -> Report:
    """The report of a static analysis and that of traces as one, in which neither contradicts.

    `traced` has to be of an audit with `witness`, which lists the lines that the trace has passed;
    without these, nothing is withdrawn.
    """
    facts = _Facts(traced)
    kept = replace(
        read,
        issues=tuple(it for it in read.issues if not facts.contradict(it)),
        warnings=tuple(it for it in read.warnings if not facts.contradict(it)),
    )
    report = merged([kept, traced])
    return replace(
        report,
        target=traced.target,
        issues=without_explained(_one_a_defect(report.issues)),
        warnings=without_explained(_one_a_defect(report.warnings)),
    )


def needs_witness(read: Report) -> bool:
    """Whether a static analysis says anything that a trace could contradict."""
    traced = {rule.code for rule in all_rules() if rule.trace is not None}
    return any(it.severity is Severity.ERROR or it.code in traced for it in read.findings)


class _Facts:
    """What traces have shown, to hold static findings against."""

    def __init__(self, traced: Report):
        # Each way with all its beginnings: a static analysis starts at any function on it.
        self._passed: frozenset[CallPath] = frozenset(
            path[:end] for path in traced.passed for end in range(1, len(path) + 1)
        )
        self._entries = {_line(flow.place) for flow in traced.data_flow if flow.place is not None}
        self._late = {rule.code for rule in all_rules() if not rule.while_tracing}
        others = {rule.code: rule.also_rules_out for rule in all_rules()}
        self._ruled_out = {
            (code, self._scope(it))
            for it in traced.verified
            for code in (it.code, *others.get(it.code, ()))
        }

    def _scope(self, verified: Verified) -> tuple[str, int] | None:
        """The line that an entry is about, `None` if it is about all of the traced function."""
        if verified.place is None or _line(verified.place) in self._entries:
            return None
        return _line(verified.place)

    def contradict(self, finding: Finding) -> bool:
        """Whether a static finding is not so on any way on which it was found."""
        if finding.engine is not Engine.SOURCE or not _shortest(finding.paths) <= self._passed:
            return False
        if finding.severity is Severity.ERROR and finding.code not in self._late:
            return True
        return any(
            (finding.code, scope) in self._ruled_out for scope in (None, _line(finding.place))
        )


def _shortest(paths: Iterable[CallPath]) -> set[CallPath]:
    """The ways that do not go on another one: what was found with fewer calls known holds there."""
    found: set[CallPath] = set()
    for path in sorted(paths, key=len):
        if not any(path[: len(it)] == it for it in found):
            found.add(path)
    return found


def _line(place: Place) -> tuple[str, int]:
    return (place.file, place.line)


def _one_a_defect(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings of both engines, without those that tell of another's defect as well."""
    reads = [it for it in findings if it.engine is Engine.SOURCE]
    merged_into: dict[Finding, Finding] = {}
    for traced in (it for it in findings if it.engine is Engine.TRACE):
        same = [it for it in reads if it not in merged_into and _are_one(it, traced)]
        if traced.code == _UNEXPLAINED:
            same = same or _only_error_before(traced, reads)
        if same and traced.code == _UNEXPLAINED:
            merged_into[traced], *same = same
            traced = merged_into[traced]
        merged_into.update(dict.fromkeys(same, traced))
    others: dict[Finding, list[Finding]] = {}
    for other, told in merged_into.items():
        others.setdefault(told, []).append(other)
    return tuple(_with(it, others.get(it, ())) for it in findings if it not in merged_into)


def _are_one(read: Finding, traced: Finding) -> bool:
    """Whether two findings of different rules are of one defect."""
    here, there = _line(read.place), _line(traced.place)
    led_here, led_there = _led_by(read), _led_by(traced)
    is_shared = not led_here.isdisjoint(led_there)
    if traced.severity is Severity.ERROR:
        # The trace ends there. What was said to go wrong about that line has gone wrong.
        is_about = here == there or there in led_here or here in led_there or is_shared
        return is_about and (read.severity is Severity.ERROR or read.family == traced.family)
    if read.code == traced.code and there in led_here:
        return True  # The same, of a caller that is known.
    is_same_operation = read.place.column == traced.place.column and read.family == traced.family
    return here == there and (is_same_operation or is_shared)


def _only_error_before(traced: Finding, reads: list[Finding]) -> list[Finding]:
    """What makes a value of which a later line of the same function fails."""
    place = traced.place
    before = [
        it
        for it in reads
        if it.severity is Severity.ERROR
        and (it.place.file, it.place.function) == (place.file, place.function)
        and it.place.line < place.line
    ]
    return before if len(before) == 1 else []


def _led_by(finding: Finding) -> set[tuple[str, int]]:
    return {_line(it.place) for it in finding.evidence if it.place is not None}


def _with(told: Finding, others: Iterable[Finding]) -> Finding:
    """A finding with what else was found of the same defect."""
    for other in others:
        if other.code == _UNEXPLAINED:
            # It does raise, however often the static analysis was wrong about such lines.
            told = replace(told, confidence=Confidence.CERTAIN, preview=False)
        if _line(other.place) not in {_line(told.place), *_led_by(told)}:
            also = Evidence(other.current, other.place)
            told = replace(told, evidence=(*told.evidence, also))
    return told
