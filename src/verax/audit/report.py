"""The report: one data model with six sections, written by the engines and read by renderers.

The sections are the fields of `Report`, in the order in which they are shown: data flow,
transformation stack, shape trace at boundaries, issues found, verified correct, warnings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from .denials import undenied
from .errors import described
from .finding import CallPath, Confidence, Finding, Place, Severity, Verified
from .repetition import without_repetition

SCHEMA = "verax.report/1"


@dataclass(frozen=True)
class Tensor:
    """What is known of an array: its type, what its axes mean, and the values it can take.

    `axes` has one entry a dimension, `None` where the meaning is not known. `low` and `high` bound
    the values; `None` means that nothing is known of that side. A size is a string where only a
    name for it is known.
    """

    dtype: str
    shape: tuple[int | str, ...]
    axes: tuple[str | None, ...] = ()
    weak: bool = False
    low: float | int | None = None
    high: float | int | None = None

    def __str__(self) -> str:
        axes = self.axes or (None,) * len(self.shape)
        sizes = [
            str(size) if name is None or name == size else f"{name}={size}"
            for name, size in zip(axes, self.shape, strict=True)
        ]
        return f"{_SHORT.get(self.dtype, self.dtype)}[{','.join(sizes)}]"

    @property
    def range(self) -> str:
        """The bounds as text, empty where nothing is known."""
        if self.low is None and self.high is None:
            return ""
        return f"{_number(self.low, '-inf')}..{_number(self.high, 'inf')}"


def _number(value: float | int | None, unknown: str) -> str:
    return unknown if value is None else f"{value:.6g}"


_SHORT = {
    "bool": "bool",
    "bfloat16": "bf16",
    "key<fry>": "key",  # of JAX's default generator
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    **{f"int{n}": f"i{n}" for n in (4, 8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (4, 8, 16, 32, 64)},
    **{f"complex{n}": f"c{n}" for n in (64, 128)},
}


@dataclass(frozen=True)
class FlowValue:
    """A value of the data flow: an input, what a step makes, or an output.

    `id` is unique in a flow. `name` is what the user calls it (`params['w1']`, `h`), or empty.
    """

    id: str
    name: str
    tensor: Tensor


@dataclass(frozen=True)
class FlowStep:
    """A line of the user's code, as a step from values to values.

    `notes` say what happens there: over which axis it reduces, how a meaning changes, whether the
    result is discarded, merged or used several times. `children` are steps inside of a call or of
    a transformation; `repeat` counts how often steps of the same form follow each other.
    """

    text: str
    place: Place | None
    consumes: tuple[str, ...]
    produces: tuple[FlowValue, ...]
    consumed_by: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    children: tuple[FlowStep, ...] = ()
    repeat: int = 1
    kind: str = "line"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, FlowStep]]:
        """This step and those inside, each with its depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(frozen=True)
class Flow:
    """Data flow of one entry point, from every input leaf to every output leaf."""

    entry: str
    place: Place | None
    inputs: tuple[FlowValue, ...]
    steps: tuple[FlowStep, ...]
    outputs: tuple[FlowValue, ...]
    notes: tuple[str, ...] = ()

    def value_names(self) -> dict[str, str]:
        """What to call each value, by its id: its name, or else the line that makes it."""
        names = {value.id: value.name or value.id for value in self.inputs}
        for outer in self.steps:
            for _, step in outer.walk():
                where = f"line {step.place.line}" if step.place else ""
                for value in step.produces:
                    # What the outermost line calls it: inner lines come later.
                    names.setdefault(value.id, value.name or where or value.id)
        for value in self.outputs:
            names.setdefault(value.id, value.name or value.id)
        return names


@dataclass(frozen=True)
class Transformation:
    """A node in the tree of transformations.

    `kind` is JAX's word (jit, vmap, scan, grad…), `name` the transformed function's. `settings`
    are what was chosen (in_axes, length, argnums…) as text; `effects` say what it does to which
    axis.
    """

    kind: str
    name: str
    place: Place | None
    settings: tuple[tuple[str, str], ...] = ()
    effects: tuple[str, ...] = ()
    children: tuple[Transformation, ...] = ()
    repeat: int = 1

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Transformation]]:
        """This node and those below, each with its depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(frozen=True)
class Crossing:
    """A value that crosses the boundary of a transformation.

    `role` says how (mapped, broadcast, carry, scanned, closed over, stacked, differentiated…). On
    the way in, `before` is outside and `after` inside; on the way out the other way round.
    """

    boundary: str
    place: Place | None
    role: str
    name: str
    before: Tensor | None
    after: Tensor | None


@dataclass(frozen=True)
class Unread:
    """A file, cell or folder that could not be read, and why; line 0 stands for all of it.

    It is `allowed` where whoever asked said that such may be left out, or if it is one cell.
    """

    place: Place
    reason: str
    allowed: bool = False

    def __str__(self) -> str:
        return f"{_where(self.place)}: cannot be read: {self.reason}"


@dataclass(frozen=True)
class Failure:
    """A failure of verax itself, and the file in which it happened, where there is one."""

    text: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{_where(self.place)}: {self.text}" if self.place else self.text


def failure_of(error: BaseException, place: Place | None = None) -> Failure:
    """What an exception that nobody expected says of verax itself."""
    return Failure(f"verax itself failed: {described(error)}", place)


def _where(place: Place) -> str:
    if place.line:
        return str(place)
    return f"{place.file}:cell {place.cell}" if place.cell else place.file


@dataclass(frozen=True)
class Unfollowed:
    """A function of which not all calls were followed, because that would cost too much.

    `place` is the first of these calls, in the function that `place.function` names. With `on_host`
    it runs outside of transformations, where there is less to find and calls are followed less far.
    """

    place: Place
    reason: str
    on_host: bool = False

    @property
    def name(self) -> str:
        """What to call the function."""
        return f"`{self.place.function}`" if self.place.function else "the module"

    def __str__(self) -> str:
        return f"{self.place}: {self.name} is followed up to this call: {self.reason}"


@dataclass(frozen=True)
class Recompilation:
    """Why a function was compiled once more, from which line it was called, and what that took."""

    place: Place | None
    reason: str
    seconds: float


@dataclass(frozen=True)
class Compiled:
    """A function that JAX compiled while the program ran: how often, and what that took in all."""

    name: str
    place: Place | None
    count: int
    seconds: float
    again: tuple[Recompilation, ...] = ()


@dataclass(frozen=True)
class Report:
    """What an audit found.

    `notes` are remarks about the audit itself: a file that could not be read, a rule that failed, a
    part that could not be gone through. `unfollowed` are the functions whose calls were not
    followed to their end, `unread` the files that could not be read, and `failures` are those of
    verax itself; notes say both, too. `omitted` says why the first three sections do not tell all.
    `compiled` are the functions that JAX compiled, where a run was watched.
    `passed` are the lines that a trace went through, where that was asked for; they are for putting
    reports together, and never shown.
    """

    target: str
    data_flow: tuple[Flow, ...] = ()
    transformation_stack: tuple[Transformation, ...] = ()
    shape_trace: tuple[Crossing, ...] = ()
    issues: tuple[Finding, ...] = ()
    verified: tuple[Verified, ...] = ()
    warnings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = field(default=())
    unfollowed: tuple[Unfollowed, ...] = ()
    unread: tuple[Unread, ...] = ()
    failures: tuple[Failure, ...] = ()
    omitted: str = ""
    compiled: tuple[Compiled, ...] = ()
    passed: frozenset[CallPath] = field(default=frozenset(), compare=False, repr=False)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Issues and warnings together."""
        return (*self.issues, *self.warnings)

    def __str__(self) -> str:
        from .render.to_terminal import render

        return render(self)

    def to_json(self) -> str:
        """The whole report as JSON, by the schema `verax.report/1`."""
        from .render.to_json import render

        return render(self)

    def to_markdown(self) -> str:
        """The report as Markdown, for a comment or a page."""
        from .render.to_markdown import render

        return render(self)

    def _repr_html_(self) -> str:
        from .render.to_html import fragment

        return fragment(self)

    def raise_issues(self, confidence: Confidence = Confidence.LIKELY) -> None:
        """Raise `AuditError` if there are issues, for use in a test.

        With `Confidence.CERTAIN`, issues that are only likely do not count.
        """
        certain = Confidence(confidence) is Confidence.CERTAIN
        found = [it for it in self.issues if not certain or it.confidence is Confidence.CERTAIN]
        if found:
            raise AuditError(self.target, tuple(found))


class AuditError(Exception):
    """Raised by `Report.raise_issues`: the issues are in `issues`, the text lists them."""

    def __init__(self, target: str, issues: tuple[Finding, ...]):
        self.target = target
        self.issues = issues
        super().__init__(target, issues)

    def __str__(self) -> str:
        count = f"{len(self.issues)} issue{'s' * (len(self.issues) != 1)}"
        lines = [
            f"{it.place}: {it.code} {it.title}\n    {it.current}\n    fix: {it.fix}"
            for it in self.issues
        ]
        return "\n".join([f"{self.target}: {count}", *lines])


def merged(reports: Iterable[Report]) -> Report:
    """Several reports as one, without what is said twice, or verified here and denied there."""
    parts = tuple(reports)
    if len(parts) == 1:
        return parts[0]
    findings = (it for part in parts for it in part.findings)
    return Report(
        target=", ".join(part.target for part in parts),
        data_flow=tuple(it for part in parts for it in part.data_flow),
        transformation_stack=tuple(it for part in parts for it in part.transformation_stack),
        shape_trace=tuple(it for part in parts for it in part.shape_trace),
        issues=without_repetition(it for part in parts for it in part.issues),
        verified=undenied((it for part in parts for it in part.verified), findings),
        warnings=without_repetition(it for part in parts for it in part.warnings),
        notes=tuple(dict.fromkeys(it for part in parts for it in part.notes)),
        unfollowed=tuple(dict.fromkeys(it for part in parts for it in part.unfollowed)),
        unread=tuple(dict.fromkeys(it for part in parts for it in part.unread)),
        failures=tuple(dict.fromkeys(it for part in parts for it in part.failures)),
        compiled=tuple(it for part in parts for it in part.compiled),
        passed=frozenset(it for part in parts for it in part.passed),
    )


def noted(report: Report, *told: Unread | Failure) -> Report:
    """The report, which also tells what could not be audited: as data, and as notes."""
    notes = dict.fromkeys((*report.notes, *map(str, told)))
    unread = dict.fromkeys((*report.unread, *(it for it in told if isinstance(it, Unread))))
    failures = dict.fromkeys((*report.failures, *(it for it in told if isinstance(it, Failure))))
    return replace(report, notes=tuple(notes), unread=tuple(unread), failures=tuple(failures))


def findings_only(report: Report) -> Report:
    """The report without the sections that show how data flows."""
    return replace(report, data_flow=(), transformation_stack=(), shape_trace=())


def worst(findings: tuple[Finding, ...]) -> Severity | None:
    """The gravest severity among findings."""
    return max((it.severity for it in findings), key=lambda it: it.rank, default=None)
